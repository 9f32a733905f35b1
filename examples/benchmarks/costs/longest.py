"""The longest calls of `learn_one`, on samples that are hard to learn.

Sorted numbers, numbers of all scales, many columns, names and texts that never come again, words,
many labels: a line of the table is the median, the 99.9th percentile and the longest call of a
learner on such a stream, in milliseconds, and how many medians the longest call is.

    python -m examples.benchmarks.costs longest
    python -m examples.benchmarks.costs longest --streams words ExtraTreesRegressor
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import river_extra_trees as ret
from examples.benchmarks.common import tables

Sample = dict[str, Any]


def numbers(rng: random.Random, i: int) -> tuple[Sample, float]:
    """Eight numbers, two of which matter."""
    x = {f"x{j}": rng.random() for j in range(8)}
    return x, (x["x0"] + x["x1"]) / 2


def in_order(rng: random.Random, i: int) -> tuple[Sample, float]:
    """Eight numbers that grow with each sample, as their target does; from 1,000 on anew."""
    share = i % 1000 / 1000
    return {f"x{j}": share + 1e-9 * rng.random() for j in range(8)}, share


def equal(rng: random.Random, i: int) -> tuple[Sample, float]:
    """Samples that are all equal."""
    return {f"x{j}": 1.0 for j in range(8)}, rng.random()


def bits(rng: random.Random, i: int) -> tuple[Sample, float]:
    """Eight columns of 0 and 1."""
    return {f"x{j}": float(rng.randrange(2)) for j in range(8)}, rng.random()


def scales(rng: random.Random, i: int) -> tuple[Sample, float]:
    """Eight numbers of all scales."""
    x = {f"x{j}": rng.choice((1, -1)) * 10.0 ** rng.uniform(-300, 300) for j in range(8)}
    return x, rng.random()


def users(rng: random.Random, i: int) -> tuple[Sample, float]:
    """Two texts that never come again, and a number."""
    x = {"id": f"user {i}", "address": f"{rng.randrange(10**9)}", "x": rng.random()}
    return x, rng.random()


def columns(rng: random.Random, i: int) -> tuple[Sample, float]:
    """Two thousand numbers."""
    return {f"x{j}": rng.random() for j in range(2000)}, rng.random()


def names(rng: random.Random, i: int) -> tuple[Sample, float]:
    """Five features that only this sample has."""
    return {"x": rng.random()} | {f"n{i} {j}": 1.0 for j in range(5)}, rng.random()


def words(rng: random.Random, i: int) -> tuple[Sample, float]:
    """Thirty of five thousand words."""
    return {f"w{rng.randrange(5000)}": 1.0 for _ in range(30)}, rng.random()


def texts(rng: random.Random, i: int) -> tuple[Sample, float]:
    """Eight nominal features of a thousand values."""
    return {f"t{j}": f"v{rng.randrange(1000)}" for j in range(8)}, rng.random()


def labels(rng: random.Random, i: int) -> tuple[Sample, float]:
    """Eight numbers, and a thousand labels."""
    return {f"x{j}": rng.random() for j in range(8)}, rng.randrange(1000)


STREAMS: dict[str, tuple[Callable[[random.Random, int], tuple[Sample, float]], float]] = {
    "numbers": (numbers, 1.0),
    "in order": (in_order, 1.0),
    "equal": (equal, 1.0),
    "bits": (bits, 1.0),
    "scales": (scales, 1.0),
    "users": (users, 1.0),
    "columns": (columns, 0.2),  # of the samples
    "names": (names, 1.0),
    "words": (words, 1.0),
    "texts": (texts, 1.0),
    "labels": (labels, 1.0),
}
LEARNERS = [name for name in ret.__all__ if name.endswith(("Classifier", "Regressor"))]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("learners", nargs="*", help="all if none is named")
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    parser.add_argument("--samples", type=int, default=2000)


def milliseconds(name: str, stream: str, n: int) -> list[float]:
    """Return median, 99.9th percentile and maximum of the calls of `learn_one`."""
    sample, share = STREAMS[stream]
    rng, model, taken = random.Random(1), getattr(ret, name)(seed=1), []
    for i in range(int(share * n)):
        x, y = sample(rng, i)
        target = y if name.endswith("Regressor") or stream == "labels" else int(3 * y)
        model.predict_one(x)
        start = time.thread_time_ns()
        model.learn_one(x, target)
        taken.append((time.thread_time_ns() - start) / 1e6)
    return [*np.percentile(taken, (50, 99.9)).tolist(), max(taken)]


def run(options: argparse.Namespace) -> None:
    """Print a line for each learner and stream."""
    lines = []
    for name in options.learners or LEARNERS:
        for stream in options.streams:
            times = milliseconds(name, stream, options.samples)
            ratio = f"{times[2] / times[0]:,.1f}"
            lines.append([name, stream, *(f"{each:,.3g}" for each in times), ratio])
    tables.show(["learner", "stream", "median, ms", "p99.9", "longest", "medians"], lines)
