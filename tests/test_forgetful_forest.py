"""Forgetful decision trees and forests."""

from __future__ import annotations

import contextlib
import csv
import gzip
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from river_extra_trees import (
    ForgetfulDecisionTreeClassifier,
    ForgetfulDecisionTreeRegressor,
    ForgetfulRandomForestClassifier,
    ForgetfulRandomForestRegressor,
    forgetful_learner,
    persistence,
)
from river_extra_trees._core.forests.forgetful import ForgetfulForest
from river_extra_trees._core.schema import Labels
from river_extra_trees._core.state import StateError
from river_extra_trees._core.trees import Trees
from river_extra_trees._core.window import Window
from tests.naive.cart import Rules, Sample
from tests.naive.forgetful import NaiveForest, NaiveTree
from tests.tools.growing import assert_same_tree, growths, learn, prime

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
    trees = [Trees(n_classes) for _ in state["trees"]]
    root = Trees(n_classes)
    for tree in [*trees, root]:
        tree.add_tree()
    labels = Labels.restored({"labels": list(range(n_classes))})
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


@settings(max_examples=60)
@given(growths(max_size=60), st.integers(2, 9))
def test_tree_equals_the_naive_tree(growth: tuple[list[Sample], Rules], batch_size: int) -> None:
    """After every sample; a regression says how many samples it retains."""
    samples, rules = growth
    rules = Rules(rules.criterion, rules.nominal)
    if rules.criterion == "variance":
        model: Any = ForgetfulDecisionTreeRegressor(batch_size, warm_size=10)
    else:
        model = ForgetfulDecisionTreeClassifier(batch_size, rules.criterion, warm_size=10)
        labels = list(dict.fromkeys(sample.y for sample in samples))
        samples = [sample._replace(y=labels.index(sample.y)) for sample in samples]
    prime(model._core.schema, len(samples[0].x), rules.nominal)
    naive = NaiveTree(rules, batch_size, warm_size=10)
    for sample in samples:
        learn(model, [sample], rules)
        model._core.check()
        naive.learn(sample)
        if rules.criterion == "variance" and naive.held:
            naive.retain(*model.retained_sizes, model._parameters[0].max_height)
        assert model.retained_sizes == [len(naive.held)]
        known = None if rules.criterion == "variance" else model._core.labels.labels
        assert_same_tree(model._core.trees[0], naive.root, known)


