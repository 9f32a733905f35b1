"""Time and memory of dynamic trees beside the R package dynaTree 1.2-17.

A step retires the oldest sample and learns a new one, with 1,000 particles, a full window and no
forgetting. The table shows the median block of four steps, in CPU time, and the memory. The figures
of the package were measured once, on an idle machine.

    python -m examples.benchmarks.costs dynatree
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from collections.abc import Iterator
from typing import Any

import river_extra_trees as ret
from examples.benchmarks.common import tables
from examples.benchmarks.common.streams import Rows

BLOCK = 4
# leaf, features, window: microseconds per step, and megabytes.
DYNATREE = {
    ("constant", 5, 100): (2250, 8.2),
    ("constant", 5, 500): (5500, 25.9),
    ("constant", 20, 100): (2500, 5.4),
    ("constant", 20, 500): (4750, 19.3),
    ("linear", 5, 100): (3500, 7.5),
    ("linear", 5, 500): (16625, 43.7),
    ("linear", 20, 100): (26250, 18.2),
    ("linear", 20, 500): (32500, 89.9),
    ("multinomial", 5, 100): (2000, 2.7),
    ("multinomial", 5, 500): (3750, 8.0),
    ("multinomial", 20, 100): (2250, 2.3),
    ("multinomial", 20, 500): (4250, 6.4),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--particles", type=int, default=1000)
    parser.add_argument("--warm", type=int, default=300, help="steps before the clock starts")
    parser.add_argument("--steps", type=int, default=200, help="steps that are timed")


def samples(leaf: str, p: int) -> Iterator[tuple[dict[str, float], Any]]:
    """Yield Friedman's function of five of p features, or three classes in the plane of two."""
    rng = random.Random(0)
    while True:
        if leaf == "multinomial":
            x = [rng.uniform(-1, 1) for _ in range(p)]
            y: Any = 1 if x[0] * x[1] > 0 else 2 if x[0] ** 2 + x[1] ** 2 > 0.6 else 3
            y = rng.randrange(1, 4) if rng.random() < 0.1 else y
        else:
            x = [rng.random() for _ in range(p)]
            y = 10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3]
            y += 5 * x[4] + rng.gauss(0, 1)
        yield {f"x{i}": value for i, value in enumerate(x)}, y


def model_of(leaf: str, p: int, window: int, particles: int) -> Any:
    """Return a learner that forgets nothing, with leaves as large as dynaTree's."""
    settings = {"window": window, "forgetting_factor": 1.0, "seed": 1}
    if leaf == "multinomial":
        return ret.DynamicTreeClassifier(particles, **settings)
    least = 2 * p + 4 if leaf == "linear" else 4
    return ret.DynamicTreeRegressor(particles, leaf, min_samples_leaf=least, **settings)


def step(model: Any, rows: Rows) -> float:
    """Learn a block; return the microseconds of CPU time per sample."""
    before = time.process_time_ns()
    for x, y in rows:
        model.learn_one(x, y)
    return (time.process_time_ns() - before) / 1000 / len(rows)


def run(options: argparse.Namespace) -> None:
    """Print a line for each kind of leaf, number of features and window."""
    lines = []
    for (leaf, p, window), (theirs, megabytes) in DYNATREE.items():
        stream, model = samples(leaf, p), model_of(leaf, p, window, options.particles)
        step(model, [next(stream) for _ in range(window + options.warm)])
        size = model._raw_memory_usage / 1e6
        blocks = ([next(stream) for _ in range(BLOCK)] for _ in range(options.steps // BLOCK))
        ours = statistics.median(step(model, rows) for rows in blocks)
        spent = [f"{ours:.0f}", f"{theirs:,}", f"{theirs / ours:.1f}"]
        held = [f"{size:.2f}", f"{megabytes}", f"{megabytes / size:.1f}"]
        lines.append([leaf, str(p), str(window), *spent, *held])
    heads = ["leaf", "features", "window", "µs", "dynaTree, µs", "times as fast"]
    tables.show([*heads, "MB", "dynaTree, MB", "times less"], lines)
