"""How long an explanation takes, beside a prediction.

Predictions and explanations of a model that has learned the stream take turns on the same samples,
one at a time, and all at once with `explain_many`.
The table shows the medians in microseconds of CPU time per sample. Each turn finds other nodes in
the caches than it needs, as in a service that answers few questions. The second table asks the same
samples again and again, so that what is left is the work itself; its last column is the median of
the ratios of the turns.

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

HOT = 64  # samples that are asked again and again
ROUNDS = 20  # so often

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


def ask_all(method: Callable[..., Any], samples: list[dict[Any, Any]], n_rounds: int = 1) -> None:
    """Call a method of a model with each sample, in so many rounds."""
    for _ in range(n_rounds):
        for x in samples:
            method(x)


def hot_line(model: Any, samples: list[dict[Any, Any]], repeats: int) -> list[str]:
    """Return the time of a prediction and of a path of samples that are asked again and again."""
    samples = samples[:HOT]
    path = functools.partial(model.explain_one, method="path")
    ways = {
        name: functools.partial(functools.partial, ask_all, method, samples, ROUNDS)
        for name, method in {"predict": model.predict_one, "path": path}.items()
    }
    ask_all(path, samples)
    times = in_turns(ways, repeats)
    each = [1e6 * times.median(name) / (ROUNDS * len(samples)) for name in ways]
    return [*(f"{time:.1f}" for time in each), f"{times.ratio('path', 'predict'):.1f}"]


def run(options: argparse.Namespace) -> None:
    """Print a line for each stream and learner of its task, in both tables."""
    lines, hot = [], []
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
            hot.append([stream, name, *hot_line(model, asked, options.repeats)])
    head = ["stream", "learner", "nodes", "predict_one, µs", "path, µs", "Shapley, µs"]
    tables.show([*head, "path of many, µs", "Shapley of many, µs"], lines)
    tables.show(["stream", "learner", "hot predict_one, µs", "path, µs", "path, predictions"], hot)
