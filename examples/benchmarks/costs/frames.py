"""What frames cost beside loops over ready-made dicts.

The first three tables show, for every learner, the microseconds per row of the loop, and the time
for frames of each library as a share of it: 0.3 is about three times as fast. The frames have 1,000
rows of 8 numeric columns. The last table compares other columns with numeric ones, for
`predict_learn_many`.

    python -m examples.benchmarks.costs frames
    python -m examples.benchmarks.costs frames --rows 4000 StreamDecisionTreeClassifier
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import river_extra_trees as ret
from examples.benchmarks.common import tables
from examples.benchmarks.costs.timing import Way, in_turns

Columns = dict[str, Any]
Frames = list[tuple[Any, Any]]
LEARNERS = [name for name in ret.__all__ if name.endswith(("Classifier", "Regressor"))]
LIBRARIES: dict[str, Callable[[Columns], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "numpy": lambda columns: np.column_stack(list(columns.values())),
}
TASKS = ("learn_many", "predict_many", "predict_learn_many")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("learner", nargs="*", choices=[[], *LEARNERS], help="all by default")
    parser.add_argument("--rows", type=int, default=20_000, help="that each learner reads")
    parser.add_argument("--repeats", type=int, default=5)


def numeric(n: int, rng: np.random.Generator) -> Columns:
    return {f"feature {i}": rng.random(n) for i in range(8)}


def nominal(n: int, rng: np.random.Generator) -> Columns:
    """Return columns of 1,000 values."""
    values = np.array([f"value {i}" for i in range(1000)])
    return {f"feature {i}": values[rng.integers(0, 1000, n)] for i in range(8)}


def missing(n: int, rng: np.random.Generator) -> Columns:
    """Return numeric columns, a tenth of their values missing."""
    columns = numeric(n, rng)
    return {name: np.where(rng.random(n) < 0.1, np.nan, each) for name, each in columns.items()}


def changing(n: int, rng: np.random.Generator) -> Columns:
    """Return 8 numeric columns of 16."""
    names = rng.permutation(16)[:8]
    return dict(zip([f"feature {i}" for i in names], numeric(n, rng).values(), strict=True))


KINDS = {
    "nominal, 1,000 values": nominal,
    "a tenth missing": missing,
    "other columns in each frame": changing,
}


def frames(kind: Callable[..., Columns], library: str, n: int, is_regression: bool) -> Frames:
    """Return frames of 1,000 rows with targets, the same for every library."""
    rng, found = np.random.default_rng(1), []
    for start in range(0, n, 1000):
        columns = kind(min(1000, n - start), rng)
        score = rng.random(min(1000, n - start)) / 3
        for values in list(columns.values())[:2]:
            # Nominal columns say nothing about the target, of which either label is as frequent.
            score = score + (0.467 if kind is nominal else np.nan_to_num(values, nan=0.5))
        found.append((LIBRARIES[library](columns), score if is_regression else score > 1.1))
    return found


def by_rows(model: Any, task: str, rows: list[tuple[Any, Any]]) -> None:
    for x, y in rows:
        if task != "learn_many":
            model.predict_one(x)
        if task != "predict_many":
            model.learn_one(x, y)


def by_frames(model: Any, task: str, given: Frames) -> None:
    for X, y in given:
        if task == "predict_many":
            model.predict_many(X)
        else:
            getattr(model, task)(X, y)


def way_of(work: Callable[..., None], name: str, task: str, given: list[Any]) -> Way:
    """Return a way for a new learner, which has learned all rows if it only predicts them."""

    def prepare() -> Callable[[], None]:
        model = getattr(ret, name)(seed=1)
        if task == "predict_many":
            work(model, "learn_many", given)
        return functools.partial(work, model, task, given)

    return prepare


def beside_loops(names: list[str], task: str, n: int, repeats: int) -> None:
    """Print a line for each learner."""
    lines = []
    for name in names:
        given = {each: frames(numeric, each, n, name.endswith("Regressor")) for each in LIBRARIES}
        rows: list[tuple[Any, Any]] = []
        for X, y in given["pandas"]:
            rows += zip(X.to_dict("records"), y.tolist(), strict=True)
        ways = {"loop": way_of(by_rows, name, task, rows)}
        ways |= {each: way_of(by_frames, name, task, own) for each, own in given.items()}
        times = in_turns(ways, repeats)
        loop = f"{1e6 * times.median('loop') / n:.2f}"
        lines.append([name, loop, *(f"{times.ratio(each, 'loop'):.2f}" for each in given)])
    tables.show([task, "loop, µs per row", *LIBRARIES], lines)


def beside_numbers(name: str, n: int, repeats: int) -> None:
    """Print the times of other columns as multiples of those of numeric ones."""
    lines = []
    for library in ("pandas", "polars", "pyarrow"):
        ways = {
            title: way_of(
                by_frames,
                name,
                "predict_learn_many",
                frames(kind, library, n, name.endswith("Regressor")),
            )
            for title, kind in ({"numeric": numeric} | KINDS).items()
        }
        times = in_turns(ways, repeats)
        cells = [f"{times.ratio(title, 'numeric'):.2f}" for title in KINDS]
        lines.append([library, f"{1e6 * times.median('numeric') / n:.2f}", *cells])
    tables.show([name, "numeric, µs per row", *KINDS], lines)


def run(options: argparse.Namespace) -> None:
    """Print the tables."""
    for task in TASKS:
        beside_loops(options.learner or LEARNERS, task, options.rows, options.repeats)
    for name in options.learner or ["StreamDecisionTreeClassifier"]:
        beside_numbers(name, options.rows, options.repeats)
