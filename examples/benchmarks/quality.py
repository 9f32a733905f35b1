"""How well learners do out of the box on all streams, and where they stand among their peers.

Every learner predicts, is scored and learns item by item, with its default parameters, on the raw
features, for the first 20,000 items of a stream or as many as the CPU time allows. What was
measured is kept in a small CSV file, so that a table can be shown again without running anything:

    python examples/benchmarks/quality.py --task classification         (show the table)
    python examples/benchmarks/quality.py --task regression ours        (run our learners, show)
    python examples/benchmarks/quality.py --task regression peers       (run river's, show)
    python examples/benchmarks/quality.py StreamDecisionTreeClassifier --streams elec letter

Accuracy for classification, R2 for regression, where 0 is what the mean of the stream would reach.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import prequential
import streams
from river import base, compose, dummy, ensemble, forest, preprocessing, stats, tree

import river_extra_trees
from river_extra_trees.cli import UserError, learners

FIELDS = ["task", "stream", "learner", "items", "of", "score", "seconds", "memory", "error"]
Result = dict[str, str]


def one_hot(model: base.Estimator) -> base.Estimator:
    """Give a learner that knows only numbers a column per name."""
    return (compose.SelectType(str) | preprocessing.OneHotEncoder()) + compose.SelectType(
        (bool, int, float)
    ) | model


PEERS: dict[str, dict[str, Callable[[], Any]]] = {
    "classification": {
        "no change": dummy.NoChangeClassifier,
        "HoeffdingTree": tree.HoeffdingTreeClassifier,
        "HoeffdingAdaptiveTree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=1),
        "AdaptiveRandomForest": lambda: forest.ARFClassifier(seed=1),
        "AggregatedMondrianForest": lambda: one_hot(forest.AMFClassifier(seed=1)),
        "StreamingRandomPatches": lambda: ensemble.SRPClassifier(seed=1),
        "LeveragingBagging": lambda: ensemble.LeveragingBaggingClassifier(
            tree.HoeffdingTreeClassifier(), seed=1
        ),
    },
    "regression": {
        "running mean": lambda: dummy.StatisticRegressor(stats.Mean()),
        "HoeffdingTree": tree.HoeffdingTreeRegressor,
        "HoeffdingAdaptiveTree": lambda: tree.HoeffdingAdaptiveTreeRegressor(seed=1),
        "AdaptiveRandomForest": lambda: forest.ARFRegressor(seed=1),
        "AggregatedMondrianForest": lambda: one_hot(forest.AMFRegressor(seed=1)),
    },
}


def named(names: list[str], task: Any) -> dict[str, Callable[[], Any]]:
    """Return the learners that were asked for; "ours" and "peers" stand for all of a kind."""
    found: dict[str, Callable[[], Any]] = {}
    for name in names:
        if name == "peers":
            found.update(PEERS[task])
        elif name in PEERS[task]:
            found[name] = PEERS[task][name]
        elif name == "ours":
            ours = [n for n in learners.usual_learners(task) if hasattr(river_extra_trees, n)]
            found.update(named(ours, task))
        else:
            learners.make_learner(name, task, seed=1)  # complain now rather than in an hour
            found[name] = lambda name=name: learners.make_learner(name, task, seed=1)
    return found


def read(path: Path) -> list[Result]:
    """Return what was measured before."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def keep(path: Path, result: Result) -> None:
    """Put a result in the place of an earlier one of the same learner on the same stream."""
    key = [result[field] for field in FIELDS[:3]]
    others = [old for old in read(path) if [old[field] for field in FIELDS[:3]] != key]
    results = sorted([*others, result], key=lambda r: [r[field] for field in FIELDS[:3]])
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(results)


