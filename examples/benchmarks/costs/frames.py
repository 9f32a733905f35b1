"""What frames cost beside loops over ready-made dicts.

The table shows, for every learner, the microseconds per row of the loop that learns, and the time
of each method for pandas frames as a share of its loop: 0.3 is about three times as fast. The
frames have 1,000 rows of 8 numeric columns. The figures are medians.

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

import river_extra_trees as ret
from examples.benchmarks.common import tables
from examples.benchmarks.common.streams import Rows
from examples.benchmarks.costs.timing import Way, in_turns

Frames = list[tuple[pd.DataFrame, np.ndarray]]
LEARNERS = [name for name in ret.__all__ if name.endswith(("Classifier", "Regressor"))]
METHODS = ("learn_many", "predict_many", "predict_learn_many")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("learner", nargs="*", choices=[[], *LEARNERS], help="all by default")
    parser.add_argument("--rows", type=int, default=20_000, help="that each learner reads")
    parser.add_argument("--repeats", type=int, default=5)


def frames_of(n: int, is_regression: bool) -> Frames:
    """Return frames of 1,000 rows with targets, to which two of the columns contribute."""
    rng, found = np.random.default_rng(1), []
    for start in range(0, n, 1000):
        size = min(1000, n - start)
        X = pd.DataFrame({f"feature {i}": rng.random(size) for i in range(8)})
        score = rng.random(size) / 3 + X["feature 0"] + X["feature 1"]
        found.append((X, (score if is_regression else score > 1.1).to_numpy()))
    return found


def by_rows(model: Any, method: str, rows: Rows) -> None:
    for x, y in rows:
        if method != "learn_many":
            model.predict_one(x)
        if method != "predict_many":
            model.learn_one(x, y)


def by_frames(model: Any, method: str, given: Frames) -> None:
    for X, y in given:
        if method == "predict_many":
            model.predict_many(X)
        else:
            getattr(model, method)(X, y)


def way_of(work: Callable[..., None], name: str, method: str, given: list[Any]) -> Way:
    """Return a way for a new learner, which has learned all rows if it only predicts them."""

    def prepare() -> Callable[[], None]:
        model = getattr(ret, name)(seed=1)
        if method == "predict_many":
            work(model, "learn_many", given)
        return functools.partial(work, model, method, given)

    return prepare


def line_of(name: str, n: int, repeats: int) -> list[str]:
    """Return a line of the table."""
    frames = frames_of(n, name.endswith("Regressor"))
    rows: Rows = []
    for X, y in frames:
        rows += zip(X.to_dict("records"), y.tolist(), strict=True)
    loop, shares = "", []
    for method in METHODS:
        ways = {
            "loop": way_of(by_rows, name, method, rows),
            "frames": way_of(by_frames, name, method, frames),
        }
        times = in_turns(ways, repeats)
        loop = loop or f"{1e6 * times.median('loop') / n:.2f}"
        shares.append(f"{times.ratio('frames', 'loop'):.2f}")
    return [name, loop, *shares]


def run(options: argparse.Namespace) -> None:
    """Print a line for each learner."""
    names = options.learner or LEARNERS
    lines = [line_of(name, options.rows, options.repeats) for name in names]
    tables.show(["learner", "loop, µs per row", *METHODS], lines)
