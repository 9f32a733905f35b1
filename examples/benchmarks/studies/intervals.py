"""Whether the 90 % intervals of our regressors hold nine targets in ten, and how wide they are.

No peer offers intervals with its defaults. The width is the median as a share of the interval that
a normal distribution with the variance of all targets would have.

    python -m examples.benchmarks.studies.intervals
"""

from __future__ import annotations

import argparse
import statistics
import sys

from examples.benchmarks.common import streams, tables
from river_extra_trees.cli import UserError, learners

LEARNERS = ("ExtraTreesRegressor", "DynamicTreeRegressor")
LEVEL = 0.9
NORMAL = 2 * statistics.NormalDist().inv_cdf(0.5 + LEVEL / 2)


def coverage(name: str, rows: streams.Rows) -> list[str]:
    """Return the share of targets inside their interval, and the relative median width."""
    model = learners.make_learner(name, "regression", seed=1)
    held, widths = [], []
    for i, (x, y) in enumerate(rows):
        if i:
            low, high = model.predict_one(x, with_dist=True).interval(LEVEL)
            held.append(low <= y <= high)
            widths.append(high - low)
        model.learn_one(x, y)
    width = statistics.median(widths) / NORMAL / statistics.pstdev(y for _, y in rows)
    return [f"{statistics.fmean(held):.3f}", f"{width:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--streams", nargs="+", default=streams.UNSEEN["regression"])
    parser.add_argument("--limit", type=int, default=5_000, help="samples per stream")
    options = parser.parse_args()
    lines = []
    found = streams.loaded(
        options.streams, lambda name: streams.load(name, "regression", options.limit)
    )
    for stream, rows in found:
        lines.append([stream, *(cell for name in LEARNERS for cell in coverage(name, rows))])
    heads = [f"{name}: {what}" for name in LEARNERS for what in ("inside", "width")]
    tables.show(["stream", *heads], lines)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
