"""Only the columns with a value in the window cost time, memory and draws of features."""

import pickle
import random
import time
from typing import Any

import pytest

import river_extra_trees as ret
from tests.tools.estimators import TIGHTEST, is_classifier, make
from tests.tools.forest_samples import passing_names

SMALL = [case for case in TIGHTEST if not case[0].startswith("Dynamic")]


@pytest.mark.parametrize("case", TIGHTEST, ids=str)
def test_columns_that_come_and_go(case: tuple[str, int]) -> None:
    """A model that was copied has found its live columns anew, and goes on as the other does."""
    model, copied = make(case), make(case)
    for i, (x, y) in enumerate(passing_names(400, 3)):
        if i % 7 == 0:
            copied = pickle.loads(pickle.dumps(copied))
            model._core.check()
        target = int(y) if is_classifier(case) else y
        assert model.predict_one(x) == copied.predict_one(x)
        for each in (model, copied):
            each.learn_one(x, target)


def test_max_features_counts_the_columns_with_a_value() -> None:
    """The trees are those of a model that has never seen the names that left the window."""
    plain, wide = (
        ret.ShrubEnsembleRegressor(window_size=20, n_models=8, max_features="sqrt", seed=1)
        for _ in range(2)
    )
    rng = random.Random(2)
    n_equal = 0
    for i in range(200):
        x = {name: rng.random() for name in "abcd"}
        y = (x["a"] + x["b"] * x["c"]) * (-1) ** (i // 15)
        plain.learn_one(x, y)
        wide.learn_one({**x, **({f"n{k}": 1.0 for k in range(100)} if i == 5 else {})}, y)
        if i > 5 + 20:
            newest = []
            for model in (plain, wide):
                births = [birth for birth, _ in model._core.tree_weights()]
                newest.append([model.to_text(births.index(i))] if i in births else [])
            assert [] in newest or newest[0] == newest[1]
            n_equal += [] not in newest
    assert n_equal > 10


@pytest.mark.parametrize("case", [case for case in SMALL if "Extra" not in case[0]], ids=str)
def test_equal_columns_of_few_samples_count_once(case: tuple[str, int]) -> None:
    """A wide sample is drawn and split as one name, and so are two with the same names.

    After it, a column with one value has a short line, with the same answers: `k` is split early.
    """
    one, wide = make(case), make(case)
    rng = random.Random(2)
    for i in range(300):
        x = {name: rng.random() for name in "abcd"}
        y = int(x["a"] + x["b"] * x["c"] > 0.7)
        if i < 60 or i % 30 == 0:
            x["k"] = 2.0 * y + rng.random()
        n_names = 40 if i in (5, 17, 90, 171) else 0
        one.learn_one({**x, **{f"n{k}": 1.0 for k in range(min(1, n_names))}}, y)
        wide.learn_one({**x, **{f"n{k}": 1.0 for k in range(n_names)}}, y)
        assert one.predict_one(x) == wide.predict_one(x)
        if i % 50 == 0:
            wide = pickle.loads(pickle.dumps(wide))
    wide._core.check()


@pytest.mark.parametrize("case", [case for case in TIGHTEST if "Extra" not in case[0]], ids=str)
def test_a_name_that_one_sample_has_takes_little(case: tuple[str, int]) -> None:
    """Not a value in every slot, of which there are hundreds."""
    rng, names = random.Random(1), {f"n{k}": 1.0 for k in range(1_000)}
    model = getattr(ret, case[0])(seed=1)
    for i in range(130):
        model.learn_one({"a": rng.random(), **(names if i == 105 else {})}, i % 2)
    held = getattr(model._core, "pool" if "Dynamic" in case[0] else "window")
    assert held.n_live == 1_001
    assert held.size > 20
    assert held.__sizeof__() < 1_000 * 150


def seconds(model: Any, n: int, seed: int) -> float:
    """CPU time of learning n samples of few features."""
    rng = random.Random(seed)
    begin = time.process_time()
    for _ in range(n):
        a = rng.random()
        y = a if "Regressor" in type(model).__name__ else a < 0.5
        model.learn_one({"a": a, "b": rng.random(), "c": rng.choice("xyz")}, y)
    return time.process_time() - begin


@pytest.mark.filterwarnings("ignore:the model holds")
@pytest.mark.parametrize("case", SMALL, ids=str)
def test_a_wide_sample_that_left_the_window_costs_little(case: tuple[str, int]) -> None:
    """In the buffer of a forest, only the row of a sample is as wide as all that was ever seen."""
    plain, wide = make(case), make(case)
    extra = case[0].startswith("Extra")
    n_wide, n_before, most = (16_000, 1_200, 15.0) if extra else (4_000, 400, 4.0)
    wide.learn_one({f"n{i}": 1.0 for i in range(n_wide)}, 1)
    for model in (plain, wide):
        seconds(model, n_before, seed=1)
    ratios = [seconds(wide, 400, i) / seconds(plain, 400, i) for i in range(5)]
    assert min(ratios) < most
    if extra:
        buffers = [model._core.buffer.__sizeof__() for model in (plain, wide)]
        assert buffers[1] <= n_wide * 76 + buffers[0]  # with the values of samples that have few
    else:
        assert wide._core.window.n_live <= 3


def test_moves_propose_no_cuts_in_columns_without_values() -> None:
    """Columns whose last value retires are no longer live: moves do not propose cuts in them."""
    model = ret.DynamicTreeClassifier(n_particles=20, window=30, seed=1)
    usual = ret.DynamicTreeClassifier(n_particles=20, window=30, seed=1)
    rng = random.Random(1)
    wide = {f"W{i}": float(i) for i in range(2_000)}  # the first columns
    for i in range(400):
        x = {"a": rng.random(), "b": rng.random()}
        model.learn_one(x | wide if i == 0 else x, x["a"] > 0.5)
        usual.learn_one(x, x["a"] > 0.5)
        if i in (0, 29, 30):
            assert model._core.pool.n_live == (2_002 if i < 30 else 2)
            model._core.check()
            assert pickle.loads(pickle.dumps(model))._core.pool.n_live == model._core.pool.n_live
    # With proposals in all columns, one in a thousand would be for the column that matters.
    assert model.n_nodes > 0.6 * usual.n_nodes
    for _ in range(30):
        model.learn_one({"c": 1.0}, True)
    assert model._core.pool.n_live == 1
    model._core.check()


def test_columns_are_equal_whatever_the_signs_of_their_zeros() -> None:
    """A hash of the sign would find some of them equal, and others in a copy."""
    model = ret.StreamDecisionForestClassifier(5, batch_size=60, seed=1)
    rng = random.Random(1)
    for i in range(59):
        zeros = {f"n{k}": rng.choice([0.0, -0.0]) for k in range(40 if i % 12 == 0 else 0)}
        model.learn_one({"a": rng.random(), **zeros}, i % 2)
    assert model._core.n_offered == 2


def test_equal_columns_between_others_count_once() -> None:
    """Two samples have every other name each: a growth is offered one name of each."""
    model = ret.StreamDecisionForestClassifier(5, batch_size=60, seed=1)
    rng = random.Random(1)
    for i in range(119):
        first, step = {10: (0, 1), 70: (0, 2), 90: (1, 2)}.get(i, (40, 1))
        names = {f"n{k}": 1.0 for k in range(first, 40, step)}
        model.learn_one({"a": rng.random(), **names}, i % 2)
    assert model._core.n_offered == 3
