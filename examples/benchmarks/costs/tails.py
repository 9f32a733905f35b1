"""The cost of a single sample: median, 99.9th percentile and maximum of `learn_one`, and memory.

The learners take turns, 500 samples at a time. Times are microseconds; memory is what the model
reports at the end.

    python -m examples.benchmarks.costs tails
    python -m examples.benchmarks.costs tails --samples 100000 ExtraTreesClassifier
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from examples.benchmarks.common import streams, tables
from river_extra_trees.cli import learners

LEARNERS = ["ExtraTreesClassifier", "ARFClassifier:n_models=10", "HoeffdingTreeClassifier"]
TURN = 500
HEADS = ["stream", "learner", "samples", "predict_one, median", "learn_one, median", "p99.9"]
HEADS += ["longest", "p99.9 / median", "memory, MB"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("learners", nargs="*", default=LEARNERS)
    parser.add_argument("--streams", nargs="+", default=["elec", "covtype"])
    parser.add_argument("--samples", type=int, default=10_000)


class Timed:
    """A model and how long each call took, in nanoseconds."""

    def __init__(self, name: str, n: int) -> None:
        self.name = name
        self.model: Any = learners.make_learner(name, "classification", seed=1)
        # Written to, so that their memory is there.
        self.predicting = np.ones(n, dtype=np.int64)
        self.learning = np.ones(n, dtype=np.int64)

    def take_turn(self, rows: streams.Rows, first: int) -> None:
        """Predict and learn some rows, the first of which has a number."""
        clock = time.process_time_ns
        for i, (x, y) in enumerate(rows[first : first + TURN], start=first):
            start = clock()
            self.model.predict_proba_one(x)
            middle = clock()
            self.model.learn_one(x, y)
            self.learning[i] = clock() - middle
            self.predicting[i] = middle - start

    def line(self, stream: str) -> list[str]:
        """Return a line of the table."""
        median, tail = np.percentile(self.learning, (50, 99.9)) / 1e3
        times = [float(np.median(self.predicting)) / 1e3, median, tail, self.learning.max() / 1e3]
        memory = self.model._raw_memory_usage / 1e6
        ratio = f"{tail / median:.1f}"
        cells = [f"{t:,.0f}" for t in times]
        return [stream, self.name, f"{len(self.learning):,}", *cells, ratio, f"{memory:.3g}"]


def run(options: argparse.Namespace) -> None:
    """Print a line for each stream and learner."""
    lines = []
    loaded = streams.loaded(
        options.streams, lambda name: streams.load(name, "classification", options.samples)
    )
    for stream, rows in loaded:
        timed = [Timed(name, len(rows)) for name in options.learners]
        for first in range(0, len(rows), TURN):
            for each in timed:
                each.take_turn(rows, first)
        lines += [each.line(stream) for each in timed]
    tables.show(HEADS, lines)
