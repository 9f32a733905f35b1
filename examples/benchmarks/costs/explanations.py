"""How long an explanation takes, beside a prediction.

Predictions and explanations of a model that has learned the stream take turns on the same samples,
one at a time, and all at once with `explain_many`.
The table shows the medians in microseconds of CPU time per sample.

    python -m examples.benchmarks.costs explanations
    python -m examples.benchmarks.costs explanations --learners StreamDecisionTreeClassifier
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import Any

import pandas as pd

import river_extra_trees
from examples.benchmarks.common import streams, tables
from examples.benchmarks.costs.timing import in_turns

LEARNERS = (
    *("ExtraTreesClassifier", "StreamDecisionForestClassifier", "DynamicTreeClassifier"),
    *("ExtraTreesRegressor", "DynamicTreeRegressor"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--learners", nargs="+", default=LEARNERS)
    parser.add_argument("--classification", nargs="*", default=["elec", "covtype"])
    parser.add_argument("--regression", nargs="*", default=["cal_housing"])
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--asked", type=int, default=100, help="number of samples to explain")
    parser.add_argument("--repeats", type=int, default=5)


def ask_all(method: Callable[..., Any], samples: list[dict[Any, Any]]) -> None:
    """Call a method of a model with each sample."""
    for x in samples:
        method(x)


def run(options: argparse.Namespace) -> None:
    """Print a line for each stream and learner of its task."""
    lines = []
    for name in options.learners:
        task = "regression" if name.endswith("Regressor") else "classification"
        for stream in vars(options)[task]:
            rows = streams.load(stream, task, options.samples)
            model = getattr(river_extra_trees, name)(seed=1)
            for x, y in rows:
                model.learn_one(x, y)
            asked = [x for x, _ in rows[-options.asked :]]
            frame = pd.DataFrame(asked)
            ways = {
                way: functools.partial(ask_all, method, asked)
                for way, method in {
                    "predict": model.predict_one,
                    "path": functools.partial(model.explain_one, method="path"),
                    "shapley": model.explain_one,
                }.items()
            } | {
                f"{method}, many": functools.partial(model.explain_many, frame, method=method)
                for method in ("path", "shapley")
            }
            times = in_turns(
                {name: functools.partial(functools.partial, way) for name, way in ways.items()},
                options.repeats,
            )
            each = [1e6 * times.median(way) / len(asked) for way in ways]
            lines.append([stream, name, f"{model.n_nodes:,}", *(f"{time:,.0f}" for time in each)])
    head = ["stream", "learner", "nodes", "predict_one, µs", "path, µs", "Shapley, µs"]
    tables.show([*head, "path of many, µs", "Shapley of many, µs"], lines)
