"""What late labels cost the extra trees, and whether fewer windows would do better.

Every sample is predicted, and learned after `delay` others were predicted. The table shows the mean
accuracy, log loss and calibration error, or R2, over the streams on which defaults were chosen, of
the default and of forests without the smallest windows, beside a stream decision forest. A second
table lists where the default is behind the best of the three forests by more than .003. With
several seeds, the best one is chosen by the other seeds: the best of three noisy scores would be
too high.

    python -m examples.benchmarks.studies.late_labels                      the classifier
    python -m examples.benchmarks.studies.late_labels --task regression
    python -m examples.benchmarks.studies.late_labels --learners ExtraTreesClassifier ARFClassifier
    python -m examples.benchmarks.studies.late_labels --streams letter --delays 24 --seeds 1 2 3 4 5
"""

from __future__ import annotations

import argparse
import collections
import itertools
import statistics
import sys
from typing import Any

from examples.benchmarks.common import prequential, streams, tables
from examples.benchmarks.common.scores import Scores
from river_extra_trees.cli import UserError, learners
from river_extra_trees.cli.streams import Task

LEARNERS: dict[Task, list[str]] = {
    "classification": [
        "ExtraTreesClassifier",
        "ExtraTreesClassifier:window_sizes=(200,1200,5000,16000)",
        "ExtraTreesClassifier:window_sizes=(1200,5000,16000)",
        "StreamDecisionForestClassifier",
    ],
    "regression": [
        "ExtraTreesRegressor",
        "ExtraTreesRegressor:window_sizes=(250,1000,16000)",
        "ExtraTreesRegressor:window_sizes=(1000,16000)",
        "StreamDecisionForestRegressor",
    ],
}
NEAR = 0.003
FIRST = 50  # samples after the first label that are not scored
SCORES: dict[Task, list[str]] = {
    "classification": ["accuracy", "log loss", "calibration error"],
    "regression": ["R2"],
}


def scores_of(model: Any, rows: streams.Rows, task: Task, delay: int) -> dict[str, float]:
    """Return the scores of all predictions but the first ones."""
    answers = prequential.answers(model, rows, prequential.predict_of(model, task), delay)
    scored = rows[delay + FIRST :]
    scores = Scores(task, scored)
    scores.update(scored, itertools.islice(answers, delay + FIRST, None))
    return scores.get()


def means_of(runs: list[dict[str, float]], task: Task) -> list[str]:
    """Return the mean scores of several runs."""
    return [f"{statistics.fmean(run[name] for run in runs):.4f}" for name in SCORES[task]]


def gap_of(scores: dict[str, list[float]], forests: list[str]) -> tuple[float, float]:
    """Return how far the first forest is behind the best one, and the standard error of that.

    `scores` has one score per seed. For each seed, the best forest is that of all other seeds.
    """
    gaps = []
    n_seeds = len(scores[forests[0]])
    for seed in range(n_seeds):
        others = [other for other in range(n_seeds) if other != seed] or [seed]
        best = max(forests, key=lambda forest: sum(scores[forest][other] for other in others))
        gaps.append(scores[best][seed] - scores[forests[0]][seed])
    error = statistics.stdev(gaps) / n_seeds**0.5 if n_seeds > 1 else 0.0
    return statistics.fmean(gaps), error


def behind(
    found: dict[tuple[str, int], dict[str, list[float]]], forests: list[str]
) -> list[list[str]]:
    """Return where the first forest is behind the best one: per delay, the streams and by how much.

    `found` has the scores of all forests on a stream at a delay, one per seed.
    """
    gaps = collections.defaultdict(list)
    for (stream, delay), scores in found.items():
        gap, error = gap_of(scores, forests)
        if gap > NEAR:
            gaps[delay].append((gap, error, stream))
    return [
        [
            f"{delay}",
            ", ".join(
                f"{stream} {gap:.4f}" + (f" (± {error:.4f})" if error else "")
                for gap, error, stream in sorted(each, reverse=True)
            ),
        ]
        for delay, each in sorted(gaps.items())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", choices=streams.SEEN, default="classification")
    parser.add_argument("--streams", nargs="+", help="by default all on which defaults were chosen")
    parser.add_argument("--learners", nargs="+", help="by default those of the tables above")
    parser.add_argument("--limit", type=int, default=5_000, help="samples per stream")
    parser.add_argument("--delays", nargs="+", type=int, default=[0, 24, 100, 200, 1000])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    options = parser.parse_args()
    task: Task = options.task
    lines = []
    found: dict[tuple[str, int], list[dict[str, float]]] = collections.defaultdict(list)
    compared: dict[tuple[str, int], dict[str, list[float]]] = collections.defaultdict(dict)
    wanted = options.streams or streams.SEEN[task]
    names = options.learners or LEARNERS[task]
    for stream, rows in streams.loaded(
        wanted, lambda name: streams.load(name, task, options.limit)
    ):
        for delay in options.delays:
            if len(rows) <= delay + 200:
                continue
            for learner in names:
                models = [learners.make_learner(learner, task, seed=seed) for seed in options.seeds]
                runs = [scores_of(model, rows, task, delay) for model in models]
                found[learner, delay] += runs
                compared[stream, delay][learner] = [run[SCORES[task][0]] for run in runs]
                lines.append([stream, f"{delay}", learner, *means_of(runs, task)])
    for (learner, delay), runs in found.items():
        lines.append([f"mean of {len(runs)}", f"{delay}", learner, *means_of(runs, task)])
    tables.show(["stream", "delay", "learner", *SCORES[task]], lines)
    if not options.learners:
        tables.show(["delay", "behind the best"], behind(compared, LEARNERS[task][:3]))


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
