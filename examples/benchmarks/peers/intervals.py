"""Whether the 90 % intervals of our regressors hold nine targets in ten, and how wide they are.

    python -m examples.benchmarks.peers.intervals run     add what is missing
    python -m examples.benchmarks.peers.intervals show    the table, as stored

No peer here offers intervals with its defaults. The width is the median as a share of the
interval that a normal distribution with the variance of all targets would have.
"""

from __future__ import annotations

import argparse
import inspect
import statistics
import sys
from pathlib import Path

from examples.benchmarks.common import results, streams, tables
from examples.benchmarks.peers import contenders
from river_extra_trees.cli import UserError, learners

LEVEL = 0.9
NORMAL = 2 * statistics.NormalDist().inv_cdf(0.5 + LEVEL / 2)
KEY = ["stream", "learner", "rows"]


def offers_intervals(name: str) -> bool:
    """Tell whether a learner predicts a distribution."""
    model = learners.make_learner(name, "regression", seed=1)
    return "with_dist" in inspect.signature(model.predict_one).parameters


def measure(options: argparse.Namespace) -> None:
    """Run every learner that predicts distributions on every stream."""
    known = [[r[field] for field in KEY] for r in results.read(options.results)]
    for stream in options.streams:
        rows = streams.load(stream, "regression", options.limit)
        deviation = statistics.pstdev(y for _, y in rows)
        for name in filter(offers_intervals, contenders.ours("regression")):
            key = [stream, name, str(len(rows))]
            if key in known:
                continue
            covered, width = coverage(name, rows)
            found = {"coverage": f"{covered:.4f}", "width": f"{width / NORMAL / deviation:.4f}"}
            results.keep(options.results, dict(zip(KEY, key, strict=True)) | found, KEY)
            print(*key, *found.values(), flush=True)


def coverage(name: str, rows: streams.Rows) -> tuple[float, float]:
    """Return the share of targets inside their interval, and the median width."""
    model = learners.make_learner(name, "regression", seed=1)
    held, widths = [], []
    for i, (x, y) in enumerate(rows):
        if i:
            low, high = model.predict_one(x, with_dist=True).interval(LEVEL)
            held.append(low <= y <= high)
            widths.append(high - low)
        model.learn_one(x, y)
    return statistics.fmean(held), statistics.median(widths)


def table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return coverage and width, a line for each learner and stream."""
    found = results.read(path)
    if not found:
        raise UserError("no interval has been measured yet; use `run` first")
    names = list(dict.fromkeys(result["learner"] for result in found))
    by_key = {(r["stream"], r["learner"]): r for r in found}
    lines = []
    for stream in (name for name in streams.UNSEEN["regression"] if (name, names[0]) in by_key):
        own = [by_key[stream, name] for name in names]
        figures = [(float(result["coverage"]), float(result["width"])) for result in own]
        lines.append([stream, *(f"{covered:.3f}, {width:.2f}" for covered, width in figures)])
    return ["stream", *(f"{name}: coverage, width" for name in names)], lines


def show(options: argparse.Namespace) -> None:
    """Print the table."""
    tables.show(*table(options.results))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument(
        "--results", type=Path, help="by default recorded ones, or build/benchmarks"
    )
    parser.add_argument("--streams", nargs="+", default=streams.UNSEEN["regression"])
    parser.add_argument("--limit", type=int, default=5_000, help="samples per stream")
    options = parser.parse_args()
    folder = results.OWN if options.command == "run" else results.RECORDED
    options.results = options.results or folder / "intervals.csv"
    (measure if options.command == "run" else show)(options)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
