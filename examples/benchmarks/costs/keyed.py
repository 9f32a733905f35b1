"""What one model per key costs, in one process: beside a dict of models written by hand.

The times are wall times, because frames are also read with two threads, and by two workers of Ray
(without the start of Ray).

    python -m examples.benchmarks.costs keyed
    python -m examples.benchmarks.costs keyed --keys 100 --ray
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import river_extra_trees as ret
from examples.benchmarks.common import tables
from examples.benchmarks.costs.timing import in_turns
from river_extra_trees.distributed import DistributedKeyedModels
from river_extra_trees.keyed import KeyedModels

LEARNERS = ("StreamDecisionTreeClassifier", "StreamDecisionTreeRegressor", "ExtraTreesClassifier")
FEATURES = list("abcde")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--samples", type=int, default=40_000)
    parser.add_argument("--keys", type=int, default=2_000)
    parser.add_argument("--rows", type=int, default=10_000, help="of a frame")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ray", action="store_true", help="also with Ray")


def by_dict(model: Any, samples: list[tuple[str, Any, Any]]) -> None:
    models: dict[str, Any] = {}
    for key, x, y in samples:
        if key not in models:
            models[key] = model.clone()
        models[key].predict_one(x)
        models[key].learn_one(x, y)


def by_samples(model: Any, samples: list[tuple[str, Any, Any]]) -> None:
    models = KeyedModels(model)
    for key, x, y in samples:
        models.predict_one(key, x)
        models.learn_one(key, x, y)


def by_frames(model: Any, frames: list[tuple[list[str], Any, Any]], n_jobs: int = 1) -> None:
    models = KeyedModels(model, n_jobs=n_jobs)
    for frame in frames:
        models.predict_learn_many(*frame)


def on_ray(model: Any, frames: list[tuple[list[str], Any, Any]]) -> Callable[[], None]:
    """Start two workers; return what they do."""
    models = DistributedKeyedModels(model, 2)

    def work() -> None:
        with models:
            for frame in frames:
                models.predict_learn_many(*frame)

    return work


def run(options: argparse.Namespace) -> None:
    """Print a line for each learner."""
    n, size, lines = options.samples, options.rows, []
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((n, len(FEATURES))), columns=FEATURES)
    keys = [f"sensor {i}" for i in rng.integers(options.keys, size=n).tolist()]
    sums = X["a"] + X["b"] + rng.normal(0.0, 0.1, n)
    for name in LEARNERS:
        model = getattr(ret, name)(seed=1)
        y = (sums > 1.0 if name.endswith("Classifier") else sums).tolist()
        samples = list(zip(keys, X.to_dict("records"), y, strict=True))
        starts = range(0, n, size)
        frames = [(keys[i : i + size], X[i : i + size], y[i : i + size]) for i in starts]
        work = {"dict": (by_dict, samples), "samples": (by_samples, samples)}
        work["frames"] = by_frames, frames
        work["threads"] = functools.partial(by_frames, n_jobs=2), frames
        ways = {
            way: lambda run=run, given=given: functools.partial(run, model, given)  # noqa: B023
            for way, (run, given) in work.items()
        }
        if options.ray:
            ways["ray"] = functools.partial(on_ray, model, frames)
        times = in_turns(ways, options.repeats, clock=time.perf_counter)
        lines.append([name, *(f"{1e6 * times.median(way) / n:.2f}" for way in ways)])
    heads = ["dict of models", "predict_one, learn_one", "frames", "frames, two threads"]
    heads += ["frames, two workers of Ray"] if options.ray else []
    tables.show(["µs per sample", *heads], lines)
