"""Nominal columns with many values: a single tree, a forest of such trees, and the default forest.

The columns show kappa or R2, and microseconds per sample.

    python -m examples.benchmarks.studies.many_values
    python -m examples.benchmarks.studies.many_values --rows 5000 --cases noise
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import river_extra_trees
from examples.benchmarks.common import prequential, streams, tables
from examples.benchmarks.common.streams import Rows
from river_extra_trees.cli.streams import Task

LEARNERS = ("StreamDecisionTree", "StreamDecisionForest", "ExtraTrees")


def noise(n: int, n_values: int, task: Task) -> Rows:
    """Return 8 columns that say nothing about the target."""
    rng = np.random.default_rng(1)
    values, targets = rng.integers(0, n_values, (n, 8)), rng.random(n)
    return [
        ({str(i): f"value {v}" for i, v in enumerate(row)}, target_of(y - 0.5, task))
        for row, y in zip(values.tolist(), targets.tolist(), strict=True)
    ]


def users_and_items(n: int, n_values: int, task: Task) -> Rows:
    """Return users and items, some more frequent; the target is a sum of effects and noise."""
    rng = np.random.default_rng(2)
    effects = rng.normal(size=(2, n_values))
    places = (n_values * rng.random((n, 2)) ** 2).astype(int)
    targets = effects[0][places[:, 0]] + effects[1][places[:, 1]] + rng.normal(0, 0.5, n)
    return [
        ({"user": f"user {user}", "item": f"item {item}"}, target_of(y, task))
        for (user, item), y in zip(places.tolist(), targets.tolist(), strict=True)
    ]


def value_and_numbers(n: int, n_values: int, task: Task) -> Rows:
    """Return a value with an effect, a number with another, and noise of both kinds."""
    rng = np.random.default_rng(3)
    effects, numbers = rng.random(n_values) - 0.5, rng.random((n, 2)) - 0.5
    places = rng.integers(0, n_values, (n, 2))
    targets = effects[places[:, 0]] + numbers[:, 0] + rng.normal(0, 0.1, n)
    return [
        ({"value": f"v{v}", "noise": f"w{w}", "a": a, "b": b}, target_of(y, task))
        for (v, w), (a, b), y in zip(
            places.tolist(), numbers.tolist(), targets.tolist(), strict=True
        )
    ]


def target_of(score: float, task: Task) -> float | bool:
    return score if task == "regression" else score > 0


def elec_in_parts(n: int, n_values: int, task: Task) -> Rows:
    """Return elec, with the three columns with the most values cut into quantiles."""
    rows = streams.load("elec", task, n)
    columns = {
        key: np.array([x.get(key, np.nan) for x, _ in rows], dtype=float)
        for key, value in rows[0][0].items()
        if isinstance(value, float)
    }
    for key in sorted(columns, key=lambda key: -len(np.unique(columns[key])))[:3]:
        cuts = np.nanquantile(columns[key], np.linspace(0, 1, n_values + 1)[1:-1])
        for (x, _), part in zip(rows, np.searchsorted(cuts, columns[key]).tolist(), strict=True):
            x[key] = f"part {part}"
    return rows


CASES: list[tuple[str, Callable[[int, int, Task], Rows], int, Task]] = [
    ("noise", noise, 1000, "classification"),
    ("users and items", users_and_items, 50, "classification"),
    ("users and items", users_and_items, 1000, "classification"),
    ("users and items", users_and_items, 1000, "regression"),
    ("value and numbers", value_and_numbers, 1000, "classification"),
    ("value and numbers", value_and_numbers, 1000, "regression"),
    ("elec in parts", elec_in_parts, 500, "classification"),
]


def told(name: str, rows: Rows, task: Task) -> str:
    """Return kappa or R2, and the microseconds per sample."""
    kind = "Classifier" if task == "classification" else "Regressor"
    run = prequential.run(getattr(river_extra_trees, name + kind)(seed=1), rows, task)
    score = run.scores["kappa" if task == "classification" else "R2"]
    return f"{score:.3f} ({run.seconds / len(rows) * 1e6:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--cases", nargs="*", help="names of cases; all by default")
    options = parser.parse_args()
    lines = []
    for name, make, n_values, task in CASES:
        if options.cases and name not in options.cases:
            continue
        rows = make(options.rows, n_values, task)
        lines.append([
            f"{name}, {n_values:,} values", "kappa" if task == "classification" else "R2",
            *(told(learner, rows, task) for learner in LEARNERS),
        ])  # fmt: skip
    tables.show(["stream", "score", *LEARNERS], lines)


if __name__ == "__main__":
    main()
