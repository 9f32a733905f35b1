"""Dynamic trees measured: regression out of the box, speed and memory, coverage, a long stream.

    python examples/benchmarks/dynamic_tree.py regression [name ...]
    python examples/benchmarks/dynamic_tree.py speed
    python examples/benchmarks/dynamic_tree.py coverage
    python examples/benchmarks/dynamic_tree.py soak --n 1000000

`regression` reads NAME.csv.gz (target last) from the folder in RIVER_EXTRA_TREES_DATA.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import math
import os
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from river import datasets, metrics

import river_extra_trees as ret

STREAMS = {
    # R2 of river's AMFRegressor (10 trees, nominal features one-hot), first 20,000 rows
    "bike_sharing_hourly": 0.885,
    "cal_housing": 0.296,
    "abalone": 0.479,
    "house_8L": 0.085,
    "ailerons": 0.004,
    "cpu_act": 0.868,
    "power_plant_ccpp": 0.865,
    "wind": 0.691,
    "airfoil": 0.017,
    "bank8FM": 0.810,
}
# dynaTree 1.2-17 on an idle machine, 1000 particles: best and median block in microseconds per
# step, and megabytes for the cloud.
REFERENCE = {
    ("constant", 5, 100): (1500, 2250, 8.2),
    ("linear", 5, 100): (2000, 3500, 7.5),
    ("multinomial", 5, 100): (1500, 2000, 2.7),
    ("constant", 5, 500): (2750, 5500, 25.9),
    ("linear", 5, 500): (5250, 16625, 43.7),
    ("multinomial", 5, 500): (2500, 3750, 8.0),
    ("linear", 20, 100): (24500, 26250, 18.2),
    ("linear", 20, 500): (27250, 32500, 89.9),
}


def value_of(text: str) -> float | str | None:
    if text == "":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def read(name: str) -> Iterator[tuple[dict[str, Any], float]]:
    """Yield the samples of a file, features as they are."""
    path = Path(os.environ["RIVER_EXTRA_TREES_DATA"]) / f"{name}.csv.gz"
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            target = float(row.pop("target"))
            yield {key: value_of(value) for key, value in row.items()}, target


def friedman(n: int, p: int = 5, seed: int = 0) -> Iterator[tuple[dict[str, float], float]]:
    rng = random.Random(seed)
    for _ in range(n):
        x = [rng.random() for _ in range(p)]
        y = 10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
        yield {f"x{i}": value for i, value in enumerate(x)}, y + rng.gauss(0, 1)


def three_classes(n: int, p: int = 5, seed: int = 0) -> Iterator[tuple[dict[str, float], int]]:
    rng = random.Random(seed)
    for _ in range(n):
        x = [rng.uniform(-1, 1) for _ in range(p)]
        y = 0 if x[0] * x[1] > 0 else 1 if x[0] ** 2 + x[1] ** 2 > 0.6 else 2
        yield {f"x{i}": v for i, v in enumerate(x)}, rng.randrange(3) if rng.random() < 0.1 else y


def run_regression(options: argparse.Namespace) -> None:
    """Test-then-train with one set of defaults on raw features."""
    bundled = {"TrumpApproval": datasets.TrumpApproval, "ChickWeights": datasets.ChickWeights}
    print(f"{'stream':20} {'rows':>6} {'R2':>7} {'AMF':>7} {'MAE':>11} {'mean':>11} {'CPU s':>6}")
    for name in options.names or [*STREAMS, *bundled]:
        rows = bundled[name]() if name in bundled else read(name)
        model = ret.DynamicTreeRegressor(seed=options.seed)
        r2, mae, mean_mae = metrics.R2(), metrics.MAE(), metrics.MAE()
        n, total, used = 0, 0.0, time.process_time()
        for x, y in itertools.islice(rows, options.n):
            answer = model.predict_one(x)
            r2.update(y, answer)
            mae.update(y, answer)
            mean_mae.update(y, total / n if n else 0.0)
            model.learn_one(x, y)
            n, total = n + 1, total + y
        used = time.process_time() - used
        peer = f"{STREAMS[name]:7.3f}" if name in STREAMS else f"{'':7}"
        print(
            f"{name:20} {n:6} {r2.get():7.3f} {peer} {mae.get():11.5g} {mean_mae.get():11.5g} "
            f"{used:6.1f}",
            flush=True,
        )


def timed(leaf: str, p: int, window: int, particles: int, steps: int) -> tuple[float, float, Any]:
    """Best and median block of 4 steps (retire and learn), in microseconds of CPU time."""
    warm = window + 300
    if leaf == "multinomial":
        model: Any = ret.DynamicTreeClassifier(particles, window, forgetting_factor=1.0, seed=1)
        rows: Any = three_classes(warm + steps, p)
    else:
        least = 2 * p + 4 if leaf == "linear" else 4
        model = ret.DynamicTreeRegressor(
            particles, leaf, window, forgetting_factor=1.0, min_samples_leaf=least, seed=1
        )
        rows = friedman(warm + steps, p)
    rows = list(rows)
    for x, y in rows[:warm]:
        model.learn_one(x, y)
    blocks = []
    for start in range(warm, warm + steps, 4):
        before = time.process_time_ns()
        for x, y in rows[start : start + 4]:
            model.learn_one(x, y)
        blocks.append((time.process_time_ns() - before) / 4000)
    return min(blocks), statistics.median(blocks), model


def run_speed(options: argparse.Namespace) -> None:
    """One step, retire and learn, beside the figures of the reference; then growth."""
    print(
        f"{'leaf':12} {'p':>3} {'w':>4} {'us best':>8} {'median':>7} {'ratio':>6} {'ratio':>6} "
        f"{'MB':>6} {'ratio':>6}"
    )
    for (leaf, p, window), (best, median, memory) in REFERENCE.items():
        ours, middle, model = timed(leaf, p, window, options.particles, options.steps)
        size = model._raw_memory_usage / 1e6
        print(
            f"{leaf:12} {p:3} {window:4} {ours:8.0f} {middle:7.0f} {best / ours:6.1f} "
            f"{median / middle:6.1f} {size:6.2f} {memory / size:6.1f}",
            flush=True,
        )
    for particles in (50, 200, 1000, 4000):
        ours, middle, _ = timed("linear", 5, 500, particles, options.steps)
        print(
            f"linear p=5 w=500 N={particles}: best {ours:.0f}, median {middle:.0f} us", flush=True
        )


def run_coverage(options: argparse.Namespace) -> None:
    """Share of targets inside the 90 % interval, on Friedman's function without drift."""
    for leaf in ("linear", "constant"):
        for factor in (1.0, "auto"):
            inside = n = 0
            for seed in range(options.repeats):
                model = ret.DynamicTreeRegressor(leaf=leaf, forgetting_factor=factor, seed=seed)
                for i, (x, y) in enumerate(friedman(2000, seed=seed)):
                    if i >= 1000:
                        low, high = model.predict_one(x, with_dist=True).interval(0.9)
                        inside += low <= y <= high
                        n += 1
                    model.learn_one(x, y)
            print(f"{leaf} forgetting_factor={factor}: {inside / n:.3f} of {n}", flush=True)