def measure(options: argparse.Namespace) -> None:
    """Run every learner on every stream, keeping each result at once."""
    chosen = named(options.learners, options.task)
    for stream in options.streams if chosen else []:
        rows = streams.load(stream, options.task, options.limit)
        for name, make in chosen.items():
            run = prequential.run(make(), rows, options.task, options.seconds)
            values = [options.task, stream, name, run.items, len(rows), f"{run.score:.5g}"]
            values += [f"{run.seconds:.3g}", run.memory, run.error]
            keep(options.results, dict(zip(FIELDS, map(str, values), strict=True)))
            print(f"{stream:20} {name:40} {run.score:12.5g} {run.seconds:8.2f} s {run.error}")
            sys.stdout.flush()


def ranks(scores: dict[str, float]) -> dict[str, float]:
    """Return the rank of every learner on a stream, 1 the best; equals share the mean rank."""
    return {
        name: 1
        + sum(other > score for other in scores.values())
        + (sum(other == score for other in scores.values()) - 1) / 2
        for name, score in scores.items()
    }


def show(results: list[Result], names: list[str]) -> None:
    """Print scores per stream, then the standing of every learner."""
    by_key = {(r["stream"], r["learner"]): r for r in results}
    columns = sorted({r["learner"] for r in results})
    # A rank means something only among learners that ran on the same streams: those that most ran
    # on. Who is missing from one of them gets no rank.
    full = [s for s in names if 2 * sum((s, c) in by_key for c in columns) > len(columns)]
    ranked = [c for c in columns if all((s, c) in by_key for s in full)]
    placed: dict[str, list[float]] = {learner: [] for learner in columns}
    print(f"{'':20}" + "".join(f"{f'({i})':>9}" for i in range(1, len(columns) + 1)))
    for stream in names:
        found = [by_key.get((stream, learner)) for learner in columns]
        print(f"{stream:20}" + "".join(f"{cell(result):>9}" for result in found))
        if stream in full:
            scores = {learner: value(by_key[stream, learner]) for learner in ranked}
            for learner, rank in ranks(scores).items():
                placed[learner].append(rank)
    print(f"\nmean rank on {len(full)} streams; CPU time and median memory on all streams run")
    order = sorted(columns, key=lambda learner: statistics.fmean(placed[learner] or [math.inf]))
    for learner in order:
        own = [r for r in results if r["learner"] == learner]
        rank = f"{statistics.fmean(placed[learner]):5.2f}" if placed[learner] else "    -"
        seconds = sum(float(r["seconds"]) for r in own)
        memory = statistics.median(int(r["memory"]) for r in own) / 1e6
        number = f"({columns.index(learner) + 1})"
        print(f"{number:>5} {learner:40} {rank} {seconds:9.1f} s {memory:9.2f} MB")
    print("\n* stopped by the limit of CPU time; an error ranks last")


def value(result: Result) -> float:
    """Return the score to rank by."""
    score = float(result["score"])
    return -math.inf if result["error"] or math.isnan(score) else score


def cell(result: Result | None) -> str:
    """Return a score as the table shows it."""
    if result is None:
        return "-"
    if result["error"]:
        return "error"
    score = float(result["score"])
    shown = f"{score:.4f}" if score > -10 else f"{score:.0e}"
    return shown + ("*" if int(result["items"]) < int(result["of"]) else " ")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("learners", nargs="*", help="ours, peers, or learners by name")
    parser.add_argument("--task", choices=streams.NAMES, default="classification")
    parser.add_argument("--streams", nargs="+", help="by default all of the task")
    parser.add_argument("--limit", type=int, default=20_000, help="items per stream")
    parser.add_argument("--seconds", type=float, default=45.0, help="CPU time per run")
    parser.add_argument(
        "--results", type=Path, default=Path(__file__).parent / "results" / "quality.csv"
    )
    options = parser.parse_args()
    options.streams = options.streams or streams.NAMES[options.task]
    measure(options)
    results = [
        r
        for r in read(options.results)
        if r["task"] == options.task and r["stream"] in options.streams
    ]
    if not results:
        parser.error("nothing has been measured yet; name learners to run")
    show(results, options.streams)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
