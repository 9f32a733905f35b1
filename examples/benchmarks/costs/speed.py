"""How many times as fast one learner is as another on the same samples.

The two take turns in every repetition, so that a busy machine slows both. The table shows the
median over the repetitions, in CPU time of predicting and learning together.

    python -m examples.benchmarks.costs.speed
    python -m examples.benchmarks.costs.speed StreamDecisionTreeClassifier HoeffdingTreeClassifier
"""

from __future__ import annotations

import argparse
import statistics
import sys

from examples.benchmarks.common import prequential, streams
from river_extra_trees.cli import UserError, learners

PAIRS = [
    ("StreamDecisionTreeClassifier", "HoeffdingTreeClassifier"),
    ("ExtraTreesClassifier", "ARFClassifier:n_models=10"),
]


def compare(ours: str, yardstick: str, rows: streams.Rows, repeats: int) -> str:
    """Return a line of the table."""
    seconds: dict[str, list[float]] = {ours: [], yardstick: []}
    scores = {}
    for _ in range(repeats):
        for name, taken in seconds.items():
            result = prequential.run(
                learners.make_learner(name, "classification", seed=1), rows, "classification"
            )
            taken.append(result.seconds)
            scores[name] = result.scores["accuracy"]
    ratio = statistics.median(b / a for a, b in zip(*seconds.values(), strict=True))
    each = [
        f"{1e6 * statistics.median(taken) / len(rows):8.1f} us {scores[name]:7.4f}"
        for name, taken in seconds.items()
    ]
    return f"{ours:48} {each[0]}   {yardstick:28} {each[1]}   {ratio:6.1f} x"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pair", nargs="*", help="a learner and its yardstick; both classify")
    parser.add_argument("--streams", nargs="+", default=["elec", "covtype"])
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if len(options.pair) not in (0, 2):
        parser.error("name a learner and its yardstick, or none")
    pairs = [tuple(options.pair)] if options.pair else PAIRS
    for stream in options.streams:
        rows = streams.load(stream, "classification", options.samples)
        print(f"{stream}, {len(rows)} samples, {len(rows[0][0])} features")
        print(f"{'':48} {'per sample':>11} accuracy{'':32}{'per sample':>11} accuracy   faster by")
        for ours, yardstick in pairs:
            print(compare(ours, yardstick, rows, options.repeats), flush=True)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