def run_soak(options: argparse.Namespace) -> None:
    """Speed, memory and answers along a long stream."""
    model = ret.DynamicTreeRegressor(n_particles=20, window=100, seed=1)
    before = time.process_time()
    for i, (x, y) in enumerate(friedman(options.n), 1):
        assert math.isfinite(model.predict_one(x))
        model.learn_one(x, y)
        if i % (options.n // 10) == 0:
            now = time.process_time()
            print(
                f"{i} items, {(now - before) / (options.n // 10) * 1e6:.0f} us per item, "
                f"{model._raw_memory_usage / 1e3:.0f} kB",
                flush=True,
            )
            before = now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    regression = commands.add_parser("regression")
    regression.add_argument("names", nargs="*")
    regression.add_argument("--n", type=int, default=20_000)
    regression.add_argument("--seed", type=int, default=1)
    regression.set_defaults(run=run_regression)
    speed = commands.add_parser("speed")
    speed.add_argument("--particles", type=int, default=1000)
    speed.add_argument("--steps", type=int, default=200)
    speed.set_defaults(run=run_speed)
    coverage = commands.add_parser("coverage")
    coverage.add_argument("--repeats", type=int, default=3)
    coverage.set_defaults(run=run_coverage)
    soak = commands.add_parser("soak")
    soak.add_argument("--n", type=int, default=1_000_000)
    soak.set_defaults(run=run_soak)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
