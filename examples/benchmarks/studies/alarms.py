"""Alarms of `Watch` and of river's drift detectors: false ones, delays, missed changes.

The streams are rows of real tables, drawn at random with replacement, so that nothing changes. A
change is planted after half of the samples:

- labels: two classes change places; in a regression, all targets change their sign;
- column: the most important column is missing from then on;
- unit: the most important numeric column is multiplied by 1,000.

Drift streams are those of river's generators, with another concept in the second half.

The learner is the default forest. The detectors of river have their default parameters, and get its
errors.

    python -m examples.benchmarks.studies.alarms false --samples 100000
    python -m examples.benchmarks.studies.alarms changes --samples 20000
    python -m examples.benchmarks.studies.alarms drifts --samples 20000
    python -m examples.benchmarks.studies.alarms ordered --samples 20000 --streams covtype
    python -m examples.benchmarks.studies.alarms cost --samples 4096
"""

from __future__ import annotations

import argparse
import collections
import itertools
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from river import drift
from river.datasets import synth
from river.drift import binary

import river_extra_trees as ret
from examples.benchmarks.common import streams, tables

CLASSES = ["elec", "covtype", "phishing", "magic", "letter", "adult", "bank_marketing"]
NUMBERS = ["bike_sharing_hourly", "cal_housing", "abalone", "cpu_act", "wind"]
TASKS: dict[str, streams.streams.Task] = {
    **dict.fromkeys(CLASSES, "classification"),
    **dict.fromkeys(NUMBERS, "regression"),
}
MOST_ROWS = 20_000  # of a table
DETECTORS: dict[str, Callable[[], Any]] = {
    "ADWIN": drift.ADWIN,
    "KSWIN": lambda: drift.KSWIN(seed=1),
    "PageHinkley": drift.PageHinkley,
    "DDM": binary.DDM,  # of errors that are 0 or 1
}
PART = 32  # samples
RUNS = 8
MOST_DELAY = 3_000  # samples until an alarm for a change
CHANGES = ("labels", "column", "unit")
# Per drift stream: a generator by concept, and the concepts of the two halves.
DRIFTS: dict[str, tuple[Callable[[int], Any], int, int]] = {
    "Agrawal": (lambda k: synth.Agrawal(classification_function=k, seed=1), 0, 2),
    "SEA": (lambda k: synth.SEA(variant=k, noise=0.1, seed=1), 0, 3),
    "Sine": (lambda k: synth.Sine(classification_function=k, has_noise=True, seed=1), 0, 1),
    "STAGGER": (lambda k: synth.STAGGER(classification_function=k, seed=1), 0, 1),
    "RandomTree": (lambda k: synth.RandomTree(seed_tree=k, seed_sample=1), 1, 2),
    "RandomRBF": (lambda k: synth.RandomRBF(seed_model=k, seed_sample=1), 1, 2),
}
Rows = Iterator[tuple[dict[str, Any], Any]]


def drawn(name: str, n: int, seed: int) -> Rows:
    """Draw n rows of a table."""
    rows = streams.load(name, TASKS[name], MOST_ROWS)
    rng = random.Random(seed)
    for x, y in rng.choices(rows, k=n):
        yield dict(x), y


def important(name: str, numeric: bool) -> str:
    """Return the column that the trees use most, of all or of the numeric ones."""
    model = learner(name)
    for x, y in drawn(name, 3_000, 0):
        model.learn_one(x, y)
    shares = model.feature_importances_
    one = next(drawn(name, 1, 0))[0]
    names = [each for each in shares if not numeric or isinstance(one.get(each), float | int)]
    return str(max(names, key=shares.__getitem__))


def changed(name: str, n: int, change: str, seed: int) -> Rows:
    """Draw n rows; the second half of them is changed."""
    first, second = [
        y for y, _ in collections.Counter(y for _, y in drawn(name, 1_000, 1)).most_common(2)
    ]
    column = important(name, change == "unit") if change != "labels" else ""
    swap = {first: second, second: first}
    for i, (x, y) in enumerate(drawn(name, n, seed)):
        if i >= n // 2:
            if change == "labels":
                y = -y if TASKS[name] == "regression" else swap.get(y, y)
            elif change == "column":
                x.pop(column, None)
            elif column in x:
                x[column] *= 1_000
        yield x, y


def learner(name: str) -> Any:
    """Return the default forest for a stream, or for a task."""
    kinds = {"classification": ret.ExtraTreesClassifier, "regression": ret.ExtraTreesRegressor}
    return kinds[TASKS.get(name, name)](seed=1)


def alarms(name: str, rows: Rows) -> dict[str, list[int]]:
    """Return the numbers of the samples at which each detector raises an alarm."""
    watch = ret.Watch(learner(name), seed=1)
    detectors = {each: make() for each, make in DETECTORS.items()}
    is_class = TASKS.get(name, name) == "classification"
    if not is_class:
        del detectors["DDM"]
    found: dict[str, list[int]] = {each: [] for each in detectors}
    for i, (x, y) in enumerate(rows):
        answer = watch.predict_one(x)
        watch.learn_one(x, y)
        if answer is None:
            continue
        error = float(answer != y) if is_class else abs(answer - y)
        for each, detector in detectors.items():
            detector.update(bool(error) if each == "DDM" else error)
            if detector.drift_detected:
                found[each].append(i)
    found["Watch"] = [alarm.n_samples - 1 for alarm in watch.alarms]
    return found


