"""How many times as fast several threads read data frames as one thread.

Models with one thread and with several take turns on the same frames. The times are wall times: the
machine needs as many idle cores as there are threads. The table shows the medians of one thread in
microseconds per row, and the medians of the ratios.

    python -m examples.benchmarks.costs threads
    python -m examples.benchmarks.costs threads --learner ForgetfulRandomForestClassifier --jobs 4
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

import river_extra_trees
from examples.benchmarks.common import streams, tables
from examples.benchmarks.costs.timing import Way, in_turns

Frames = list[tuple[pd.DataFrame, pd.Series]]

SHAPES = [(100, 10_000), (100, 100), (10, 10_000), (10, 100)]  # trees, and rows of a frame


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--learner", default="ExtraTreesClassifier")
    parser.add_argument("--jobs", type=int, default=2, help="number of threads")
    parser.add_argument("--streams", nargs="+", default=["elec", "covtype", "letter"])
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)


def call_all(method: Callable[..., Any], frames: Iterable[tuple[Any, ...]]) -> None:
    """Call a method of a model with each frame."""
    for frame in frames:
        method(*frame)


def ways_of(kind: type, settings: dict[str, Any], frames: Frames, jobs: int) -> dict[str, Way]:
    """Return the ways to learn and to predict the frames, with one thread and with several."""

    def learning(n_jobs: int) -> functools.partial[None]:
        model = kind(n_jobs=n_jobs, **settings)
        return functools.partial(call_all, model.predict_learn_many, frames)

    def predicting(n_jobs: int) -> functools.partial[None]:
        model = kind(n_jobs=n_jobs, **settings)
        call_all(model.learn_many, frames)
        return functools.partial(call_all, model.predict_many, [(X,) for X, _ in frames])

    return {
        f"{name} {n_jobs}": functools.partial(way, n_jobs)
        for name, way in (("learn", learning), ("predict", predicting))
        for n_jobs in (1, jobs)
    }


def run(options: argparse.Namespace) -> None:
    """Print a line for each stream and shape."""
    kind = getattr(river_extra_trees, options.learner)
    task = "regression" if options.learner.endswith("Regressor") else "classification"
    lines = []
    loaded = streams.loaded(options.streams, lambda name: streams.load(name, task, options.samples))
    for stream, rows in loaded:
        X, y = pd.DataFrame([x for x, _ in rows]), pd.Series([y for _, y in rows])
        for n_models, size in SHAPES:
            frames = [(X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)]
            ways = ways_of(kind, {"n_models": n_models, "seed": 1}, frames, options.jobs)
            times = in_turns(ways, options.repeats, clock=time.perf_counter)
            line = [stream, str(n_models), f"{min(size, len(rows)):,}"]
            for name in ("learn", "predict"):
                line.append(f"{1e6 * times.median(f'{name} 1') / len(rows):.1f}")
                line.append(f"{times.ratio(f'{name} 1', f'{name} {options.jobs}'):.2f}")
            lines.append(line)
    faster = f"times as fast with {options.jobs}"
    heads = [
        "stream",
        "trees",
        "rows",
        "predict_learn_many, µs",
        faster,
        "predict_many, µs",
        faster,
    ]
    tables.show(heads, lines)
