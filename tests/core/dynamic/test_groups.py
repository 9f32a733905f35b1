"""Splits by sets of nominal values, and by whether a value is missing."""

import pickle
import random
from typing import Any

import numpy as np
import pytest

from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor, persistence
from river_extra_trees._core.state import StateError
from tests import compiled
from tests.naive.cart import Border, Sample
from tests.naive.codes import code_of
from tests.naive.dynamic_groups import SMOOTHING, best_group, side_of
from tests.naive.value_history import NaiveHistory
from tests.tools.estimators import frozen
from tests.tools.sums import check_sums

LEARNERS = [DynamicTreeClassifier, DynamicTreeRegressor]


@pytest.mark.parametrize("seed", range(30))
def test_a_group_is_the_naive_one(seed: int) -> None:
    """Which values go left, and what its evidence loses for the number of ways."""
    rng = random.Random(seed)
    n, n_values, least = rng.randint(2, 60), rng.randint(2, 30), rng.randint(1, 5)
    codes = [float(rng.randrange(n_values)) for _ in range(n)]
    signals = [rng.gauss(code % 3, rng.choice([0.1, 3.0])) for code in codes]
    weights = [rng.choice([0.25, 1.0, 2.0]) for _ in range(n)]
    mean = np.average(signals, weights=weights)
    past = {
        float(code): (rng.choice([0.5, 9.0]), rng.gauss(0.0, 3.0))
        for code in range(n_values if seed % 2 else 0)
        if rng.random() < 0.7
    }
    sums: dict[float, np.ndarray] = {}
    for code, signal, weight in zip(codes, signals, weights, strict=True):
        sums.setdefault(code, np.array([0, 0.0, 0.0, *past.get(code, (0.0, 0.0))]))
        sums[code][:3] += [1, weight, weight * (signal - mean)]
    squares = float(np.dot(weights, (np.array(signals) - mean) ** 2))
    left, correction = compiled.lighter_side(sums, SMOOTHING, least, squares)
    expected = best_group(codes, signals, weights, past, least)
    assert set(left) == (expected.left if expected else set())
    assert correction == pytest.approx(expected.correction if expected else 0.0, abs=1e-9)


@pytest.mark.parametrize("learner", LEARNERS)
def test_many_values_are_learned(learner: type) -> None:
    """Each of 100 values has its label, and a second column of 200 values says nothing."""
    rng = random.Random(0)
    truth = {f"m{i}": rng.random() < 0.5 for i in range(100)}
    model, right = learner(seed=1), []
    for _ in range(3000):
        x = {"m": rng.choice(list(truth)), "id": f"u{rng.randrange(200)}", "z": rng.random()}
        right.append(((model.predict_one(x) or 0.0) > 0.5) == truth[x["m"]])
        model.learn_one(x, truth[x["m"]] if learner is LEARNERS[0] else float(truth[x["m"]]))
    assert np.mean(right[-1000:]) > 0.9  # .76 and .78 by one value against the others
    model._core.check()
    check_sums(model._core)
    asked = [{"m": name, "z": 0.5} for name in (*truth, "new")]
    copy = persistence.load_bytes(persistence.save_bytes(model))
    assert [copy.predict_one(x) for x in asked] == [model.predict_one(x) for x in asked]
    for change, problem in [
        (lambda state: state["set_codes"].__setitem__(0, 0.5), "no code"),
        (lambda state: state["set_codes"][:2].sort() or swap(state["set_codes"]), "ascend"),
        (lambda state: state["set_of"].__setitem__(slice(None), 1), "has no split"),
        (lambda state: state["nominal"].__setitem__(state["nominal"] == 2, 3), "is missing"),
        (lambda state: state.update(set_of=state["set_of"][1:]), "a set of values"),
        (lambda state: state.update(set_borders=state["set_borders"][1:]), "is missing"),
        (lambda state: state["set_labels"].__setitem__(0, 1000), "unknown label"),
    ]:
        state = model._core.state()
        change(state)
        with pytest.raises(StateError, match=problem):
            type(model._core).restored(state)


def swap(codes: np.ndarray) -> None:
    codes[:2] = codes[1], codes[0]