@pytest.mark.parametrize(
    ("name", "n", "bagging", "published", "cells"),
    [
        ("elec", 900, False, False, 5_000),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (
                ("gradual", 600, True, True, 1),
                ("phishing", 700, True, False, 1),
                ("phishing", 500, False, True, 40_000),
                ("elec", 400, True, False, 40_000),
            )
        ),
    ],
)
def test_forest_equals_the_naive_forest(
    name: str, n: int, bagging: bool, published: bool, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same features, bags, forgotten copies, discarded trees, splits and answers."""
    monkeypatch.setattr(forgetful_learner, "CELLS_PER_STEP", cells)
    samples = read_stream(name, n)
    options: dict[str, Any] = {
        **{"batch_size": 50, "seed": 3, "bagging": bagging, "published": published},
        "significance": 0.05 if published else 0.5,
    }
    model = ForgetfulRandomForestClassifier(n_models=5, **options)
    declare_classes(model, 2)
    naive = NaiveForest(
        n_trees=5, n_classes=2, n_features=len(samples[0].x), cells_per_step=cells, **options
    )
    for i, batch in enumerate(batches(samples, 50)):
        answers = answer_and_learn(model, batch), naive.learn(batch)
        # Before the first batch is complete, the program answers 0, ours what it has seen most of.
        assert (published and i == 0) or answers[0] == answers[1]
        for number, tree in enumerate(naive.trees):
            assert_same_tree(model._core.trees[number], tree.root, range(2))
    assert naive.n_discarded > 0


def test_a_leaf_counts_the_copies_of_its_samples() -> None:
    """Two samples after a batch, a tree of one leaf holds what it retains, and these two."""
    model = ForgetfulRandomForestClassifier(3, batch_size=20, bagging=True, seed=1)
    for i in range(62):
        model.learn_one({"a": 1.0}, i % 2)
    for tree, held in zip(model._core.trees, model._core.retained, strict=True):
        copies = [n for _, n in held.samples()]
        assert max(copies) > 1
        assert tree.node(tree.root())["weight"] == sum(copies) + 2


def test_some_trees_grow_after_each_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five steps at most, fewer if the batch is shorter; a file keeps the trees that wait."""
    monkeypatch.setattr(forgetful_learner, "CELLS_PER_STEP", 1)
    waiting = {}
    for batch_size in (1, 3, 20):
        model = ForgetfulRandomForestRegressor(12, batch_size=batch_size, seed=1)
        found = waiting[batch_size] = []
        for i in range(2 * batch_size + 6):
            model.learn_one({"a": float(i % 7), "b": float(i % 3)}, float(i))
            found.append(model._core.n_waiting)
            copy = pickle.loads(pickle.dumps(model))
            x = {"a": 2.0, "b": float(i % 2)}
            assert copy.predict_one(x) == model.predict_one(x)
            if found[-1]:
                model = copy
    assert set(waiting[1]) == {0}
    assert waiting[3][2:8] == [8, 4, 0, 8, 4, 0]
    assert waiting[20][19:25] == waiting[20][39:45] == [9, 6, 3, 0, 0, 0]


def test_all_trees_grow_at_once_on_few_samples() -> None:
    """On many, some trees wait: by samples and columns."""
    model = ForgetfulRandomForestRegressor(10, batch_size=50, seed=1)
    waiting = []
    for i in range(1_000):
        names = "ab" if i < 500 else "abcdefghijklmnopqrstuvwxyz"
        model.learn_one({name: float((i * ord(name)) % 7) for name in names}, float(i % 5))
        waiting.append(model._core.n_waiting)
    assert set(waiting[:500]) == {0}
    assert 2 <= max(waiting[500:]) <= 8


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"n_per_step": 0}, ""),
        ({"n_per_step": 0, "n_waiting": 4}, "have to grow"),
        ({"n_per_step": 2**30}, "have to grow"),
        ({"batch_size": 2}, "before the batch ends"),
        ({"n_waiting": 4}, "have to grow"),
        ({"plan": np.ones((2, 2), np.int64)}, "without a plan"),
        ({"n_waiting": 0}, "without a plan"),
        ({"batch_size": 50}, "without a plan"),
    ],
)
def test_trees_that_cannot_wait_are_refused(
    changes: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of the first version does not say how many trees grow after a sample."""
    monkeypatch.setattr(forgetful_learner, "CELLS_PER_STEP", 1)
    model = ForgetfulRandomForestClassifier(5, batch_size=20, seed=1)
    for i in range(22):
        model.learn_one({"a": float(i % 7)}, i % 2)
    values = model._core.state()
    assert values["n_waiting"] == 2
    ForgetfulForest.restored(values)
    expected = pytest.raises(StateError, match=problem) if problem else contextlib.nullcontext()
    with expected:
        ForgetfulForest.restored({**values, **changes})


def steps(n: int, drift: int, seed: int = 0) -> list[tuple[dict[str, float], int]]:
    """A threshold that turns round in the middle of the stream."""
    rng = random.Random(seed)
    stream = []
    for i in range(n):
        x = {"a": rng.random(), "b": rng.random(), "c": rng.random()}
        stream.append((x, int((x["a"] > 0.5) == (i < drift))))
    return stream


@pytest.mark.parametrize(
    "model",
    [ForgetfulDecisionTreeRegressor(seed=1), ForgetfulRandomForestRegressor(5, seed=1)],
    ids=["tree", "forest"],
)
def test_a_regressor_forgets_as_its_skill_falls(model: Any) -> None:
    """After the drift the tree holds little, and its error comes down again."""
    model = model.clone()
    errors, sizes = [], []
    for x, y in steps(2400, 1500):
        errors.append(abs(model.predict_one(x) - 10.0 * y))
        model.learn_one(x, 10.0 * y)
        sizes.append(max(model.retained_sizes))
    assert sizes[1499] > 500
    assert sizes[1699] < 500
    assert sum(errors[1400:1500]) < 50
    assert sum(errors[1800:1900]) < 100


def test_losses_of_a_regressor_are_summed() -> None:
    """Of the squared errors, of their squares, and of the squared errors of the running mean."""
    model = ForgetfulDecisionTreeRegressor(batch_size=10, warm_size=10_000, seed=1)
    rng = random.Random(3)
    targets: list[float] = []
    expected = [0.0, 0.0, 0.0, 0.0]
    for i in range(60):
        x = {"a": rng.random(), "b": rng.random()}
        y = 3 * x["a"] + rng.random()
        if i >= 10:  # before, there is nothing to answer by
            loss = (y - model.predict_one(x)) ** 2
            of_mean = (y - sum(targets) / len(targets)) ** 2
            sums = zip(expected, (1, loss, loss**2, of_mean), strict=True)
            expected = [total + more for total, more in sums]
        model.learn_one(x, y)
        targets.append(y)
    assert list(model._parameters[0].last) == pytest.approx(expected)


def test_max_retained_bounds_every_tree() -> None:
    """Though a stationary stream would let them retain more and more."""
    model = ForgetfulRandomForestClassifier(3, max_retained=300, seed=1)
    for x, y in steps(3000, 3000):
        model.learn_one(x, y)
    assert max(model.retained_sizes) == 300
    assert model._core.window.size <= 3 * 300


def test_max_depth_bounds_the_height() -> None:
    """Beside the logarithm of the retained size."""
    model = ForgetfulDecisionTreeClassifier(max_depth=2)
    answer_and_learn(model, read_stream("gradual", 1000))
    assert model.height == 2


def test_max_columns_bounds_the_features() -> None:
    """Features that come later are ignored; the others are not."""
    model = ForgetfulDecisionTreeRegressor(batch_size=10, max_columns=3, seed=1)
    for i in range(40):
        model.learn_one({"a": i, f"new {i}": 1.0}, float(i % 2))
    assert len(model._core.schema.names) == 3
    assert model.n_samples_seen == 40
    again = persistence.load_bytes(persistence.save_bytes(model))
    assert again._core.schema.max_columns == 3


def test_first_samples_that_no_forest_has_are_refused() -> None:
    """The first trees have grown on samples that are there, and none of these is retained yet."""
    model = ForgetfulRandomForestClassifier(n_models=2, batch_size=20, bagging=True, seed=1)
    for i in range(12):
        model.learn_one({"a": float(i)}, i % 2)
    values = model._core.state()
    forest = ForgetfulForest.restored(values)
    assert forest.n_early == 10
    with pytest.raises(StateError, match="samples that are not there"):
        ForgetfulForest.restored({**values, "n_early": 13})
    window = {**values["window"].values, "n_sorted": 2}
    changed = {
        **values,
        "window": Window.restored(window),
        "answers": values["answers"][2:],
        "n_retained": np.array([2, 0], np.int32),
        "retained": np.array([[0, 1], [1, 1]], np.int32),
    }
    with pytest.raises(StateError, match="first batch"):
        ForgetfulForest.restored(changed)


@pytest.mark.parametrize(
    ("n_retained", "retained", "problem"),
    [
        ([1, 1], [[0, 1], [0, 1]], "not those that a tree retains"),
        ([2, 1], [[0, 1], [1, 1], [2, 1]], "not those that a tree retains"),
        ([2, 1], [[0, 1], [0, 1], [1, 1]], "twice"),
        ([1, 1], [[0, 0], [1, 1]], "many copies"),
        ([1, 2], [[0, 1], [1, 2**31 - 1], [0, 2**31 - 1]], "many copies"),
        ([1, 2], [[0, 1], [1, 1]], "n_retained"),
    ],
)
def test_retained_samples_that_no_tree_has_are_refused(
    n_retained: list[int], retained: list[list[int]], problem: str
) -> None:
    """Every tree retains samples of the window, each once, and every sample is retained."""
    model = ForgetfulRandomForestClassifier(n_models=2, batch_size=2, bagging=False, seed=1)
    for i in range(3):
        model.learn_one({"a": float(i)}, i % 2)
    values = model._core.state()
    assert values["n_retained"].tolist() == [2, 2]
    ForgetfulForest.restored(values)
    changed = {
        "n_retained": np.array(n_retained, np.int32),
        "retained": np.array(retained, np.int32),
    }
    with pytest.raises(StateError, match=problem):
        ForgetfulForest.restored({**values, **changed})
