"""How many times as fast several threads learn and predict data frames as one thread.

Models with one thread and with several take turns on the same frames, so that a busy machine slows
both. The times are wall times: the machine should have as many idle cores as there are threads. The
table shows the median over the repetitions.

    python -m examples.benchmarks.costs.threads
    python -m examples.benchmarks.costs.threads --learner ForgetfulRandomForestClassifier --jobs 4
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import pandas as pd

import river_extra_trees
from examples.benchmarks.common import streams


def seconds_of(model: Any, frames: list[Any]) -> tuple[float, float]:
    """Return the seconds that predicting and learning takes, and those of predicting."""
    start = time.perf_counter()
    for X, y in frames:
        model.predict_learn_many(X, y)
    middle = time.perf_counter()
    for X, _ in frames:
        model.predict_many(X)
    return middle - start, time.perf_counter() - middle


def compare(options: argparse.Namespace, rows: streams.Rows, size: int, n_models: int) -> str:
    """Return a line of the table."""
    X, y = pd.DataFrame([x for x, _ in rows]), pd.Series([y for _, y in rows])
    frames = [(X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)]
    kind = getattr(river_extra_trees, options.learner)
    taken: dict[int, list[tuple[float, float]]] = {1: [], options.jobs: []}
    for _ in range(options.repeats):
        for n_jobs, times in taken.items():
            times.append(seconds_of(kind(n_models=n_models, n_jobs=n_jobs, seed=1), frames))
    columns = []
    for one, many in zip(*(zip(*times, strict=True) for times in taken.values()), strict=True):
        ratio = statistics.median(a / b for a, b in zip(one, many, strict=True))
        columns.append(f"{1e6 * statistics.median(one) / len(rows):10.1f} {ratio:8.2f}")
    return f"{n_models:6} {size:8,}  " + "  ".join(columns)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--learner", default="ExtraTreesClassifier")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--streams", nargs="+", default=["elec", "covtype", "letter"])
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    task = "regression" if options.learner.endswith("Regressor") else "classification"
    print(f"{options.learner}: one thread, us per row, and times as fast with {options.jobs}")
    for stream in options.streams:
        rows = streams.load(stream, task, options.samples)
        print(f"{stream}\n trees   frame  predict and learn             predict")
        for n_models, size in [(100, len(rows)), (100, 100), (10, len(rows)), (10, 100)]:
            print(compare(options, rows, size, n_models), flush=True)


if __name__ == "__main__":
    main()
