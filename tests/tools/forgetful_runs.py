"""Recorded runs of the published program, and streams, for the tests of forgetful learners."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any, NamedTuple

from river_extra_trees._core.schema import Labels
from river_extra_trees._core.trees import Trees

FOLDER = Path(__file__).parents[1] / "golden" / "forgetful"
RUNS = sorted(path.name.removesuffix("_trace.csv.gz") for path in FOLDER.glob("*_trace.csv.gz"))


class Run(NamedTuple):
    """What was recorded: an answer per row, and per batch the parameters of the tree."""

    X: list[tuple[float, ...]]
    Y: list[int]
    n_classes: int
    criterion: str
    initial_rate: float
    answers: list[int]
    trace: list[dict[str, str]]


def read_stream(name: str) -> tuple[list[tuple[float, ...]], list[int]]:
    with gzip.open(FOLDER / f"{name}.csv.gz", "rt") as file:
        rows = list(csv.reader(file))[1:]
    return [tuple(map(float, row[:-1])) for row in rows], [int(row[-1]) for row in rows]


def read_run(name: str) -> Run:
    X, Y = read_stream(name.split("_b")[0])
    with gzip.open(FOLDER / f"{name}_pred.txt.gz", "rt") as file:
        answers = [int(line) for line in file]
    with gzip.open(FOLDER / f"{name}_trace.csv.gz", "rt") as file:
        trace = list(csv.DictReader(file))
    return Run(
        X,
        Y,
        max(Y) + 1,
        "gini" if "gini" in name else "entropy",
        0.8 if "ir08" in name else 0.3,
        answers,
        trace,
    )


def batches(X: list[Any], Y: list[int], size: int) -> Any:
    for start in range(0, len(X) - size + 1, size):
        yield X[start : start + size], Y[start : start + size]


def to_dict(x: tuple[float, ...]) -> dict[str, float]:
    return {f"x{i:02}": value for i, value in enumerate(x)}


def declare_classes(model: Any, n_classes: int) -> None:
    """Tell an empty model its classes, as the published program is told them: ties go by number."""
    forest = model._core
    state = forest.state()
    trees = [Trees(n_classes) for _ in state["trees"]]
    root = Trees(n_classes)
    for tree in [*trees, root]:
        tree.add_tree()
    labels = Labels.restored({"labels": list(range(n_classes))})
    changed = {"labels": labels, "trees": trees, "root_statistics": root}
    model._core = forest.restored({**state, **changed})
