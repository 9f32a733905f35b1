"""What `ColumnKinds` costs beside the learner behind it: sample by sample, and by frames.

The default forest predicts and learns the same rows alone, in a pipeline behind a transformer that
does nothing, and behind `ColumnKinds`. River's pipeline has costs of its own, which the second run
shows.

    python -m examples.benchmarks.costs kinds
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import Any

import pandas as pd
from river import base, datasets

import river_extra_trees as ret
from examples.benchmarks.common import tables
from examples.benchmarks.costs.timing import Way, in_turns, predict_and_learn

Rows = list[tuple[dict[Any, Any], Any]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--repeats", type=int, default=9)


class Nothing(base.MiniBatchTransformer):
    """A transformer that does nothing."""

    def transform_one(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Return a sample as it is."""
        return x

    def learn_many(self, X: Any) -> None:
        """Learn nothing."""

    def transform_many(self, X: Any) -> Any:
        """Return a frame as it is."""
        return X


MODELS: dict[str, Callable[[], Any]] = {
    "alone": lambda: ret.ExtraTreesClassifier(seed=1),
    "pipeline": lambda: Nothing() | ret.ExtraTreesClassifier(seed=1),
    "kinds": lambda: ret.ColumnKinds() | ret.ExtraTreesClassifier(seed=1),
}


def by_frames(model: Any, frames: list[tuple[pd.DataFrame, list[Any]]]) -> None:
    """Learn and predict each frame."""
    for X, y in frames:
        model.learn_many(X, y)
        model.predict_many(X)


def way_of(make: Callable[[], Any], work: Callable[..., None], given: Any) -> Way:
    return lambda: functools.partial(work, make(), given)


def run(options: argparse.Namespace) -> None:
    """Print a line for each stream and each way to learn it."""
    lines = []
    for dataset in (datasets.Phishing(), datasets.ImageSegments()):
        rows: Rows = list(dataset)
        parts = [rows[i : i + 1000] for i in range(0, len(rows), 1000)]
        frames = [(pd.DataFrame([x for x, _ in part]), [y for _, y in part]) for part in parts]
        for form, work, given in (
            ("dicts", predict_and_learn, rows),
            ("frames", by_frames, frames),
        ):
            ways = {name: way_of(make, work, given) for name, make in MODELS.items()}
            times = in_turns(ways, options.repeats)
            spent = [f"{1e6 * times.median(name) / len(rows):.1f}" for name in MODELS]
            more = [f"{times.ratio('kinds', name) - 1:.1%}" for name in ("pipeline", "alone")]
            lines.append([type(dataset).__name__, form, *spent, *more])
    heads = ["stream", "form", *(f"{name}, µs" for name in MODELS)]
    tables.show([*heads, "kinds / pipeline", "kinds / alone"], lines)
