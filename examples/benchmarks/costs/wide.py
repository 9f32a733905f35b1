"""Time per sample before, during and after one sample with thousands of new names.

A line of the table: CPU time of predicting and learning a sample with ten features before the wide
sample, of learning that sample, and per sample after it.

    python -m examples.benchmarks.costs wide                      all learners
    python -m examples.benchmarks.costs wide ExtraTreesClassifier
"""

from __future__ import annotations

import argparse
import functools
import random
from typing import Any

import river_extra_trees as ret
from examples.benchmarks.common import tables
from examples.benchmarks.common.streams import Rows
from examples.benchmarks.costs.timing import in_turns, predict_and_learn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("learner", nargs="*", help="by default all")
    parser.add_argument("--names", type=int, default=16_000, help="new names in the wide sample")


def samples(n: int, *, is_regression: bool) -> Rows:
    """Return samples of ten features, half of which matter."""
    rng, rows = random.Random(1), []
    for _ in range(n):
        x = {f"n{j}": rng.random() for j in range(10)}
        y = sum(x[f"n{j}"] for j in range(1, 10, 2)) / 10 + rng.gauss(0.0, 0.05)
        rows.append((x, y if is_regression else y > 0.25))
    return rows


def microseconds(model: Any, rows: Rows) -> float:
    """Return the time per sample of predicting and learning rows."""
    run = functools.partial(predict_and_learn, model, rows)
    return 1e6 * in_turns({"rows": lambda: run}, 1).median("rows") / len(rows)


def line_of(name: str, n_names: int) -> list[str]:
    """Return a line of the table."""
    model = getattr(ret, name)(seed=1)
    rows = samples(7_000, is_regression=name.endswith("Regressor"))
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
    names = options.learner or [
        name for name in ret.__all__ if hasattr(getattr(ret, name), "snapshot")
    ]
    heads = ["µs per sample", "before", "wide sample", "next 500", "after 3,000"]
    tables.show(heads, [line_of(name, options.names) for name in names])
