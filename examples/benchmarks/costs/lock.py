"""How batches and a thread that computes in Python slow each other down.

A model learns and predicts arrays of random numbers, alone and beside a thread that computes in
Python all the time. The times are wall times, so the machine should have two idle processors. The
last column compares the work of the other thread with its work in the same time alone.

    python -m examples.benchmarks.costs.lock
    python -m examples.benchmarks.costs.lock StreamDecisionTreeClassifier --rows 200000
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import river_extra_trees

N_FEATURES = 8


class Worker(threading.Thread):
    """A thread that computes until it is stopped, and counts its rounds."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.n_rounds, self.goes_on = 0, True
        self.start()

    def run(self) -> None:
        """Count."""
        while self.goes_on:
            sum(range(100))
            self.n_rounds += 1


def measure(task: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds that a task takes beside a worker, and the worker's rounds per second."""
    worker = Worker()
    before, start = worker.n_rounds, time.perf_counter()
    task()
    seconds = time.perf_counter() - start
    rate = (worker.n_rounds - before) / seconds
    worker.goes_on = False
    worker.join()
    return seconds, rate


def tasks_of(name: str, rows: int) -> dict[str, Callable[[], Any]]:
    """Return the tasks: a new model learns all rows, and a trained one predicts them."""
    rng = np.random.default_rng(1)
    X = rng.random((rows, N_FEATURES))
    sums = X[:, 0] + X[:, 1] + rng.random(rows) / 3
    y = sums if name.endswith("Regressor") else sums > 1.1
    kind = getattr(river_extra_trees, name)
    trained = kind(seed=1)
    trained.learn_many(X, y)
    return {
        "learn_many": lambda: kind(seed=1).learn_many(X, y),
        "predict_many": lambda: trained.predict_many(X),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("learners", nargs="*", default=["ExtraTreesClassifier"])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    _, alone = measure(lambda: time.sleep(1))
    print("seconds, medians              alone   beside a thread   work of that thread")
    for name in options.learners:
        print(name)
        for what, task in tasks_of(name, options.rows).items():
            single, pairs = [], []
            for _ in range(options.repeats):
                start = time.perf_counter()
                task()
                single.append(time.perf_counter() - start)
                pairs.append(measure(task))
            beside = statistics.median(seconds for seconds, _ in pairs)
            share = statistics.median(rate for _, rate in pairs) / alone
            print(f"  {what:24} {statistics.median(single):8.3f} {beside:17.3f} {share:20.0%}")


if __name__ == "__main__":
    main()