def false(options: argparse.Namespace) -> None:
    """Count the alarms on streams that do not change."""
    names = [*DETECTORS, "Watch"]
    counts: dict[str, list[int]] = {each: [] for each in names}
    lines = []
    for name in options.streams:
        found = alarms(name, drawn(name, options.samples, options.seed))
        lines.append([name, *(str(len(found[each])) if each in found else "-" for each in names)])
        for each, one in found.items():
            counts[each].append(len(one))
    per = (100_000 * statistics.fmean(counts[each]) / options.samples for each in names)
    lines.append(["per 100,000 samples", *(f"{each:.1f}" for each in per)])
    tables.show([f"alarms in {options.samples:,} samples", *names], lines)


def changes(options: argparse.Namespace) -> None:
    """Measure how soon planted changes are noticed, and the other alarms."""
    show_scores(
        {
            change: [
                alarms(name, changed(name, options.samples, change, options.seed))
                for name in options.streams
            ]
            for change in CHANGES
        },
        options.samples,
    )


def drifts(options: argparse.Namespace) -> None:
    """Measure how soon drifts of generated streams are noticed, and the other alarms."""
    half = options.samples // 2
    found = []
    for generator, *concepts in DRIFTS.values():
        rows = itertools.chain.from_iterable(generator(k).take(half) for k in concepts)
        found.append(alarms("classification", rows))
    show_scores({"drift": found}, options.samples)


def show_scores(found: dict[str, list[dict[str, list[int]]]], n: int) -> None:
    """Show the scores of each detector for streams that change after half of the samples.

    A change is found by an alarm within `MOST_DELAY` samples; all alarms before it and after that
    are false.
    """
    lines = []
    for change, streams_of in found.items():
        for each in [*DETECTORS, "Watch"]:
            lists = [one[each] for one in streams_of if each in one]
            lines.append([change, each, *scores(lists, n // 2, n)])
    head = ["change", "detector", "recall", "precision", "mean delay", "false per 100,000"]
    tables.show(head, lines)


def scores(found: list[list[int]], at: int, n: int) -> list[str]:
    """Return recall, precision, mean delay and false alarms per 100,000 samples, as texts."""
    first = [next((i - at + 1 for i in one if at <= i < at + MOST_DELAY), None) for one in found]
    delays = [delay for delay in first if delay is not None]
    n_false = sum(not at <= i < at + MOST_DELAY for one in found for i in one)
    precision = len(delays) / (len(delays) + n_false) if delays or n_false else 0.0
    return [
        f"{len(delays)} of {len(found)}",
        f"{precision:.2f}",
        f"{statistics.fmean(delays):.0f}" if delays else "-",
        f"{100_000 * n_false / (n * len(found)):.0f}",
    ]


def ordered(options: argparse.Namespace) -> None:
    """Show the alarms of `Watch` on tables in their own order."""
    lines = []
    for name in options.streams:
        watch = ret.Watch(learner(name), seed=1)
        for x, y in streams.load(name, TASKS[name], options.samples):
            watch.predict_one(x)
            watch.learn_one(x, y)
        lines += [[name, alarm.kind, str(alarm)] for alarm in watch.alarms]
    tables.show(["stream", "kind", "alarm"], lines)


def cost(options: argparse.Namespace) -> None:
    """Measure the CPU time of watching beside that of the forest.

    Both do the same in each run, so that the least time of a part in several runs is that without
    what other processes do to the caches. They change places after each part, because the first one
    gets the rows from memory.
    """
    lines = []
    for name in options.streams:
        rows = list(drawn(name, options.samples, options.seed))
        least = np.full((2, -(-len(rows) // PART)), np.inf)
        for run in range(RUNS):
            models = [learner(name), ret.Watch(learner(name), seed=1)]
            for i, start in enumerate(range(0, len(rows), PART)):
                for j in ((run + i) % 2, (run + i + 1) % 2):
                    model, times = models[j], least[j]
                    begun = time.process_time()
                    for x, y in rows[start : start + PART]:
                        model.predict_one(x)
                        model.learn_one(x, y)
                    times[i] = min(times[i], time.process_time() - begun)
        alone, watched = 1e6 * least.sum(axis=1) / len(rows)
        more = watched - alone
        lines.append([name, f"{alone:.1f}", f"{more:.2f}", f"{more / alone:.1%}"])
    tables.show(["stream", "forest, us", "watching, us", "share"], lines)


QUESTIONS = {
    "false": false,
    "changes": changes,
    "drifts": drifts,
    "ordered": ordered,
    "cost": cost,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("question", choices=list(QUESTIONS))
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--streams", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    QUESTIONS[options.question](options)


if __name__ == "__main__":
    main()
