"""Dynamic trees with their default parameters: regression, and coverage of the intervals.

    python -m examples.benchmarks.dynamic.defaults regression [name ...]
    python -m examples.benchmarks.dynamic.defaults forgetting [name ...]
    python -m examples.benchmarks.dynamic.defaults coverage

`regression` and `forgetting` read NAME.csv.gz, with the target in the last column, from the folder
that RIVER_EXTRA_TREES_DATA names. `forgetting` shuffles the rows, so that nothing drifts, and
compares `"auto"` with fixed forgetting factors.
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
from examples.benchmarks.dynamic.paper import drifting_friedman

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


def friedman(n: int, seed: int) -> Iterator[tuple[dict[str, float], float]]:
    rng = random.Random(seed)
    for _ in range(n):
        x = [rng.random() for _ in range(5)]
        y = 10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
        yield {f"x{i}": value for i, value in enumerate(x)}, y + rng.gauss(0, 1)


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


FACTORS = (1.0, 0.9995, 0.999, 0.998, 0.995, 0.99, 0.98, 0.95)


def run_forgetting(options: argparse.Namespace) -> None:
    """R2 on shuffled rows: "auto", each fixed factor, and the difference from the best of these."""
    factors: tuple[Any, ...] = ("auto", *FACTORS)
    print(f"{'stream':20}" + "".join(f"{factor:>8}" for factor in factors) + "  auto - best")
    gaps = []
    for name in options.names or STREAMS:
        rows = list(itertools.islice(read(name), options.n))
        random.Random(7).shuffle(rows)
        found = [
            statistics.fmean(r2_of(rows, factor, 1 + seed) for seed in range(options.repeats))
            for factor in factors
        ]
        gaps.append(found[0] - max(found[1:]))
        print(
            f"{name:20}" + "".join(f"{r2:8.3f}" for r2 in found) + f"{gaps[-1]:13.4f}", flush=True
        )
    print(f"{'mean':20}" + 8 * len(factors) * " " + f"{statistics.fmean(gaps):13.4f}")


def r2_of(rows: list[tuple[dict[str, Any], float]], factor: Any, seed: int) -> float:
    model, r2 = ret.DynamicTreeRegressor(forgetting_factor=factor, seed=seed), metrics.R2()
    for x, y in rows:
        r2.update(y, model.predict_one(x))
        model.learn_one(x, y)
    return r2.get()


def run_coverage(options: argparse.Namespace) -> None:
    """Share of targets inside the 90 % interval on Friedman's function, without drift and with."""
    print(f"{'drift':>6} {'leaf':10} {'window':>6} {'forgetting':>10} {'inside':>7} {'RMSE':>7}")
    for speed, leaf, window, factor in itertools.product(
        (0.0, 0.1, 0.5), ("linear", "constant"), (100, 500), (1.0, "auto")
    ):
        inside, errors = [], []
        for seed in range(options.repeats):
            model = ret.DynamicTreeRegressor(
                leaf=leaf, window=window, forgetting_factor=factor, seed=seed
            )
            rows = drifting_friedman(2000, speed, seed) if speed else friedman(2000, seed)
            for i, (x, y) in enumerate(rows):
                if i >= 1000:
                    answer = model.predict_one(x, with_dist=True)
                    inside.append(0.05 <= answer.cdf(y) <= 0.95)
                    errors.append((answer.mean - y) ** 2)
                model.learn_one(x, y)
        share, rmse = statistics.fmean(inside), math.sqrt(statistics.fmean(errors))
        print(f"{speed:6} {leaf:10} {window:6} {factor:>10} {share:7.3f} {rmse:7.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    regression = commands.add_parser("regression")
    regression.add_argument("names", nargs="*")
    regression.add_argument("--n", type=int, default=20_000)
    regression.add_argument("--seed", type=int, default=1)
    regression.set_defaults(run=run_regression)
    forgetting = commands.add_parser("forgetting")
    forgetting.add_argument("names", nargs="*")
    forgetting.add_argument("--n", type=int, default=5_000)
    forgetting.add_argument("--repeats", type=int, default=2)
    forgetting.set_defaults(run=run_forgetting)
    coverage = commands.add_parser("coverage")
    coverage.add_argument("--repeats", type=int, default=3)
    coverage.set_defaults(run=run_coverage)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
