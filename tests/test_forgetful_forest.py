"""Forgetful decision trees and forests."""

import csv
import gzip
import pickle
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from river_extra_trees import (
    ForgetfulDecisionTreeClassifier,
    ForgetfulDecisionTreeRegressor,
    ForgetfulRandomForestClassifier,
    ForgetfulRandomForestRegressor,
)
from river_extra_trees._core.schema import Labels
from river_extra_trees._core.trees import Trees
from river_extra_trees._estimator import batch_forest
from tests.naive.cart import Rules, Sample
from tests.naive.forgetful import NaiveForest, NaiveTree
from tests.tools.growing import assert_same_tree, growth, learn, prime

FOLDER = Path(__file__).parent / "golden" / "forgetful"
RUNS = sorted(path.name.removesuffix("_trace.csv.gz") for path in FOLDER.glob("*_trace.csv.gz"))


def read_stream(name: str, n: int | None = None) -> list[Sample]:
    with gzip.open(FOLDER / f"{name}.csv.gz", "rt") as file:
        rows = list(csv.reader(file))[1:]
    return [Sample(tuple(map(float, row[:-1])), int(row[-1])) for row in rows[:n]]


def batches(samples: list[Sample], size: int) -> list[list[Sample]]:
    """The full ones."""
    return [samples[end - size : end] for end in range(size, len(samples) + 1, size)]


def answer_and_learn(model: Any, samples: list[Sample]) -> list[Any]:
    answers = []
    for x, y, *_ in samples:
        row = {f"x{i:02}": value for i, value in enumerate(x)}
        answers.append(model.predict_one(row))
        model.learn_one(row, y)
    return answers


def declare_classes(model: Any, n_classes: int) -> None:
    """Tell an empty model its classes, as the published program is told them: ties go by number."""
    forest = model._core
    state = forest.state()
    trees, root = Trees(n_classes), Trees(n_classes)
    for _ in range(len(forest.trees)):
        trees.add_tree()
    root.add_tree()
    labels = Labels.restored(
        {"labels": list(range(n_classes)), "latest": np.zeros(n_classes, np.int64)}
    )
    changed = {"labels": labels, "trees": trees, "root_statistics": root}
    model._core = forest.restored({**state, **changed})


@pytest.mark.parametrize("name", RUNS)
def test_published_repeats_a_recorded_run(name: str) -> None:
    """Every answer after the first batch, and every parameter, is the recorded one.

    Before its first batch is complete the published program answers 0.
    """
    samples = read_stream(name.split("_b")[0])
    with gzip.open(FOLDER / f"{name}_pred.txt.gz", "rt") as file:
        recorded = [int(line) for line in file]
    with gzip.open(FOLDER / f"{name}_trace.csv.gz", "rt") as file:
        trace = list(csv.DictReader(file))
    n = int(trace[0]["n"])
    model = ForgetfulDecisionTreeClassifier(
        batch_size=n,
        criterion="gini" if "gini" in name else "entropy",
        initial_rate=0.8 if "ir08" in name else 0.3,
        published=True,
    )
    declare_classes(model, int(max(sample.y for sample in samples)) + 1)
    assert not any(recorded[:n])
    for i, batch in enumerate(batches(samples, n)):
        answers = answer_and_learn(model, batch)
        assert i == 0 or answers == recorded[i * n : (i + 1) * n]
        parameters, line = model._parameters[0], trace[i]
        assert parameters.retained_size == int(line["retain"])
        assert parameters.rate == float(line["iRate"])
        assert parameters.max_height == int(line["maxHeight"])
        assert parameters.cold_state == int(line["coldState"])
        assert parameters.warm_size == int(line["warmSize"])
        assert model.retained_sizes == [int(line["rootsize"])]


def test_the_published_program_retains_without_a_bound() -> None:
    """It has no `max_retained`, whose default is 10,000 samples."""
    model = ForgetfulDecisionTreeClassifier(500, initial_rate=1.0, published=True)
    rng = random.Random(0)
    for _ in range(11_000):
        x = {"a": rng.random()}
        model.learn_one(x, x["a"] > 0.5)
    assert model.retained_sizes[0] > 10_000


