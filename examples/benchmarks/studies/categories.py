"""Columns of many values, values and labels that come and go, and columns that say nothing.

But for `seen` and `regressions`, the streams are made: values have a label each, and 5 % of the
labels are wrong, so that nothing can be right more often than .95. The columns show accuracy, of
`useless` also the mean absolute error, of `later` this alone, of `seen` the log loss. The last
three tables show megabytes of a model and of the process, where each sample has a new value or
name, or where a label comes after every 20 samples.

    python -m examples.benchmarks.studies.categories values
    python -m examples.benchmarks.studies.categories history
    python -m examples.benchmarks.studies.categories batches
    python -m examples.benchmarks.studies.categories passing
    python -m examples.benchmarks.studies.categories growths
    python -m examples.benchmarks.studies.categories labels
    python -m examples.benchmarks.studies.categories own_labels
    python -m examples.benchmarks.studies.categories useless --samples 5000
    python -m examples.benchmarks.studies.categories columns --samples 3000
    python -m examples.benchmarks.studies.categories seen --samples 6000
    python -m examples.benchmarks.studies.categories regressions
    python -m examples.benchmarks.studies.categories later
    python -m examples.benchmarks.studies.categories lives
    python -m examples.benchmarks.studies.categories new_values --samples 40000
    python -m examples.benchmarks.studies.categories new_names --samples 40000
    python -m examples.benchmarks.studies.categories new_labels --samples 24000
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import psutil
from river import tree

import river_extra_trees as ret
from examples.benchmarks.common import streams, tables

Samples = Iterable[tuple[dict[str, Any], Any]]
FOREST = "StreamDecisionForestClassifier"
# Learners that remember what values said, and numbers of values.
REMEMBERING = [
    (300, "ForgetfulDecisionTreeClassifier"),
    (300, "ForgetfulRandomForestClassifier"),
    (300, "ShrubEnsembleClassifier"),
    (300, "DynamicTreeClassifier"),
    (300, FOREST),
    (900, FOREST),
    (900, "StreamDecisionTreeClassifier"),
    (3000, "StreamDecisionTreeClassifier"),
]
# Learners with parameters that give them several samples per value at a time.
LARGER: list[tuple[int, str, dict[str, int]]] = [
    (300, "ForgetfulDecisionTreeClassifier", {"batch_size": 1000}),
    (300, "ForgetfulRandomForestClassifier", {"batch_size": 1000}),
    (300, "ShrubEnsembleClassifier", {"window_size": 2000}),
    (300, FOREST, {}),
    (900, "StreamDecisionTreeClassifier", {"batch_size": 3000, "min_samples_split": 30}),
    (900, FOREST, {"batch_size": 3000}),
    (3000, "StreamDecisionTreeClassifier", {"batch_size": 10_000, "min_samples_split": 30}),
]
FAMILIES = [
    "ExtraTreesClassifier",
    "StreamDecisionTreeClassifier",
    FOREST,
    "ForgetfulDecisionTreeClassifier",
    "ForgetfulRandomForestClassifier",
    "ShrubEnsembleClassifier",
    "DynamicTreeClassifier",
]
RIVER = "river HoeffdingTreeClassifier"
# Real streams with nominal columns; dna, splice and cnae9 have columns of 0 and 1, or words.
SEEN = [
    *("adult", "bank_marketing", "kdd99_10pct", "mushroom", "soybean", "splice", "car", "credit_g"),
    *("churn3333", "dna", "cnae9"),
]

# What a number adds to the target from the middle of a stream on, by itself and another one.
TOLD_LATER: dict[str, Callable[[float, float], float]] = {
    "2 sin(2 d)": lambda d, _: 2.0 * math.sin(2.0 * d),
    "1.5 d e": lambda d, e: 1.5 * d * e,
    "0.5 d": lambda d, _: 0.5 * d,
}


def learner(name: str, **parameters: Any) -> Any:
    """Make a learner of this package, or the tree of river."""
    if name == RIVER:
        return tree.HoeffdingTreeClassifier()
    return getattr(ret, name)(seed=1, **parameters)


def hits(model: Any, samples: Samples) -> list[bool]:
    """Return which labels a model predicts before it learns them."""
    found = []
    for x, y in samples:
        found.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    return found


def errors(model: Any, samples: Samples) -> list[float]:
    """Return the absolute errors of a regressor on the samples, each before it learns it."""
    found = []
    for x, y in samples:
        found.append(abs(model.predict_one(x) - y))
        model.learn_one(x, y)
    return found


def share(found: list[bool], last: int) -> str:
    return f"{np.mean(found[-last:]):.3f}"


# --- Streams


def with_labels(n: int, n_values: int, rare: bool) -> Samples:
    """Yield a value and a number that says nothing; of the values, most are rare, or none."""
    rng = np.random.default_rng(0)
    label = rng.random(n_values) < 0.5
    weight = 1 / (np.arange(n_values) + (20.0 if rare else 1e9))
    values = rng.choice(n_values, n, p=weight / weight.sum())
    for value, number, u in zip(values, rng.normal(size=n), rng.random(n), strict=True):
        yield {"value": f"v{value}", "z": float(number)}, bool(label[value] ^ (u < 0.05))


def passing(n: int, kind: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield values that are replaced for ever; without wrong labels.

    - slow, fast: 40 shops, of which 10 are replaced every 150 or 40 samples;
    - columns: three such columns, of which one tells the label;
    - items: users and items; the label is the exclusive or of theirs;
    - names: the names of three of 20 columns tell the label by their number, and are replaced.
    """
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, (3, 10**6))
    n_columns = {"columns": 3, "items": 2}.get(kind, 1)
    n_values, every = (10, 1000) if kind == "items" else (40, 40 if kind == "fast" else 150)
    alive = [list(range(n_values)) for _ in range(n_columns)]
    following = n_values
    for i in range(n):
        if i and i % every == 0:
            for j in rng.choice(n_values, n_values // 4, replace=False):
                for column in alive:
                    column[j] = following
                following += 1
        found = [column[int(rng.integers(n_values))] for column in alive]
        x: dict[str, Any] = {"z": float(rng.normal())}
        if kind == "names":
            x |= {f"name {found[0]}": 1}
        else:
            x |= {f"column {k}": f"value {value}" for k, value in enumerate(found)}
        y = label[0, found[0]]
        yield x, bool(y ^ label[1, found[1]] if kind == "items" else y)


def passing_labels(n: int, every: int) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield ten labels at a time, of which the oldest is replaced after some samples."""
    rng = np.random.default_rng(0)
    for i in range(n):
        k = i // every + int(rng.integers(10))
        yield {"a": (k % 10) + 0.6 * rng.random(), "z": rng.random()}, f"label {k}"


def own_labels(n: int, n_values: int) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield values that have a label each, and a number that says nothing."""
    rng = np.random.default_rng(3)
    for value, number in zip(rng.integers(0, n_values, n), rng.normal(size=n), strict=True):
        yield {"value": f"v{value}", "z": float(number)}, int(value)


def beside_numbers(
    n: int, n_columns: int, n_values: int, is_hard: bool, seed: int = 0
) -> Iterator[tuple[dict[str, Any], float]]:
    """Yield five numbers that tell the target, and columns that do not; 0 values: numbers."""
    numbers = np.random.default_rng(seed).normal(size=(n, 6))
    rng = np.random.default_rng(7 + seed)
    for row in numbers:
        x: dict[str, Any] = dict(zip("abcde", row[:5].tolist(), strict=True))
        for k in range(n_columns):
            x[f"id{k}"] = f"u{rng.integers(n_values)}" if n_values else float(rng.normal())
        a, b, c, d, e, noise = row
        yield (
            x,
            np.sin(2 * a) + b * c + d - e / 2 + 0.4 * noise
            if is_hard
            else a + b * c + (0.3 * noise),
        )


def one_hot(samples: Samples) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield samples with one column per value."""
    for x, y in samples:
        yield {x["value"]: 1, "z": x["z"]}, y


# --- Tables


def of_values(n: int) -> None:
    names = ["ExtraTreesClassifier", RIVER, FOREST]
    tables.show(["values", *names], [
        [f"{n_values:,}", *(
            share(hits(learner(name), with_labels(n, n_values, True)), n // 3) for name in names
        )] for n_values in (900, 3000)
    ])  # fmt: skip


def of_history(n: int) -> None:
    tables.show(["values", "learner", "accuracy"], [
        [f"{n_values:,}", name, share(
            hits(learner(name), with_labels(n, n_values, n_values > 300)), n // 3)]
        for n_values, name in REMEMBERING
    ])  # fmt: skip


def of_batches(n: int) -> None:
    lines = []
    for n_values, name, parameters in LARGER:
        found = [
            share(hits(learner(name, **each), with_labels(n, n_values, n_values > 300)), n // 3)
            for each in ([{}, parameters] if parameters else [{}])
        ]
        text = ", ".join(f"{key}={value}" for key, value in parameters.items())
        lines.append([f"{n_values:,}", name, *found, *([] if parameters else [""]), text])
    tables.show(["values", "learner", "defaults", "larger", "with"], lines)


def of_passing(n: int) -> None:
    kinds = ("slow", "fast", "columns", "items", "names")
    tables.show(["learner", *kinds], [
        [name, *(share(hits(learner(name), passing(n, kind)), n // 8) for kind in kinds)]
        for name in [*FAMILIES, RIVER]
    ])  # fmt: skip


def of_growths(n: int) -> None:
    """Show the accuracy on values that are replaced, by how often trees grow."""
    cases: list[dict[str, int]] = [{}, {"batch_size": 100}, {"batch_size": 50}]
    lines = []
    for name in [*FAMILIES[1:5], FAMILIES[-1]]:  # the last one has no batches
        models = [learner(name, **each) for each in (cases if name in FAMILIES[1:5] else [{}])]
        found = [share(hits(m, passing(n, "slow")), n // 2) for m in models]
        lines.append([name, *found, *["" for _ in cases[len(found) :]]])
    tables.show(["learner", "default", "batch_size=100", "batch_size=50"], lines)


def of_labels(n: int) -> None:
    lines = []
    for name in [*FAMILIES, RIVER]:
        found = hits(learner(name), passing_labels(n, 40))
        lines.append([name, share(found[: n // 2], n // 8), share(found, n // 8)])
    tables.show(["learner", "in the first half", "in the second half"], lines)


def of_own_labels(n: int) -> None:
    numbers = (16, 40, 100)
    tables.show(["learner", *(f"{k} labels" for k in numbers)], [
        [name, *(share(hits(learner(name), own_labels(n, k)), n // 2) for k in numbers)]
        for name in [*FAMILIES, RIVER]
    ])  # fmt: skip


def of_useless(n: int) -> None:
    """Show the means of three streams per function, an easy one and a harder one."""
    lines, cases, last = [], [(k, v) for k in (1, 3) for v in (0, 2, 4, 16, 200, 1000)], 3 * n // 5
    for n_columns, n_values in [(0, 0), *cases]:
        line = [str(n_columns), f"{n_values:,} values" if n_values else "numbers"]
        for is_hard in (False, True):
            found = []
            for seed in range(3):
                samples = list(beside_numbers(n, n_columns, n_values, is_hard, seed))
                right = hits(learner("ExtraTreesClassifier"), ((x, y > 0) for x, y in samples))
                wrong = errors(learner("ExtraTreesRegressor"), samples)
                found.append((np.mean(right[-last:]), np.mean(wrong[-last:])))
            line += [f"{mean:.3f}" for mean in np.mean(found, axis=0)]
        lines.append(line)
    tables.show(["columns", "of", *2 * ["accuracy", "mean absolute error"]], lines)


def of_seen(n: int) -> None:
    """Show the means of four seeds on real streams that have nominal columns, or of 0 and 1."""
    lines = []
    for name, samples in streams.loaded(SEEN, lambda name: streams.load(name, "classification", n)):
        scores = []
        for seed in range(1, 5):
            model, right, loss = ret.ExtraTreesClassifier(seed=seed), 0, 0.0
            for x, y in samples:
                shares = model.predict_proba_one(x)
                if shares:
                    right += max(shares, key=lambda label: shares[label]) == y
                    loss -= math.log(max(shares.get(y, 0.0), 0.01 / len(shares)))
                model.learn_one(x, y)
            scores.append((right / len(samples), loss / len(samples)))
        accuracy, loss = np.mean(scores, axis=0)
        lines.append([name, f"{len(samples):,}", f"{accuracy:.4f}", f"{loss:.4f}"])
    tables.show(["stream", "samples", "accuracy", "log loss"], lines)


def of_regressions(n: int) -> None:
    """Show the means and standard errors of R2 of six seeds on real streams."""
    lines, names = [], streams.SEEN["regression"]
    for name, samples in streams.loaded(names, lambda name: streams.load(name, "regression", n)):
        targets = np.array([y for _, y in samples])
        scores = []
        for seed in range(1, 7):
            wrong = np.array(errors(ret.ExtraTreesRegressor(seed=seed), samples))
            scores.append(1.0 - np.mean(wrong**2) / np.var(targets))
        error = np.std(scores) / math.sqrt(len(scores))
        lines.append([name, f"{len(samples):,}", f"{np.mean(scores):.4f}", f"{error:.4f}"])
    tables.show(["stream", "samples", "R2", "standard error"], lines)


def of_later(n: int) -> None:
    """Show the errors before and after a useless number begins to tell, means of four seeds."""
    after = n // 2
    lines = []
    for name, told in TOLD_LATER.items():
        found = []
        for seed in range(4):
            numbers = np.random.default_rng(seed).normal(size=(n, 9))
            samples = [
                (
                    dict(zip("abcdefgh", row[:8].tolist(), strict=True)),
                    row[0] + row[1] * row[2] + 0.3 * row[8] + (i >= after) * told(row[3], row[4]),
                )
                for i, row in enumerate(numbers)
            ]
            wrong = errors(ret.ExtraTreesRegressor(seed=seed + 1), samples)
            ends = [after // 2, after, 13 * after // 12, 7 * after // 6, 4 * after // 3, n]
            found.append([np.mean(wrong[i:j]) for i, j in pairwise(ends)])
        lines.append([name, *(f"{mean:.3f}" for mean in np.mean(found, axis=0))])
    tables.show(["what it adds", "before", "after: 1st", "2nd", "3rd, 4th twelfth", "rest"], lines)


def late_name(n_names: int, n: int) -> Samples:
    """Yield a name per sample, then always one more, whose number tells the label."""
    rng = np.random.default_rng(0)
    for i, (number, other) in enumerate(rng.random((n_names + n, 2)).tolist()):
        yield {f"name {min(i, n_names)}": number, "z": other}, number > 0.5


def one_of_many(n: int, n_columns: int) -> Samples:
    """Yield numbers of which the first tells the label."""
    names = [f"x{k}" for k in range(n_columns)]
    for row in np.random.default_rng(0).normal(size=(n, n_columns)).tolist():
        yield dict(zip(names, row, strict=True)), row[0] > 0.0


def present_or_absent(n: int) -> Samples:
    for is_there in (np.random.default_rng(0).random(n) < 0.5).tolist():
        yield {"k": 1} if is_there else {}, is_there


def of_lives(n: int) -> None:
    """Show the accuracy of the default at the end of streams that pass all bounds."""
    rows = [
        ("40 values, 10 replaced every 150 samples", passing(n, "slow"), n // 8),
        ("a name after 16,400 others, of its 2,000 samples", late_name(16_400, 2_000), 1_000),
        ("a new label every 40 samples, after the 1,024th", passing_labels(9 * n // 4, 40), n // 8),
        ("present or absent", present_or_absent(2_000), 1_000),
        ("2,000 numbers of which one tells, samples 100 to 300", one_of_many(300, 2_000), 200),
    ]
    tables.show(["stream", "ExtraTreesClassifier"], [
        [name, share(hits(learner("ExtraTreesClassifier"), samples), last)]
        for name, samples, last in rows
    ])  # fmt: skip
    found = hits(learner("DynamicTreeClassifier"), present_or_absent(2_000))
    tables.show(["stream", "DynamicTreeClassifier"], [["present or absent", share(found, 1_000)]])


def of_columns(n: int) -> None:
    lines = []
    for name, change in [("one of texts", iter), ("one per value", one_hot)]:
        samples = list(change(without_noise(n)))
        model, began = learner("ExtraTreesClassifier"), time.process_time()
        found = hits(model, samples)
        spent = 1e6 * (time.process_time() - began) / n
        lines.append([name, share(found, n // 2), f"{spent:.0f}"])
    tables.show(["columns", "accuracy", "microseconds per sample"], lines)


def memory_of(name: str, kind: str, n: int) -> list[str]:
    """Return the memory of a model and of this process after n samples, half, and a quarter."""
    rng, model, found = np.random.default_rng(0), learner(name), []
    warnings.simplefilter("ignore")  # one says that the bounds are reached
    for i in range(1, n + 1):
        number = float(rng.random())
        x: dict[str, Any] = {"number": number}
        if kind != "labels":
            x |= {"value": f"value {i}"} if kind == "values" else {f"name {i}": 1.0}
        y: Any = f"label {i // 20}" if kind == "labels" else number > 0.5
        model.predict_one(x)
        try:
            model.learn_one(x, y if name.endswith("Classifier") else number)
        except ValueError:  # stored samples have as many labels as a model tells apart
            return [*found, *[f"refuses one at {i:,}"] * (3 - len(found))]
        if i in (n // 4, n // 2, n):
            of_process = psutil.Process().memory_info().rss
            found.append(f"{model._raw_memory_usage / 1e6:.1f} ({of_process / 1e6:.0f})")
    return found


def of_memory(kind: str, n: int) -> None:
    """Show the memory of each learner, in a process of its own."""
    regressors = [] if kind == "labels" else [
        name.replace("Classifier", "Regressor") for name in FAMILIES
    ]  # fmt: skip
    lines = []
    for name in [*FAMILIES, *regressors]:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            lines.append([name, *pool.submit(memory_of, name, kind, n).result()])
    tables.show(["learner", *(f"{m:,} samples" for m in (n // 4, n // 2, n))], lines)


def without_noise(n: int) -> Samples:
    """Yield 500 equally frequent values, whose labels are never wrong."""
    rng = np.random.default_rng(1)
    label = rng.random(500) < 0.5
    for value, number in zip(rng.integers(0, 500, n), rng.normal(size=n), strict=True):
        yield {"value": f"v{value}", "z": float(number)}, bool(label[value])


TABLES: dict[str, tuple[Callable[[int], None], int]] = {
    "values": (of_values, 30_000),
    "history": (of_history, 30_000),
    "batches": (of_batches, 30_000),
    "passing": (of_passing, 40_000),
    "growths": (of_growths, 20_000),
    "labels": (of_labels, 60_000),
    "own_labels": (of_own_labels, 4_000),
    "useless": (of_useless, 5_000),
    "columns": (of_columns, 3_000),
    "seen": (of_seen, 6_000),
    "regressions": (of_regressions, 10**6),
    "later": (of_later, 12_000),
    "lives": (of_lives, 20_000),
    "new_values": (partial(of_memory, "values"), 40_000),
    "new_names": (partial(of_memory, "names"), 40_000),
    "new_labels": (partial(of_memory, "labels"), 24_000),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--samples", type=int)
    options = parser.parse_args()
    show, n = TABLES[options.table]
    show(options.samples or n)


if __name__ == "__main__":
    main()
