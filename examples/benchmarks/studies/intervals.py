"""Whether the intervals of our regressors hold the share of targets that they say; their width.

No peer offers intervals with its defaults. The width is the median of the 90 % intervals, as a
share of the interval that a normal distribution with the variance of all targets would have. On the
made stream `noise`, the noise grows tenfold with one of three features; its halves are shown.

    python -m examples.benchmarks.studies.intervals                      the unseen streams
    python -m examples.benchmarks.studies.intervals --streams noise wind --delay 100
"""

from __future__ import annotations

import argparse
import collections
import functools
import math
import random
import statistics
import sys

from examples.benchmarks.common import prequential, streams, tables
from river_extra_trees.cli import UserError, learners

LEARNERS = ("ExtraTreesRegressor", "DynamicTreeRegressor")
LEVELS = (0.5, 0.8, 0.9, 0.95)
SHOWN = 0.9
NORMAL = 2 * statistics.NormalDist().inv_cdf(0.5 + SHOWN / 2)
NOISE = "noise"


def noisy_rows(n: int) -> streams.Rows:
    """Return a made stream whose noise has the standard deviation .2 + 1.8 c."""
    rng, rows = random.Random(1), []
    for _ in range(n):
        x = {name: rng.random() for name in "abc"}
        mean = 5.0 * x["a"] + math.sin(6.0 * x["b"])
        rows.append((x, mean + rng.gauss(0.0, 0.2 + 1.8 * x["c"])))
    return rows


def lines_of(stream: str, name: str, rows: streams.Rows, delay: int) -> list[list[str]]:
    """Return the share of targets inside each interval, and the relative median width."""
    model = learners.make_learner(name, "regression", seed=1)
    answers = prequential.answers(
        model, rows, functools.partial(model.predict_one, with_dist=True), delay
    )
    parts = collections.defaultdict(list)
    for i, ((x, y), answer) in enumerate(zip(rows, answers, strict=True)):
        if i > delay:
            ends = [answer.interval(level) for level in LEVELS]
            low, high = ends[LEVELS.index(SHOWN)]
            half = f" ({'quiet' if x['c'] < 0.5 else 'noisy'} half)" if stream == NOISE else ""
            parts[half].append((*(low <= y <= high for low, high in ends), high - low))
    normal = NORMAL * statistics.pstdev(y for _, y in rows)
    lines = []
    for half, found in sorted(parts.items()):
        *held, widths = zip(*found, strict=True)
        shares = [f"{statistics.fmean(each):.3f}" for each in held]
        lines.append([stream + half, name, *shares, f"{statistics.median(widths) / normal:.2f}"])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--streams", nargs="+", default=streams.UNSEEN["regression"])
    parser.add_argument("--learners", nargs="+", default=LEARNERS)
    parser.add_argument("--limit", type=int, default=5_000, help="samples per stream")
    parser.add_argument("--delay", type=int, default=0, help="how many samples late labels are")
    options = parser.parse_args()

    def load(name: str) -> streams.Rows:
        if name == NOISE:
            return noisy_rows(options.limit)
        return streams.load(name, "regression", options.limit)

    lines = []
    for stream, rows in streams.loaded(options.streams, load):
        for name in options.learners:
            lines += lines_of(stream, name, rows, options.delay)
    tables.show(["stream", "learner", *(f"{level:.0%}" for level in LEVELS), "width"], lines)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
