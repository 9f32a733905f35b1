"""The first samples of a stream: our learners beside river's Hoeffding tree.

    python -m examples.benchmarks.studies.first_samples
    python -m examples.benchmarks.studies.first_samples --task regression

The table shows the mean accuracy or R2 of all predictions for the first samples, on the streams on
which defaults were chosen, with two seeds.
"""

from __future__ import annotations

import argparse
import statistics
import sys

from examples.benchmarks.common import prequential, streams, tables
from examples.benchmarks.common.scores import NAMES
from examples.benchmarks.peers import contenders
from river_extra_trees.cli import UserError, learners
from river_extra_trees.cli.streams import Task

SEEDS = (1, 2)


def score(name: str, rows: streams.Rows, task: Task) -> float:
    """Return the score of a learner: the first one of its task."""
    first = next(iter(NAMES[task]))
    if name in contenders.RIVER[task]:
        *_, run = contenders.checkpoints(name, rows, task, float("inf"), None)
        return run.scores[first]
    runs = [
        prequential.run(learners.make_learner(name, task, seed=seed), rows, task) for seed in SEEDS
    ]
    return statistics.fmean(run.scores[first] for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", choices=streams.SEEN, default="classification")
    parser.add_argument("--streams", nargs="+", help="by default all on which defaults were chosen")
    parser.add_argument("--limit", type=int, default=500, help="samples per stream")
    options = parser.parse_args()
    task = options.task
    kind = "Classifier" if task == "classification" else "Regressor"
    names = [f"river HoeffdingTree{kind}", *contenders.ours(task)]
    found: dict[str, list[float]] = {name: [] for name in names}
    wanted = options.streams or streams.SEEN[task]
    for _, rows in streams.loaded(wanted, lambda name: streams.load(name, task, options.limit)):
        for name in names:
            found[name].append(score(name, rows, task))
    lines = [[name, f"{statistics.fmean(scores):.3f}"] for name, scores in found.items()]
    tables.show(["learner", f"mean {next(iter(NAMES[task]))}"], lines)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
