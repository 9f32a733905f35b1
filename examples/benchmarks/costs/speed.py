"""How many times as fast one classifier is as another on the same samples.

The table shows the medians in microseconds per sample of predicting and learning together, and the
median of the ratios.

    python -m examples.benchmarks.costs speed
    python -m examples.benchmarks.costs speed StreamDecisionTreeClassifier HoeffdingTreeClassifier
"""

from __future__ import annotations

import argparse
import functools

from examples.benchmarks.common import streams, tables
from examples.benchmarks.costs.timing import Way, in_turns, predict_and_learn
from river_extra_trees.cli import UserError, learners

PAIRS = [
    ("StreamDecisionTreeClassifier", "HoeffdingTreeClassifier"),
    ("ExtraTreesClassifier", "ARFClassifier:n_models=10"),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("pair", nargs="*", help="a learner and its yardstick; both classify")
    parser.add_argument("--streams", nargs="+", default=["elec", "covtype"])
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=5)


def way_of(name: str, rows: streams.Rows) -> Way:
    """Return a way in which a new learner predicts and learns all rows."""

    def prepare() -> functools.partial[None]:
        model = learners.make_learner(name, "classification", seed=1)
        return functools.partial(predict_and_learn, model, rows)

    return prepare


def run(options: argparse.Namespace) -> None:
    """Print a line for each stream and pair."""
    if len(options.pair) not in (0, 2):
        raise UserError("name a learner and its yardstick, or none")
    lines = []
    for stream in options.streams:
        rows = streams.load(stream, "classification", options.samples)
        for pair in [options.pair] if options.pair else PAIRS:
            times = in_turns({name: way_of(name, rows) for name in pair}, options.repeats)
            own, other = (f"{1e6 * times.median(name) / len(rows):.1f}" for name in pair)
            faster = f"{times.ratio(pair[1], pair[0]):.1f}"
            lines.append([stream, f"{len(rows):,}", pair[0], own, pair[1], other, faster])
    heads = ["stream", "samples", "learner", "µs", "yardstick", "µs", "times as fast"]
    tables.show(heads, lines)