@pytest.mark.parametrize("seed", range(80))
def test_tree_equals_the_naive_tree(seed: int) -> None:
    """After every sample."""
    rng = random.Random(seed)
    samples, rules = growth(rng, 160)
    rules = Rules(rules.criterion, rules.nominal, rules.max_depth or None)
    batch_size, spare = rng.randint(2, 16), rng.choice([5, 100])
    warm_size = batch_size * rng.randint(1, 4)
    options: dict[str, Any] = {
        **{"batch_size": batch_size, "warm_size": warm_size, "max_depth": rules.max_depth},
        "max_retained": batch_size + spare,
    }
    if rules.criterion == "variance":
        model: Any = ForgetfulDecisionTreeRegressor(**options)
    else:
        model = ForgetfulDecisionTreeClassifier(criterion=rules.criterion, **options)
        labels = list(dict.fromkeys(sample.y for sample in samples))
        samples = [sample._replace(y=labels.index(sample.y)) for sample in samples]
    prime(model._core.schema, len(samples[0].x), rules.nominal)
    naive = NaiveTree(rules, batch_size, warm_size=warm_size, most=batch_size + spare)
    for sample in samples:
        learn(model, [sample], rules)
        model._core.check()
        naive.learn(sample)
        assert model.retained_sizes == [naive.n_held]
        known = None if rules.criterion == "variance" else model._core.labels.labels
        assert_same_tree(model._core.trees[0], naive.root, known)


@pytest.mark.parametrize(
    ("name", "n", "batch_size", "bagging", "published", "cells"),
    [
        ("elec", 900, 50, False, False, 5_000),
        ("elec", 400, 50, True, False, 40_000),
        ("elec", 90, 3, False, False, 1),
        ("elec, numbers", 600, 50, False, False, 5_000),
        ("elec, numbers", 400, 50, True, False, 40_000),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (
                ("gradual", 600, 50, True, True, 1),
                ("phishing", 700, 50, True, False, 1),
                ("phishing", 500, 50, False, True, 40_000),
            )
        ),
    ],
)
def test_forest_equals_the_naive_forest(
    name: str,
    n: int,
    batch_size: int,
    bagging: bool,
    published: bool,
    cells: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same features, bags, forgotten copies, discarded trees, splits and answers.

    A file keeps the trees that wait. With this seed, two bags are empty, one of the first batch.
    """
    monkeypatch.setattr(batch_forest, "CELLS_PER_STEP", cells)
    stream, *numbers = name.split(", ")
    samples = read_stream(stream, n)
    options: dict[str, Any] = {
        **{"batch_size": batch_size, "seed": 1747, "bagging": bagging},
        "significance": 0.05 if published else 0.5,
    }
    if numbers:
        model: Any = ForgetfulRandomForestRegressor(n_models=5, **options)
    else:
        model = ForgetfulRandomForestClassifier(n_models=5, published=published, **options)
        declare_classes(model, 2)
    naive = NaiveForest(
        **{"n_trees": 5, "n_classes": None if numbers else 2, "published": published},
        **{"n_features": len(samples[0].x), "cells_per_step": cells},
        **options,
    )
    for i, batch in enumerate(batches(samples, batch_size)):
        found, expected = answer_and_learn(model, batch), naive.learn(batch)
        # Before the first batch is complete, the program answers 0, ours what it has seen most of.
        if not published or i > 0:
            assert found == (pytest.approx(expected) if numbers else expected)
        model = pickle.loads(pickle.dumps(model))
        for number, tree in enumerate(naive.trees):
            assert_same_tree(model._core.trees[number], tree.root, None if numbers else range(2))
    assert naive.n_discarded > 0


@pytest.mark.parametrize(
    ("n_columns", "n_samples", "n_ahead", "published", "expected"),
    [
        (8, 1_000, 100, False, 20),  # in time
        (8, 20_000, 100, False, 5),
        (8, 200_000, 100, False, 4),  # a fifth
        (2_500, 800, 100, False, 4),
        (2_500, 1_600, 100, False, 2),
        (2_500, 8_000, 100, False, 1),
        (2_500, 8_000, 20, False, 2),  # half of the batch has grown them all
        (2_500, 8_000, 3, False, 7),
        (2_500, 40_000, 100, True, 20),
    ],
)
def test_trees_per_step(
    n_columns: int, n_samples: int, n_ahead: int, published: bool, expected: int
) -> None:
    """Twenty trees: all at once if that takes milliseconds, a fifth, or fewer if it takes long."""
    forest = SimpleNamespace(n_trees=20, n_offered=n_columns, n_ahead=n_ahead, published=published)
    learner: Any = SimpleNamespace(_forest=forest)
    assert batch_forest.BatchForest._trees_per_step(learner, n_samples) == expected
