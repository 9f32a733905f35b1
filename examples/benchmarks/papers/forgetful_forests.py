"""The claims of Yuan, Sun and Shasha (2023) for forgetful trees and forests, side by side.

Test-then-train in batches, as in the paper: all answers of a batch are given before it is learned.
Times are the user CPU seconds of `learn_one` alone. All learners of a table see the same rows;
river's have the settings of the paper's section 5.

    python -m examples.benchmarks.papers.forgetful_forests trees
    ... forests --rows 2000     forests on the first rows, beside river's adaptive random forest
    ... whole                   our forests on whole streams
    ... phishing                precision and recall of phishing pages

The streams `forgetful_*` come from the authors' repository; `common/streams.py` says where they are
looked for.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

from river import base, forest, metrics, tree

from examples.benchmarks.common import streams, tables
from examples.benchmarks.common.prequential import user_seconds
from examples.benchmarks.common.streams import Rows
from river_extra_trees import ForgetfulDecisionTreeClassifier, ForgetfulRandomForestClassifier
from river_extra_trees.cli import UserError

Make = Callable[[int], Any]

# Samples per batch where the paper's batches are not 100: days, and observations of forests.
BATCH = {"elec": 48, "covtype": 400}
STREAMS = ["elec", "phishing", "power", "gradual", "abrupt"]


def read(name: str, rows: int | None = None) -> Rows:
    """Return the first rows of a stream of the paper."""
    full_name = name if name == "covtype" else f"forgetful_{name}"
    return streams.load(full_name, "classification", rows or sys.maxsize)


def batches(stream: Rows, size: int) -> Iterator[Rows]:
    """Yield the batches of a stream."""
    for start in range(0, len(stream), size):
        yield stream[start : start + size]


def run(model: Any, stream: Rows, batch: int, score: Any, n_unscored: int = 1) -> float:
    """Score all answers after the first batches; return the seconds spent learning."""
    seconds = 0.0
    for number, rows in enumerate(batches(stream, batch)):
        if number >= n_unscored:
            for x, y in rows:
                score.update(y, model.predict_one(x))
        start = user_seconds()
        for x, y in rows:
            model.learn_one(x, y)
        seconds += user_seconds() - start
    return seconds


def measure(make: Make, stream: Rows, batch: int, repeats: int = 1) -> tuple[float, float]:
    """Return the mean accuracy and the median of the learning times over some seeds."""
    accuracies, times = [], []
    for seed in range(repeats):
        accuracy = metrics.Accuracy()
        times.append(run(make(seed), stream, batch, accuracy))
        accuracies.append(accuracy.get())
    return statistics.mean(accuracies), statistics.median(times)


def ht(seed: int) -> base.Classifier:
    """Return a Hoeffding tree with the settings of the paper."""
    return tree.HoeffdingTreeClassifier(delta=1e-7, grace_period=200, tau=0.05)


def hat(seed: int) -> base.Classifier:
    """Return an adaptive Hoeffding tree with the settings of the paper."""
    return tree.HoeffdingAdaptiveTreeClassifier(
        delta=1e-4, grace_period=200, tau=0.05, leaf_prediction="nb", seed=seed
    )


def arf(n_models: int) -> Make:
    """Return what makes adaptive random forests."""
    return lambda seed: forest.ARFClassifier(n_models, seed=seed)


def forgetful_tree(batch: int) -> Make:
    """Return what makes forgetful trees."""
    return lambda seed: ForgetfulDecisionTreeClassifier(batch, seed=seed)


def forgetful_forest(batch: int, **parameters: Any) -> Make:
    """Return what makes forgetful forests of 20 trees."""
    return lambda seed: ForgetfulRandomForestClassifier(batch_size=batch, seed=seed, **parameters)


def compare(name: str, stream: Rows, learners: dict[str, tuple[Make, int]]) -> list[list[str]]:
    """Return a line for each learner, made with so many seeds; times relative to the first one."""
    lines = []
    least = 0.0
    for learner, (make, repeats) in learners.items():
        accuracy, seconds = measure(make, stream, BATCH.get(name, 100), repeats)
        least = least or seconds
        times = "" if seconds == least else f"{seconds / least:.1f}"
        lines.append(
            [f"{name}: {learner}", f"{len(stream)}", f"{accuracy:.4f}", f"{seconds:.3f}", times]
        )
    return lines


COMPARED = ["stream: learner", "rows", "accuracy", "learning, s", "times as slow"]


def trees(rows: int | None, repeats: int) -> None:
    """One tree, beside river's Hoeffding trees."""
    lines = []
    for name in [*STREAMS, "covtype"]:
        stream = read(name, rows or (20_000 if name == "covtype" else None))
        learners = {
            "forgetful tree": (forgetful_tree(BATCH.get(name, 100)), repeats),
            "Hoeffding tree": (ht, 1),
            "adaptive Hoeffding tree": (hat, 1),
        }
        lines += compare(name, stream, learners)
    tables.show(COMPARED, lines)


def forests(rows: int | None, repeats: int) -> None:
    """Forests of 20 beside adaptive random forests of 100 and 20, on the same first rows."""
    lines = []
    for name in STREAMS:
        stream, batch = read(name, rows or 2000), BATCH.get(name, 100)
        learners = {
            "forgetful forest": (forgetful_forest(batch), repeats),
            "forgetful forest, bagging": (forgetful_forest(batch, bagging=True), repeats),
            "adaptive random forest of 100": (arf(100), 1),
            "adaptive random forest of 20": (arf(20), 1),
        }
        lines += compare(name, stream, learners)
    tables.show(COMPARED, lines)


def whole(rows: int | None, repeats: int) -> None:
    """Our forests on whole streams; with `published=True`, all trees grow at the end of a batch."""
    lines = []
    for name in STREAMS:
        batch = BATCH.get(name, 100)
        learners = {
            "forgetful forest": (forgetful_forest(batch), repeats),
            "forgetful forest, published": (forgetful_forest(batch, published=True), repeats),
            "forgetful forest, bagging": (forgetful_forest(batch, bagging=True), 1),
        }
        lines += compare(name, read(name, rows), learners)
    tables.show(COMPARED, lines)


def phishing(rows: int | None, repeats: int) -> None:
    """Precision, recall and F1 of phishing pages (class 1) after the first 500 rows."""
    stream = read("phishing", rows)
    makers: dict[str, Make] = {
        "forgetful tree": forgetful_tree(100),
        "Hoeffding tree": ht,
        "adaptive Hoeffding tree": hat,
        "forgetful forest": forgetful_forest(100),
        "forgetful forest, bagging": forgetful_forest(100, bagging=True),
        "adaptive random forest of 20": arf(20),
    }
    lines = []
    for name, make in makers.items():
        scores = metrics.Accuracy() + metrics.Precision() + metrics.Recall() + metrics.F1()
        run(make(1), stream, 100, scores, n_unscored=5)
        lines.append([name, *(f"{score.get():.4f}" for score in scores)])
    tables.show(["phishing", "accuracy", "precision", "recall", "F1"], lines)


PARTS = {part.__name__: part for part in (trees, forests, whole, phishing)}


def main() -> None:
    """Run what the user asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--rows", type=int, help="only the first rows of each stream")
    parser.add_argument("--repeats", type=int, default=3, help="seeds to average over")
    arguments = parser.parse_args()
    PARTS[arguments.part](arguments.rows, arguments.repeats)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
