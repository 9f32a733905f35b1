"""Time per sample with many columns: after one wide sample, and on streams of many names.

A line of the first table: CPU time of predicting and learning a sample with ten features before a
sample with thousands of new names, of learning that sample, and per sample after it. The streams:
ten features; ten names of 2,000 in each sample; a nominal feature as one of 500 columns; and bags
of 20 words of 5,000.

    python -m examples.benchmarks.costs wide                      all learners, one wide sample
    python -m examples.benchmarks.costs wide --streams            four streams, all classifiers
    python -m examples.benchmarks.costs wide ExtraTreesClassifier
"""

from __future__ import annotations

import argparse
import functools
import random
from collections.abc import Callable, Iterator
from typing import Any

import river_extra_trees as ret
from examples.benchmarks.common import tables
from examples.benchmarks.common.streams import Rows
from examples.benchmarks.costs.timing import in_turns, predict_and_learn

Row = dict[str, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("learner", nargs="*", help="by default all")
    parser.add_argument("--names", type=int, default=16_000, help="new names in the wide sample")
    parser.add_argument("--streams", action="store_true", help="the streams of many names")
    parser.add_argument("--samples", type=int, default=1_000, help="per stream")


def ten_numbers(rng: random.Random) -> Row:
    return {f"n{j}": rng.random() for j in range(10)}


def ten_of_many(rng: random.Random) -> Row:
    return {f"f{j}": rng.random() for j in rng.sample(range(2_000), 10)}


def one_hot(rng: random.Random) -> Row:
    chosen = rng.randrange(500)
    return {f"v{j}": float(j == chosen) for j in range(500)}


def bag_of_words(rng: random.Random) -> Row:
    return {f"w{int(5_000 * rng.random() ** 3)}": 1.0 for _ in range(20)}


STREAMS: dict[str, Callable[[random.Random], Row]] = {
    "ten numbers": ten_numbers,
    "10 of 2,000": ten_of_many,
    "one-hot, 500": one_hot,
    "words, 5,000": bag_of_words,
}


def samples(kind: str, n: int, *, is_regression: bool) -> Iterator[tuple[Row, Any]]:
    """Yield samples whose target depends on half of the names."""
    rng = random.Random(1)
    for _ in range(n):
        x = STREAMS[kind](rng)
        y = sum(value for name, value in x.items() if int(name[1:]) % 2) / len(x)
        y += rng.gauss(0.0, 0.05)
        yield x, y if is_regression else y > 0.25


def microseconds(model: Any, rows: Rows) -> float:
    """Return the time per sample of predicting and learning rows."""
    run = functools.partial(predict_and_learn, model, rows)
    return 1e6 * in_turns({"rows": lambda: run}, 1).median("rows") / len(rows)


def after_wide(name: str, n_names: int) -> list[str]:
    """Return a line of the table of one wide sample."""
    model = getattr(ret, name)(seed=1)
    rows = list(samples("ten numbers", 7_000, is_regression=name.endswith("Regressor")))
    microseconds(model, rows[:1_000])
    before = microseconds(model, rows[1_000:3_000])
    x, y = rows[0]
    wide = microseconds(model, [(x | {f"w{j}": 1.0 for j in range(n_names)}, y)])
    soon = microseconds(model, rows[3_000:3_500])
    microseconds(model, rows[3_500:6_000])
    late = microseconds(model, rows[6_000:])
    return [name, *(f"{each:,.0f}" for each in (before, wide, soon, late))]


def run(options: argparse.Namespace) -> None:
    """Print a line for each learner."""
    names = options.learner or [name for name in ret.__all__ if name != "ColumnKinds"]
    if not options.streams:
        heads = ["µs per sample", "before", "wide sample", "next 500", "after 3,000"]
        tables.show(heads, [after_wide(name, options.names) for name in names])
        return
    lines = []
    for name in (name for name in names if name.endswith("Classifier")):
        made = (list(samples(kind, options.samples, is_regression=False)) for kind in STREAMS)
        spent = [microseconds(getattr(ret, name)(seed=1), rows) for rows in made]
        lines.append([name, *(f"{each:,.0f}" for each in spent)])
    tables.show(["µs per sample", *STREAMS], lines)