def share_right(n_values: int, window: int) -> float:
    """Accuracy in the last third, where each value has a label of its own; copies learn alike."""
    rng = random.Random(1)
    effect = [rng.random() < 0.5 for _ in range(n_values)]
    model: Any = DynamicTreeClassifier(n_particles=10, window=window, seed=1)
    copied, n_right = model, 0
    for i in range(1500):
        value = rng.randrange(n_values)
        x = {"a": f"v{value}"}
        if i == 700:
            model = persistence.load_bytes(persistence.save_bytes(model))
            copied = pickle.loads(pickle.dumps(model))
        n_right += i >= 1000 and model.predict_one(x) == effect[value]
        model.learn_one(x, effect[value])
        if i >= 700:
            copied.learn_one(x, effect[value])
    assert frozen(model) == frozen(copied)
    return n_right / 500


def test_values_that_have_left_the_window_are_remembered() -> None:
    """A window holds half a sample of each value; order and sides follow the rest."""
    assert share_right(60, 30) > 0.9


@pytest.mark.parametrize("weights", [[1.0], [0.5, 2.0]])
def test_new_values_go_to_the_sides_of_their_means(weights: list[float]) -> None:
    """After each of its first samples, in the sets of all trees."""
    rng, window = random.Random(3), 60
    model: Any = DynamicTreeClassifier(n_particles=10, window=window, seed=1)
    history, labels = NaiveHistory(frozenset([0, 1]), of_numbers=False), {}
    stored: list[Sample] = []
    n_checked = 0
    for i in range(1500):
        value, w = i // 60 + rng.randrange(9), rng.choice(weights)
        y = (value % 3 > 0) ^ (rng.random() < 0.05)
        x = {"a": f"v{value}", "b": f"w{rng.randrange(30)}", "z": rng.random()}
        if len(stored) == window:
            history.learn(stored.pop(0))
        model.learn_one(x, y, w=w)
        codes = float(code_of(x["a"])), float(code_of(x["b"]))
        stored.append(Sample(codes, labels.setdefault(y, len(labels)), w))
        for column, goes_left, border in sets_of(model._core.state(), codes):
            expected = side_of(history, stored, column, codes[column], border)
            assert expected is None or goes_left == expected
            n_checked += expected is not None
    assert n_checked > 300
    model._core.check()
    check_sums(model._core)


def sets_of(state: dict[str, Any], codes: tuple[float, ...]) -> list[tuple[int, bool, Border]]:
    """Of each set of the trees: its column, whether it sends a code left, and its border."""
    if "set_of" not in state:
        return []
    columns = dict(zip(state["set_of"], state["links"][state["nominal"] == 2, 0], strict=True))
    sets = np.split(state["set_codes"], np.cumsum(state["set_sizes"])[:-1])
    return [
        (column, (codes[column] in sets[k]) != state["set_others"][k],
         Border(state["set_labels"][k], *state["set_borders"][k]))
        for k, column in columns.items()
    ]  # fmt: skip


def test_values_that_come_and_go_are_right_from_their_second_sample_on() -> None:
    """What has retired does not keep a new value from its side: .94 without."""
    rng, met = random.Random(0), set()
    model: Any = DynamicTreeClassifier(n_particles=10, window=200, seed=1)
    right = []
    for i in range(6000):
        value = i // 12 + rng.randrange(12)
        x, y = {"a": f"v{value}", "z": rng.random()}, code_of(f"v{value}") % 2 == 0
        if value in met and i >= 4000:
            right.append(model.predict_one(x) == y)
        met.add(value)
        model.learn_one(x, y)
    assert np.mean(right) > 0.98


def test_sets_of_values_take_a_bounded_memory() -> None:
    """Values that pass for ever leave no set behind that no tree has; few trees share a set."""
    model, sizes = DynamicTreeClassifier(n_particles=10, window=60, seed=1), []
    for i in range(6000):
        model.learn_one({"a": f"v{i // 40 + i % 40}"}, (i // 40 + i % 40) % 2)
        if i % 1000 == 999:
            sizes.append(model._raw_memory_usage)
            sets = model._core.state()
            assert len(sets["set_sizes"]) <= len(sets["set_of"])
    assert max(sizes) < 2 * sizes[1]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("values", [(1, None), ("a", None), (1, "none")])
def test_present_against_absent_is_a_split(learner: type, values: tuple[object, object]) -> None:
    """Of a number, of a name, and of a column with both."""
    rng = random.Random(1)
    model, right = learner(seed=1), []
    for _ in range(600):
        y = rng.random() < 0.5
        x = {"z": rng.random(), "k": values[0] if y else values[1]}
        right.append(((model.predict_one(x) or 0.0) > 0.5) == y)
        model.learn_one(x, y if learner is LEARNERS[0] else float(y))
    assert all(right[300:])
    assert "is missing" in model.to_text()
