"""Accuracy and memory of stream decision trees and forests beside their peers (Xu et al. 2022).

Each learner takes the training rows in a random order, 100 to a batch; scikit-learn's learners are
fitted again on all rows so far. Accuracy on the test rows is told as the stream goes on, memory at
its end: the length of the pickled learner, as in the paper. Pen digits are split as published,
splice junctions 75 to 25. Ours and river's Hoeffding tree take the nucleotides as they are, the
others one indicator for each.

    RIVER_EXTRA_TREES_DATA=<folder> python examples/benchmarks/stream_forest.py --repeats 3

The folder holds `pendigits.csv.gz` and `splice.csv.gz`: a header, the label in the last column.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import pickle
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from river import forest, tree
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.tree import DecisionTreeClassifier

from river_extra_trees import StreamDecisionForestClassifier, StreamDecisionTreeClassifier

Row = tuple[dict[str, Any], str]


def read(name: str) -> list[Row]:
    """All rows of a data set; numbers as floats, other values as strings."""
    folder = os.environ.get("RIVER_EXTRA_TREES_DATA")
    if folder is None:
        sys.exit("set RIVER_EXTRA_TREES_DATA to the folder that holds the data sets")
    with gzip.open(Path(folder) / f"{name}.csv.gz", "rt") as file:
        lines = csv.reader(file)
        names = next(lines)[:-1]
        return [(dict(zip(names, map(value_of, x), strict=True)), y) for *x, y in lines]


def value_of(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def split(name: str, seed: int) -> tuple[list[Row], list[Row]]:
    """Training rows in random order, and test rows."""
    rows, shuffler = read(name), random.Random(seed)
    if name == "splice":
        shuffler.shuffle(rows)
        return rows[len(rows) // 4 :], rows[: len(rows) // 4]
    train, test = rows[:7494], rows[7494:]
    shuffler.shuffle(train)
    return train, test


class Indicators:
    """One indicator for each nominal value of the given rows, for learners of numbers only."""

    def __init__(self, rows: list[Row]) -> None:
        self.vectorizer = DictVectorizer(sparse=False).fit([x for x, _ in rows])

    def __call__(self, x: dict[str, Any]) -> dict[str, float]:
        """Encode one row."""
        names = self.vectorizer.get_feature_names_out()
        return dict(zip(names, self.vectorizer.transform(x)[0].tolist(), strict=True))


class Streaming:
    """A learner of river's kind."""

    def __init__(
        self, model: Any, encode: Callable[[dict[str, Any]], dict[str, Any]] = dict
    ) -> None:
        self.model, self.encode = model, encode

    def learn(self, rows: list[Row], start: int, stop: int) -> None:
        """Learn some of the rows."""
        for x, y in rows[start:stop]:
            self.model.learn_one(self.encode(x), y)

    def predict(self, rows: list[Row]) -> Iterable[str]:
        """Answer for all rows."""
        return [self.model.predict_one(self.encode(x)) for x, _ in rows]


class Batch:
    """A learner of scikit-learn's kind, fitted again at every checkpoint."""

    def __init__(self, model: Any) -> None:
        self.model, self.vectorizer = model, DictVectorizer(sparse=False)

    def learn(self, rows: list[Row], start: int, stop: int) -> None:
        """Fit all rows up to the last of these."""
        x = self.vectorizer.fit_transform([x for x, _ in rows[:stop]])
        self.model.fit(x, [y for _, y in rows[:stop]])

    def predict(self, rows: list[Row]) -> Iterable[str]:
        """Answer for all rows."""
        return self.model.predict(self.vectorizer.transform([x for x, _ in rows]))


# What makes each learner, of a seed and the training rows.
LEARNERS: dict[str, Callable[[int, list[Row]], Streaming | Batch]] = {
    "StreamDecisionTree": lambda seed, _: Streaming(StreamDecisionTreeClassifier(seed=seed)),
    "StreamDecisionForest, 10 trees": lambda seed, _: Streaming(
        StreamDecisionForestClassifier(n_models=10, seed=seed)
    ),
    "StreamDecisionForest, 100 trees": lambda seed, _: Streaming(
        StreamDecisionForestClassifier(n_models=100, seed=seed)
    ),
    "scikit-learn tree": lambda seed, _: Batch(DecisionTreeClassifier(random_state=seed)),
    "scikit-learn forest, 10 trees": lambda seed, _: Batch(
        RandomForestClassifier(n_estimators=10, random_state=seed)
    ),
    "scikit-learn forest, 100 trees": lambda seed, _: Batch(
        RandomForestClassifier(n_estimators=100, random_state=seed)
    ),
    "river HoeffdingTree": lambda seed, _: Streaming(tree.HoeffdingTreeClassifier()),
    "river AMF, 10 trees": lambda seed, train: Streaming(
        forest.AMFClassifier(n_estimators=10, seed=seed), Indicators(train)
    ),
}


def run(label: str, name: str, seed: int, checkpoints: list[int]) -> list[float]:
    """Accuracy on the test rows at every checkpoint, in per cent; then seconds, then kilobytes."""
    train, test = split(name, seed)
    learner = LEARNERS[label](seed, train)
    learned, seconds, answers = 0, 0.0, []
    for checkpoint in checkpoints:
        start = time.process_time()
        learner.learn(train, learned, checkpoint)
        seconds += time.process_time() - start
        learned = checkpoint
        right = sum(p == y for p, (_, y) in zip(learner.predict(test), test, strict=True))
        answers.append(100.0 * right / len(test))
    return [*answers, seconds, len(pickle.dumps(learner.model)) / 1024]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="random orders of the training rows")
    parser.add_argument("--data", nargs="+", default=["pendigits", "splice"])
    options = parser.parse_args()
    for name in options.data:
        n = len(split(name, 0)[0])
        checkpoints = [c for c in (500, 1000, 2000, 4000) if c < n] + [n]
        heads = [f"{c} rows" for c in checkpoints] + ["learn s", "kB"]
        print(f"\n{name}: accuracy in %, means of {options.repeats} random orders")
        print(f"{'':32}" + "".join(f"{head:>11}" for head in heads))
        for label in LEARNERS:
            runs = [run(label, name, seed, checkpoints) for seed in range(options.repeats)]
            means = [statistics.mean(column) for column in zip(*runs, strict=True)]
            print(f"{label:32}" + "".join(f"{mean:11.2f}" for mean in means), flush=True)


if __name__ == "__main__":
    main()
