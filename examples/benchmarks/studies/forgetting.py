"""Whether `forgetting_factor="auto"` of the dynamic trees is as good as the best fixed factor.

    python -m examples.benchmarks.studies.forgetting factors [name ...]
    python -m examples.benchmarks.studies.forgetting coverage

`factors` prints R2 on the shuffled rows of real streams, on which nothing drifts. `coverage` prints
the share of targets inside the 90 % interval on Friedman's function, with drift and without.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import statistics
import sys
from typing import Any

from river import metrics

import river_extra_trees as ret
from examples.benchmarks.common import streams, tables
from examples.benchmarks.papers.dynamic_trees import drifting_friedman
from river_extra_trees.cli import UserError

FACTORS = (1.0, 0.9995, 0.999, 0.998, 0.995, 0.99, 0.98, 0.95)
STREAMS = [
    *("bike_sharing_hourly", "cal_housing", "abalone", "house_8L", "ailerons", "cpu_act"),
    *("power_plant_ccpp", "wind", "airfoil", "bank8FM"),
]


def show_factors(options: argparse.Namespace) -> None:
    """Print R2 of "auto" and of each fixed factor, and the distance from the best of these."""
    lines, gaps = [], []
    wanted = options.names or STREAMS
    loaded = streams.loaded(wanted, lambda name: streams.load(name, "regression", options.n))
    for name, rows in loaded:
        random.Random(7).shuffle(rows)
        found = [
            statistics.fmean(r2_of(rows, factor, 1 + seed) for seed in range(options.repeats))
            for factor in ("auto", *FACTORS)
        ]
        gaps.append(found[0] - max(found[1:]))
        lines.append([name, *(f"{r2:.3f}" for r2 in found), f"{gaps[-1]:+.3f}"])
    lines.append(["mean", *[""] * (1 + len(FACTORS)), f"{statistics.fmean(gaps):+.3f}"])
    tables.show(["stream", "auto", *map(str, FACTORS), "auto - best"], lines)


def r2_of(rows: streams.Rows, factor: Any, seed: int) -> float:
    model, r2 = ret.DynamicTreeRegressor(forgetting_factor=factor, seed=seed), metrics.R2()
    for x, y in rows:
        r2.update(y, model.predict_one(x))
        model.learn_one(x, y)
    return r2.get()


def show_coverage(options: argparse.Namespace) -> None:
    """Print the share of targets inside the interval, and the error, of samples 1,000 to 2,000."""
    lines = []
    for speed, leaf, window, factor in itertools.product(
        (0.0, 0.1, 0.5), ("linear", "constant"), (100, 500), (1.0, "auto")
    ):
        inside, errors = [], []
        for seed in range(options.repeats):
            model = ret.DynamicTreeRegressor(
                leaf=leaf, window=window, forgetting_factor=factor, seed=seed
            )
            for i, (x, y) in enumerate(drifting_friedman(2000, speed, seed)):
                if i >= 1000:
                    answer = model.predict_one(x, with_dist=True)
                    inside.append(0.05 <= answer.cdf(y) <= 0.95)
                    errors.append((answer.mean - y) ** 2)
                model.learn_one(x, y)
        found = f"{statistics.fmean(inside):.3f}", f"{math.sqrt(statistics.fmean(errors)):.3f}"
        lines.append([f"{speed:g}", leaf, str(window), str(factor), *found])
    tables.show(["drift", "leaf", "window", "forgetting factor", "inside", "RMSE"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    factors = commands.add_parser("factors")
    factors.add_argument("names", nargs="*")
    factors.add_argument("--n", type=int, default=5_000, help="rows of each stream")
    factors.add_argument("--repeats", type=int, default=2)
    factors.set_defaults(run=show_factors)
    coverage = commands.add_parser("coverage")
    coverage.add_argument("--repeats", type=int, default=3)
    coverage.set_defaults(run=show_coverage)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
