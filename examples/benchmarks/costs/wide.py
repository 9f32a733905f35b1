"""Time per sample before, during and after one sample with thousands of new names.

A line of the table: CPU time of predicting and learning a sample with ten features before the wide
sample, of learning that sample, and per sample in blocks of the samples that follow. A second model
learns the same samples, but of the wide one only the ten features. The columns "without / with"
compare both: the longest `learn_one` after it, and the accuracy or mean absolute error.

    python -m examples.benchmarks.costs wide                      all learners
    python -m examples.benchmarks.costs wide ExtraTreesClassifier
    python -m examples.benchmarks.costs wide --kind words --samples 3000 ExtraTreesClassifier

With `--texts`, the values of the wide sample are nominal. With `--kind`, the stream has no wide
sample, but many columns, few of which have a value: one column of 500 per value of a category
(`one-hot`; `dense`: the others are 0), 30 of 5,000 words (`words`), five ever-new names (`new`). A
line shows the time per sample in thirds of the stream.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import river_extra_trees as ret
from examples.benchmarks.common import tables
from examples.benchmarks.common.streams import Rows

BEFORE = 2_000
VALUES = 500
VOCABULARY = 5_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("learner", nargs="*", help="by default all")
    parser.add_argument("--names", type=int, default=16_000, help="new names in the wide sample")
    parser.add_argument("--texts", action="store_true", help="that have nominal values")
    parser.add_argument("--block", type=int, default=350, help="samples of a block")
    parser.add_argument("--blocks", type=int, default=6, help="blocks after the wide sample")
    parser.add_argument("--kind", choices=[*KINDS], help="of a stream with many columns")
    parser.add_argument("--samples", type=int, default=3_000, help="of such a stream")


def samples(n: int, *, is_regression: bool) -> Rows:
    """Return samples of ten features, half of which matter."""
    rng, rows = random.Random(1), []
    for _ in range(n):
        x = {f"n{j}": rng.random() for j in range(10)}
        y = sum(x[f"n{j}"] for j in range(1, 10, 2)) / 10 + rng.gauss(0.0, 0.05)
        rows.append((x, y if is_regression else y > 0.25))
    return rows


def one_hot(rng: random.Random, i: int) -> dict[str, float]:
    """Return a value of a category, as a column of its own."""
    return {f"k{rng.randrange(VALUES)}": 1.0}


def dense(rng: random.Random, i: int) -> dict[str, float]:
    """Return the same; all other columns are 0."""
    return dict.fromkeys([f"k{j}" for j in range(VALUES)], 0.0) | one_hot(rng, i)


def words(rng: random.Random, i: int) -> dict[str, float]:
    """Return some words."""
    return {f"w{rng.randrange(VOCABULARY)}": 1.0 for _ in range(30)}


def new_names(rng: random.Random, i: int) -> dict[str, float]:
    """Return five names that never came before."""
    return {f"n{5 * i + j}": rng.random() for j in range(5)} | {"z": rng.random()}


def one_text(rng: random.Random, i: int) -> dict[str, str]:
    """Return a name with a nominal value; there are many names."""
    return {f"k{rng.randrange(VALUES)}": rng.choice("abc")}


KINDS: dict[str, Callable[[random.Random, int], dict[str, Any]]] = {
    "one-hot": one_hot,
    "dense": dense,
    "words": words,
    "new": new_names,
    "nominal": one_text,
}


def many_columns(kind: str, n: int, *, is_regression: bool) -> Rows:
    """Return samples of a kind. The sum of their names' random effects is, or decides, the target.

    A nominal value changes the sign of the effect of its name, or leaves it, or there is none.
    """
    rng, rows = random.Random(1), []
    for i in range(n):
        x, y = KINDS[kind](rng, i), 0.0
        for name, value in x.items():
            factor = {"a": 1.0, "b": -1.0, "c": 0.0}.get(value, value)
            y += random.Random(name).gauss(0.0, 1.0) * factor if value else 0.0
        rows.append((x, y if is_regression else y > 0.0))
    return rows


def microseconds(model: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predict and learn rows; return both times of each, and the absolute errors."""
    predicting, learning, wrong = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
    clock = time.thread_time_ns
    for i, (x, y) in enumerate(rows):
        start = clock()
        found = model.predict_one(x)
        middle = clock()
        model.learn_one(x, y)
        predicting[i], learning[i] = (middle - start) / 1e3, (clock() - middle) / 1e3
        wrong[i] = float(found != y) if isinstance(y, bool) else abs(found - y)
    return predicting, learning, wrong


def line_of(name: str, options: argparse.Namespace) -> list[str]:
    """Return a line of the table with a wide sample."""
    is_regression = name.endswith("Regressor")
    n = 1_000 + BEFORE + options.block * options.blocks
    rows = samples(n, is_regression=is_regression)
    x, y = rows[0]
    names = {f"w{j}": f"v{j % 7}" if options.texts else 1.0 for j in range(options.names)}
    blocks, longest, errors = [], [], []
    for extra in ({}, names):
        model = getattr(ret, name)(seed=1)
        microseconds(model, rows[:1_000])
        before = np.add(*microseconds(model, rows[1_000 : 1_000 + BEFORE])[:2]).mean()
        wide = microseconds(model, [(x | extra, y)])[1][0]
        predicting, learning, wrong = microseconds(model, rows[1_000 + BEFORE :])
        blocks.append((predicting + learning).reshape(options.blocks, -1).mean(axis=1))
        longest.append(learning.max())
        errors.append(wrong.mean() if is_regression else 1.0 - wrong.mean())
    return [
        name,
        *(f"{each:,.0f}" for each in (before, wide, *blocks[1])),
        f"{(blocks[1] / blocks[0]).max():.1f}",
        f"{np.median(learning):,.1f}",
        *(f"{each / 1e3:,.2f}" for each in longest),
        *(f"{each:.4f}" for each in errors),
    ]


def line_of_kind(name: str, options: argparse.Namespace) -> list[str]:
    """Return a line of the table of a stream with many columns."""
    model = getattr(ret, name)(seed=1)
    is_regression = name.endswith("Regressor")
    rows = many_columns(options.kind, options.samples, is_regression=is_regression)
    predicting, learning, wrong = microseconds(model, rows)
    cells = []
    for part in range(3):
        own = slice(part * len(rows) // 3, (part + 1) * len(rows) // 3)
        error = wrong[own].mean() if is_regression else 1.0 - wrong[own].mean()
        times = [predicting[own].mean(), learning[own].mean()]
        cells += [*(f"{each:,.0f}" for each in times), f"{error:.3f}"]
    longest = learning[len(rows) // 3 :].max() / np.median(learning[len(rows) // 3 :])
    return [name, *cells, f"{longest:,.0f}"]


def run(options: argparse.Namespace) -> None:
    """Print a line for each learner."""
    names = options.learner or [
        name for name in ret.__all__ if hasattr(getattr(ret, name), "snapshot")
    ]
    if options.kind:
        heads = [f"{options.kind}, µs per sample"]
        for part in ("first", "second", "last"):
            heads += [f"predict, {part} third", "learn", "accuracy or error"]
        tables.show([*heads, "longest / median"], [line_of_kind(n, options) for n in names])
        return
    heads = ["µs per sample", "before", "wide sample"]
    heads += [f"block {i + 1}" for i in range(options.blocks)]
    heads += ["slowest, with / without", "median learn_one", "longest without, ms", "with"]
    heads += ["accuracy or error without", "with"]
    tables.show(heads, [line_of(name, options) for name in names])
