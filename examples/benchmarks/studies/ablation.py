"""What each parameter of the extra trees brings, on the streams on which it was chosen.

    python -m examples.benchmarks.studies.ablation                      the classifier
    python -m examples.benchmarks.studies.ablation --task regression

Every variant differs from the default in its parameters. The table counts the streams on which it
is better and worse than the default, in accuracy or R2, with Wilcoxon's p.
"""

from __future__ import annotations

import argparse
import statistics
import sys

from examples.benchmarks.common import prequential, streams, tables
from examples.benchmarks.peers import ranking
from river_extra_trees.cli import UserError, learners
from river_extra_trees.cli.streams import Task

VARIANTS: dict[Task, dict[str, str]] = {
    "classification": {
        "default": "",
        "one window of 2,000": "window_sizes=(2000,)",
        "twenty trees": "n_models=20",
        "no splits between regrowths": "batch_size=10000",
        "few features per split": "max_features='sqrt'",
        "all features": "max_features=1.0",
        "six windows": "window_sizes=(15,60,250,1000,4000,16000),n_models=120",
        "half as many trees again": "n_models=150",
    },
    "regression": {
        "default": "",
        "one window of 2,000": "window_sizes=(2000,)",
        "without the window of 16,000": "window_sizes=(15,60,250,1000,4000)",
        "thirty trees": "n_models=30",
        "seven tenths of the features": "max_features=0.7",
        "five windows": "window_sizes=(15,60,250,1000,16000),n_models=75",
        "a quarter more trees": "n_models=90",
    },
}
FORESTS: dict[Task, str] = {
    "classification": "ExtraTreesClassifier",
    "regression": "ExtraTreesRegressor",
}
SCORES: dict[Task, list[str]] = {"classification": ["accuracy", "log loss"], "regression": ["R2"]}


def line_of(
    task: Task, variant: str, runs: list[prequential.Run], default: list[prequential.Run]
) -> list[str]:
    """Return the means over the streams, and the comparison with the default."""
    means = [f"{statistics.fmean(run.scores[name] for run in runs):.4f}" for name in SCORES[task]]
    first = SCORES[task][0]
    pairs = [(a.scores[first], b.scores[first]) for a, b in zip(runs, default, strict=True)]
    better, worse = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    beside = [f"{better} - {worse}", f"{ranking.wilcoxon(pairs):.2g}"]
    spent = sum(run.seconds for run in runs) / sum(run.samples for run in runs)
    same = ["-", "-"]
    return [
        *(variant, VARIANTS[task][variant], *means),
        *(beside if better + worse else same),
        f"{1e6 * spent:.0f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", choices=streams.SEEN, default="classification")
    parser.add_argument("--streams", nargs="+", help="by default all on which defaults were chosen")
    parser.add_argument("--limit", type=int, default=5_000, help="samples per stream")
    options = parser.parse_args()
    task: Task = options.task
    runs: dict[str, list[prequential.Run]] = {variant: [] for variant in VARIANTS[task]}
    names = options.streams or streams.SEEN[task]
    for _, rows in streams.loaded(names, lambda name: streams.load(name, task, options.limit)):
        for variant, parameters in VARIANTS[task].items():
            model = learners.make_learner(f"{FORESTS[task]}:{parameters}", task, seed=1)
            runs[variant].append(prequential.run(model, rows, task))
    heads = ["variant", "parameters", *(f"mean {name}" for name in SCORES[task])]
    lines = [line_of(task, variant, own, runs["default"]) for variant, own in runs.items()]
    tables.show([*heads, "better - worse", "p", "µs per sample"], lines)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
