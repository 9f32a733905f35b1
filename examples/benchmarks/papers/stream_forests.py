"""The experiments of Xu et al. (2022) on stream decision trees and forests.

    python -m examples.benchmarks.papers.stream_forests accuracy    Figure 2, pen digits and splice
    python -m examples.benchmarks.papers.stream_forests streams     whole streams, in batches of 100

`accuracy`: each learner takes the training rows in random order, in batches of 100; scikit-learn's
learners are refitted on all rows so far. The table shows the accuracy on the test rows along the
stream, and the memory at its end: the length of the pickled learner, as in the paper. Pen digits
are split as published, splice junctions 75 to 25.

Our learners and river's Hoeffding tree take nominal values as they are, the others one indicator
for each value.
"""

from __future__ import annotations

import argparse
import pickle
import random
import statistics
import sys
from collections.abc import Callable, Iterable
from typing import Any

from river import forest, tree
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.tree import DecisionTreeClassifier

from examples.benchmarks.common import streams, tables
from examples.benchmarks.common.prequential import user_seconds
from examples.benchmarks.common.streams import Rows
from river_extra_trees import StreamDecisionForestClassifier, StreamDecisionTreeClassifier
from river_extra_trees.cli import UserError

STREAMS = ["elec", "phishing", "power", "gradual", "abrupt"]


def split(name: str, seed: int, rows: int) -> tuple[Rows, Rows]:
    """Return training rows in random order, and test rows."""
    found = streams.load(name, "classification", rows)
    shuffler = random.Random(seed)
    if name == "pendigits" and len(found) > 7494:
        train, test = found[:7494], found[7494:]
        shuffler.shuffle(train)
        return train, test
    shuffler.shuffle(found)
    return found[len(found) // 4 :], found[: len(found) // 4]


class Indicators:
    """One indicator for each nominal value of the given rows, for learners of numbers only."""

    def __init__(self, rows: Rows) -> None:
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

    def learn(self, rows: Rows, start: int, stop: int) -> None:
        """Learn some of the rows."""
        for x, y in rows[start:stop]:
            self.model.learn_one(self.encode(x), y)

    def predict(self, rows: Rows) -> Iterable[Any]:
        """Answer for all rows."""
        return [self.model.predict_one(self.encode(x)) for x, _ in rows]


class Batch:
    """A learner of scikit-learn's kind, fitted again at every checkpoint."""

    def __init__(self, model: Any) -> None:
        self.model, self.vectorizer = model, DictVectorizer(sparse=False)

    def learn(self, rows: Rows, start: int, stop: int) -> None:
        """Fit all rows up to the last of these."""
        x = self.vectorizer.fit_transform([x for x, _ in rows[:stop]])
        self.model.fit(x, [y for _, y in rows[:stop]])

    def predict(self, rows: Rows) -> Iterable[Any]:
        """Answer for all rows."""
        return self.model.predict(self.vectorizer.transform([x for x, _ in rows]))


# What makes each learner, of a seed and the training rows.
Make = Callable[[int, Rows], Streaming | Batch]


def stream_forest(n_models: int) -> Make:
    """Return what makes our forests."""
    return lambda seed, _: Streaming(
        StreamDecisionForestClassifier(n_models=n_models, batch_size=100, seed=seed)
    )


def batch_forest(n_models: int) -> Make:
    """Return what makes forests of scikit-learn."""
    return lambda seed, _: Batch(RandomForestClassifier(n_estimators=n_models, random_state=seed))


LEARNERS: dict[str, Make] = {
    "stream tree": lambda seed, _: Streaming(StreamDecisionTreeClassifier(seed=seed)),
    "stream forest of 10": stream_forest(10),
    "stream forest of 100": stream_forest(100),
    "batch tree": lambda seed, _: Batch(DecisionTreeClassifier(random_state=seed)),
    "batch forest of 10": batch_forest(10),
    "batch forest of 100": batch_forest(100),
    "Hoeffding tree": lambda seed, _: Streaming(tree.HoeffdingTreeClassifier()),
    "Mondrian forest of 10": lambda seed, train: Streaming(
        forest.AMFClassifier(n_estimators=10, seed=seed), Indicators(train)
    ),
}


def run(make: Make, train: Rows, test: Rows, seed: int, checkpoints: list[int]) -> list[float]:
    """Accuracy on the test rows at every checkpoint, in per cent; then seconds, then kilobytes."""
    learner = make(seed, train)
    learned, seconds, answers = 0, 0.0, []
    for checkpoint in checkpoints:
        start = user_seconds()
        learner.learn(train, learned, checkpoint)
        seconds += user_seconds() - start
        learned = checkpoint
        right = sum(p == y for p, (_, y) in zip(learner.predict(test), test, strict=True))
        answers.append(100.0 * right / len(test))
    return [*answers, seconds, len(pickle.dumps(learner.model)) / 1024]


def accuracy(rows: int, repeats: int) -> None:
    """Accuracy along the stream, on the two data sets of Figure 2 that are available here."""
    for name in ("pendigits", "splice"):
        n = len(split(name, 0, rows)[0])
        checkpoints = [c for c in (500, 1000, 2000) if c < n] + [n]
        lines = []
        for label, make in LEARNERS.items():
            runs = [
                run(make, *split(name, seed, rows), seed, checkpoints) for seed in range(repeats)
            ]
            means = [statistics.mean(column) for column in zip(*runs, strict=True)]
            *shares, seconds, kilobytes = means
            cells = [f"{share:.1f}" for share in shares]
            lines.append([f"{name}: {label}", *cells, f"{seconds:.2f}", f"{kilobytes:.0f}"])
        heads = [f"{c} rows, %" for c in checkpoints[:-1]] + ["all rows, %"]
        tables.show(["data: learner", *heads, "learning, s", "pickle, kB"], lines)


def on_streams(rows: int, repeats: int) -> None:
    """Answers on whole batches of 100 before they are learned, as the program was measured."""
    lines = []
    for name in STREAMS:
        stream = streams.load(f"forgetful_{name}", "classification", rows)
        for label in ("stream tree", "stream forest of 10"):
            shares, times = [], []
            for seed in range(repeats):
                learner, right, seconds = LEARNERS[label](seed, []), 0, 0.0
                for start in range(0, len(stream), 100):
                    part = stream[start : start + 100]
                    if start:
                        answers = learner.predict(part)
                        right += sum(p == y for p, (_, y) in zip(answers, part, strict=True))
                    before = user_seconds()
                    learner.learn(stream, start, start + 100)
                    seconds += user_seconds() - before
                shares.append(right / (len(stream) - 100))
                times.append(seconds)
            share, seconds = statistics.mean(shares), statistics.median(times)
            lines.append([f"{name}: {label}", f"{share:.4f}", f"{seconds:.2f}"])
    tables.show(["stream: learner", "accuracy", "learning, s"], lines)


PARTS = {"accuracy": accuracy, "streams": on_streams}


def main() -> None:
    """Run what the user asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--repeats", type=int, default=3, help="random orders")
    parser.add_argument("--rows", type=int, default=sys.maxsize, help="only the first rows")
    options = parser.parse_args()
    PARTS[options.part](options.rows, options.repeats)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
