"""Items per CPU second of test-then-train: our single tree over a frame, and MOA's Hoeffding tree.

MOA's tree runs in CapyMOA's own loop, in an interpreter that has CapyMOA. The learners take turns;
the time is the least of all turns.

    python -m examples.benchmarks.costs.moa --capymoa-python PYTHON [--samples 50000] [--repeats 3]
"""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd
from river import metrics

import river_extra_trees as ret
from examples.benchmarks.common import prequential, streams
from examples.benchmarks.peers import capymoa_process
from river_extra_trees import evaluate


def ours(X: pd.DataFrame, y: pd.Series[Any]) -> tuple[float, float]:
    """CPU seconds and accuracy of our tree."""
    before = prequential.user_seconds()
    metric = evaluate.progressive_val_score(
        (X, y), ret.StreamDecisionTreeClassifier(seed=1), metrics.Accuracy()
    )
    return prequential.user_seconds() - before, metric.get()


def moas(rows: streams.Rows, python: str) -> tuple[float, float]:
    """CPU seconds and accuracy of MOA's Hoeffding tree."""
    *_, run = capymoa_process.checkpoints(
        "HoeffdingTree", rows, "classification", float("inf"), python
    )
    return run.seconds, run.scores["accuracy"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--capymoa-python", required=True, help="an interpreter with CapyMOA")
    parser.add_argument("--streams", nargs="+", default=["elec", "covtype"])
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    for stream in options.streams:
        rows = streams.load(stream, "classification", options.samples)
        X, y = pd.DataFrame([x for x, _ in rows]), pd.Series([label for _, label in rows])
        turns = [(ours(X, y), moas(rows, options.capymoa_python)) for _ in range(options.repeats)]
        own, other = min(a for a, _ in turns), min(b for _, b in turns)
        print(f"{stream}, {len(rows):,} samples")
        for name, (seconds, score) in (("ours", own), ("MOA's Hoeffding tree", other)):
            print(f"  {name:22}{len(rows) / seconds:12,.0f} samples/s   accuracy {score:.4f}")
        print(f"  times as fast: {other[0] / own[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()
