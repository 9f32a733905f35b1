"""Whether the default forests are ever behind "predict the last label", and their calibration.

Every sample is predicted and then learned; the first 50 are not scored. The table shows the
accuracy or R2 of both, and of a classifier its log loss and calibration error. The last line names
the streams on which the forest is behind by more than .001.

    python -m examples.benchmarks.studies.no_change                         the classifier
    python -m examples.benchmarks.studies.no_change --task regression
    python -m examples.benchmarks.studies.no_change --streams elec --limit 50000
    python -m examples.benchmarks.studies.no_change --streams all           also unseen streams
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

from river import base, dummy

from examples.benchmarks.common import streams, tables
from examples.benchmarks.studies.late_labels import SCORES, scores_of
from river_extra_trees.cli import UserError, learners
from river_extra_trees.cli.streams import Task

NEAR = 0.001


class NoChangeRegressor(base.Regressor):
    """Predicts the last target."""

    def __init__(self) -> None:
        self.last = 0.0

    def predict_one(self, x: dict[str, Any]) -> float:
        """Return the last target."""
        return self.last

    def learn_one(self, x: dict[str, Any], y: float) -> None:
        """Keep the target."""
        self.last = y


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", choices=streams.SEEN, default="classification")
    parser.add_argument("--streams", nargs="+", help="by default all on which defaults were chosen")
    parser.add_argument("--limit", type=int, default=6_000, help="samples per stream")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    task: Task = options.task
    every = [*streams.SEEN[task], *streams.UNSEEN[task]]
    wanted = every if options.streams == ["all"] else options.streams or streams.SEEN[task]
    default = f"ExtraTrees{learners.SUFFIXES[task]}"
    lines, runs, behind = [], [], []
    for stream, rows in streams.loaded(
        wanted, lambda name: streams.load(name, task, options.limit)
    ):
        same = dummy.NoChangeClassifier() if task == "classification" else NoChangeRegressor()
        last = scores_of(same, rows, task, 0)[SCORES[task][0]]
        found = scores_of(learners.make_learner(default, task, options.seed), rows, task, 0)
        runs.append([last, *(found[name] for name in SCORES[task])])
        lines.append([stream, *(f"{each:.4f}" for each in runs[-1])])
        if last > runs[-1][1] + NEAR:
            behind.append(f"{stream} {last - runs[-1][1]:.4f}")
    lines.append(
        [f"mean of {len(runs)}", *(f"{statistics.fmean(v):.4f}" for v in zip(*runs, strict=True))]
    )
    tables.show(["stream", "no change", *SCORES[task]], lines)
    print(f"behind no change by more than {NEAR}: {', '.join(behind) or 'none'}")


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
