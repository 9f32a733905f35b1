"""The turns in which trees are replaced, and how long a growth may take."""

import copy
import random
from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees._core.forests.extra_trees import ExtraTrees
from river_extra_trees._core.state import StateError
from tests import compiled
from tests.tools.naive_forests import assert_same_trees, both, rows


def births_of(core: Any, learn: Any, n: int) -> Any:
    """The births of all trees after each sample; row i is that after i + 1."""
    found = []
    for i in range(n):
        learn(i)
        found.append(core.state()["births"])
    return np.array(found)


def test_trees_are_replaced_in_turn() -> None:
    """Each of four trees once in a window of 40, and never two of them at once."""
    core, _ = both(False, windows=[(40, 4)])
    given = list(rows(False, 400))
    births = births_of(core, lambda i: core.learn(*given[i]), 400)[200:]
    assert (np.count_nonzero(np.diff(births, axis=0), axis=1) <= 1).all()
    for tree in births.T:
        assert set(np.diff(np.unique(tree))) <= {39, 40, 41}


def test_a_growth_that_takes_long_delays_the_next() -> None:
    """Its steps are spread over more samples, at most four times as many as it is given."""
    rng = random.Random(1)
    model = ret.ExtraTreesClassifier(n_models=4, window_sizes=(400,), max_features=None, seed=1)

    def learn(_: int) -> None:
        numbers = {f"x{j}": 10.0 ** rng.uniform(-300.0, 300.0) for j in range(40)}
        model.learn_one(numbers, rng.randrange(3))

    births = births_of(model._core, learn, 1500)[800:]
    gaps = np.concatenate([np.diff(np.unique(tree)) for tree in births.T])
    assert gaps.min() >= 399
    assert 400 < gaps.max() <= 4 * 4 * (400 // 4 + 1)


def test_a_growth_that_peels_samples_off_is_in_time() -> None:
    """One column per value makes chains. Their last node is nearly all that is left to do."""
    rng = random.Random(1)
    model = ret.ExtraTreesClassifier(n_models=20, window_sizes=(400,), seed=1)

    def learn(_: int) -> None:
        value = rng.randrange(200)
        model.learn_one({f"v{value}": 1.0, "z": rng.random()}, value % 7 < 3)

    births = births_of(model._core, learn, 1500)[700:]
    gaps = np.concatenate([np.diff(np.unique(tree)) for tree in births.T])
    assert 380 <= gaps.min() <= gaps.max() <= 440


@pytest.mark.parametrize(("n_columns", "max_features"), [(8, 0.7), (40, None)])
def test_a_chain_catches_up_little_by_little(n_columns: int, max_features: float | None) -> None:
    """A walk down hundreds of levels counts as many. A copy in between is as far."""
    rng = random.Random(1)
    model = ret.ExtraTreesClassifier(
        n_models=4, window_sizes=(600,), max_features=max_features, seed=1
    )
    (group,) = model._core.groups
    last, most, n_waiting = -1, 0, 0
    for _ in range(1500):
        numbers = {f"x{j}": 10.0 ** rng.uniform(-300.0, 300.0) for j in range(n_columns)}
        model.learn_one(numbers, rng.random() < 0.5)
        learned, waits = compiled.caught_up(group)
        most = max(most, learned - (last if last >= 0 else group.begun))
        if waits and n_waiting % 10 == 0:
            (same,) = copy.deepcopy(model)._core.groups
            assert compiled.caught_up(same) == (learned, True)
        last, n_waiting = learned, n_waiting + waits
    assert n_waiting > 10
    assert most <= 50


@pytest.mark.parametrize("kind", ["classes", "none", "leaves", "root"])
def test_a_late_growth_ends_where_it_is(kind: str) -> None:
    """After three quarters of its time, what is left stays leaves, and the tree catches up."""
    linear = {} if kind == "classes" else {"linear": [kind]}
    core, naive = both(kind != "classes", windows=[(160, 4)], batch_size=1000, **linear)
    (group,) = core.groups
    patience, n_late = 4 * (160 // 4 + 1), 0
    for row in rows(core.regression, 1000):
        begun, before = group.begun, core.state()["births"]
        core.learn(*row)
        compiled.slow_down(group, 1)
        naive.n_splits = [core.trees[tree].n_nodes // 2 for tree in range(4)]
        births = core.state()["births"]
        naive.learn(*row, births=births.tolist())
        if (births != before).any():
            assert core.n_seen <= begun + patience
            n_late += core.n_seen >= begun + 3 * patience // 4
            assert_same_trees(core, naive)
    assert n_late > 2


def test_a_late_chain_catches_up_little_by_little() -> None:
    """A growth that ends early has a quarter of its time for the samples that came meanwhile."""
    rng = random.Random(1)
    model = ret.ExtraTreesClassifier(n_models=4, window_sizes=(600,), max_features=None, seed=1)
    (group,) = model._core.groups
    learned, most, ended = -1, 0, []
    for _ in range(1700):
        numbers = {f"x{j}": 10.0 ** rng.uniform(-300.0, 300.0) for j in range(8)}
        begun, last = group.begun, learned
        model.learn_one(numbers, rng.random() < 0.5)
        compiled.slow_down(group, 12)
        learned, _ = compiled.caught_up(group)
        if begun > 500 and last < 0 <= learned:
            ended.append(model._core.n_seen - begun)
        most = max(most, learned - (last if last >= 0 else group.begun))
    patience = 4 * (600 // 4 + 1)
    assert ended == [3 * patience // 4] * 2
    assert max(model._core.trees[tree].height for tree in range(4)) > 128
    assert 4 <= most <= 16


def test_trees_keep_to_their_limit() -> None:
    """Grown ones, and leaves that small batches split."""
    core, _ = both(False, max_nodes=9)
    for row in rows(False, 300):
        core.learn(*row)
        assert all(core.trees[tree].n_nodes <= 9 for tree in range(len(core.trees)))


@pytest.mark.parametrize("late", [-1.0, 2.0, 1e15])
def test_a_growth_that_is_due_at_another_time_is_refused(late: float) -> None:
    """A damaged file may have one. Its steps would be those of another one."""
    core, _ = both(False, windows=[(1000, 1)])
    states = []
    for x, y, _ in rows(False, 300):
        core.learn(x, y, 1.0)
        states.append(core.state())
    state = next(state for state in states if state["growths"][0, 3])
    due = state["growths"][0, 3] + min(1000, state["growths"][0, 3])
    ExtraTrees.restored({**state, "due": np.array([float(due)])})
    with pytest.raises(StateError, match="a growth contradicts the number"):
        ExtraTrees.restored({**state, "due": np.array([max(due * (late > 0.0), 1.0) + late])})


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_samples_without_features(kind: str) -> None:
    """Leaves that samples of several labels reach have no column to be split by."""
    model = getattr(ret, f"ExtraTrees{kind}")(
        n_models=6, batch_size=4, window_sizes=(9, 30), seed=1
    )
    for i in range(60):
        model.learn_one({}, i % 3)
    model._core.check()
    assert model._core.trees.n_nodes == model._core.trees.n_trees


def test_a_copy_does_not_offer_a_column_that_came_during_the_growth() -> None:
    """A growth is repeated on its own samples; one more column would need more random numbers."""
    rng = random.Random(1)
    model = ret.ExtraTreesClassifier(n_models=2, window_sizes=(2000,), seed=1)

    def sample(names: str) -> tuple[dict[str, float], bool]:
        x = {name: rng.random() for name in names}
        return x, x["a"] + x["b"] > 2.0 * rng.random()

    for names in 2960 * ["abcdef"] + 2 * ["abcdefg"]:
        model.learn_one(*sample(names))
    ((*_, begun, n_columns, _),) = model._core.state()["growths"]
    assert (begun, n_columns) == (2952, 6)
    same = copy.deepcopy(model)
    for x, y in [sample("abcdefg") for _ in range(100)]:
        assert same.predict_proba_one(x) == model.predict_proba_one(x)
        model.learn_one(x, y)
        same.learn_one(x, y)
