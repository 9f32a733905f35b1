"""What nominal values of earlier samples said of their targets."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees._core.cart.value_history import ValueHistory
from river_extra_trees._core.state import StateError
from tests.naive.cart import Rules, Sample
from tests.naive.forgetful import NaiveTree
from tests.naive.stream_tree import NaiveStreamTree
from tests.naive.value_history import NaiveHistory
from tests.tools.growing import CODES, assert_same_tree, learn, prime, tree_learner

NOMINAL = frozenset({0, 2})


def many_values(n: int, seed: int, of_numbers: bool) -> list[Sample]:
    """Samples of two columns of many values with an effect each, some missing, and of a number."""
    rng = np.random.default_rng(seed)
    codes, effects = rng.integers(0, len(CODES), (2, n)), rng.normal(size=len(CODES))
    y = effects[codes[0]] + effects[-codes[1]] / 2 + 0.3 * rng.normal(size=n)
    if not of_numbers:
        y = np.floor(y).clip(-1, 1)
        y = np.array([[*dict.fromkeys(y)].index(each) for each in y], float)
    values = np.where(rng.random((2, n)) < 0.1, np.nan, np.array(CODES)[codes])
    x, weights = [values[0], rng.normal(size=n).round(1), values[1]], rng.choice([0.5, 1.0, 3.0], n)
    rows = zip(np.transpose(x).tolist(), y.tolist(), weights.tolist(), strict=True)
    return [Sample(tuple(row), target, weight) for row, target, weight in rows]


def labels_of(model: Any) -> list[int] | None:
    return None if model._core.regression else list(model._core.labels.labels)


def assert_same_history(core: Any, naive: NaiveHistory) -> None:
    found = {
        (column, code, 0 if core.regression else core.labels.labels[label]): (weight, total)
        for column, code, label, weight, total, _ in core.history.entries()
    }
    expected = {
        (column, code, label): (weight, total if core.regression else 0.0)
        for column, values in naive.values.items()
        for code, labels in values.items()
        for label, (weight, total) in labels.items()
    }
    assert found.keys() == expected.keys()
    for key, entry in found.items():
        assert entry == pytest.approx(expected[key])


@pytest.mark.parametrize("criterion", ["gini", "entropy", "variance"])
@pytest.mark.parametrize("seed", range(3))
def test_stream_trees_are_the_naive_ones(criterion: str, seed: int) -> None:
    """Earlier batches order the values of a batch, place those that it lacks, and renew sets."""
    samples = many_values(300, seed, criterion == "variance")
    rules = Rules(criterion, NOMINAL, min_samples_leaf=1 + seed)
    model, naive = tree_learner(rules, 3, batch_size=60), NaiveStreamTree(rules, 60)
    for end in range(60, 301, 60):
        for sample in samples[end - 60 : end]:
            learn(model, [sample], rules)
            naive.learn(sample)
        model._core.check()
        assert_same_tree(model._core.trees[0], naive.root, labels_of(model))
        assert_same_history(model._core, naive.history)


@pytest.mark.parametrize("criterion", ["entropy", "variance"])
def test_forgetful_trees_are_the_naive_ones(criterion: str) -> None:
    """They remember what the values of the samples said that they no longer retain."""
    samples, rules = many_values(400, 0, criterion == "variance"), Rules(criterion, NOMINAL)
    kind = "Regressor" if criterion == "variance" else "Classifier"
    model = getattr(ret, f"ForgetfulDecisionTree{kind}")(batch_size=40, max_retained=80)
    prime(model._core.schema, 3, rules.nominal)
    naive = NaiveTree(rules, 40, most=80)
    for sample in samples:
        learn(model, [sample], rules)
        naive.learn(sample)
        assert_same_tree(model._core.trees[0], naive.root, labels_of(model))
        assert_same_history(model._core, naive.history)


def rows(n: int, n_values: int, seed: int = 0) -> list[tuple[dict[str, Any], bool]]:
    """Each value has a label of its own; 5 % of the labels are wrong."""
    rng = np.random.default_rng(seed)
    effect, codes = rng.random(n_values) < 0.5, rng.integers(0, n_values, n)
    y = effect[codes] ^ (rng.random(n) < 0.05)
    return [({"m": f"m{c}", "z": z}, bool(t)) for c, z, t in zip(codes, rng.random(n), y)]  # noqa: B905


LEARNERS = {
    "ForgetfulDecisionTreeClassifier": {"max_retained": 400},
    "ShrubEnsembleClassifier": {},
    "StreamDecisionForestClassifier": {"n_models": 5},
    "StreamDecisionTreeClassifier": {},
}


@pytest.mark.parametrize("name", LEARNERS)
def test_values_rarer_than_a_batch_are_told_apart(name: str) -> None:
    """The same stream is learned through pickles and files, and memory is told."""
    model, stream = getattr(ret, name)(seed=1, **LEARNERS[name]), rows(6_000, 300)
    n_right, before = 0, 0
    for i, (x, y) in enumerate(stream):
        n_right += i >= 4_000 and model.predict_one(x) == y
        model.learn_one(x, y)
        if i == 3_000:
            twin = persistence.load_bytes(persistence.save_bytes(model))
            third, before = pickle.loads(pickle.dumps(model)), i + 1
    for x, y in stream[before:]:
        assert twin.predict_one(x) == third.predict_one(x)
        twin.learn_one(x, y)
        third.learn_one(x, y)
    assert twin._core.state().keys() == model._core.state().keys()
    assert twin.predict_proba_one(stream[0][0]) == model.predict_proba_one(stream[0][0])
    assert n_right > 0.83 * 2_000  # .75 and less without a history
    twin._core.check()


def passing(n: int) -> list[tuple[dict[str, Any], bool]]:
    """Yield 40 values at a time, 10 of which are replaced every 150 samples."""
    rng, alive = np.random.default_rng(0), list(range(40))
    found = []
    for i in range(n):
        if i % 150 == 149:
            for j in rng.choice(40, 10, replace=False):
                alive[j] = max(alive) + 1
        value = alive[int(rng.integers(40))]
        found.append(({"m": f"m{value}", "z": float(rng.normal())}, value * 2_654_435_761 & 64 > 0))
    return found


@pytest.mark.parametrize("name", [*LEARNERS, "ForgetfulRandomForestClassifier"])
def test_new_values_are_told_apart_at_once(name: str) -> None:
    """Alike in loops and frames, through pickles and files; river's Hoeffding tree has .97."""
    parameters = {"n_models": 5} if "Forest" in name else {}
    model, stream = getattr(ret, name)(seed=1, **parameters), passing(4_000)
    answers = []
    for i, (x, y) in enumerate(stream):
        answers.append(model.predict_one(x))
        model.predict_proba_one({"m": f"m{i}"})
        model.learn_one(x, y)
        if i == 2_000:
            twin = persistence.load_bytes(persistence.save_bytes(model))
            third, before = pickle.loads(pickle.dumps(model)), i + 1
    hits = [answer == y for answer, (_, y) in zip(answers, stream, strict=True)]
    assert np.mean(hits[-2_000:]) > 0.92  # .83 to .93 before they were sent at once
    frame = pd.DataFrame([x for x, _ in stream[before:]])
    target = pd.Series([y for _, y in stream[before:]])
    assert third.predict_learn_many(frame, target).tolist() == answers[before:]
    for x, y in stream[before:]:
        assert twin.predict_one(x) == answers[before]
        before += 1
        twin.learn_one(x, y)
    for other in (twin, third):
        other._core.check()
        assert persistence.save_bytes(other) == persistence.save_bytes(model)


def test_the_published_programs_have_no_history() -> None:
    model: Any = ret.StreamDecisionTreeClassifier(published=True, batch_size=50)
    for x, y in rows(200, 20):
        model.learn_one(x, y)
    assert model._core.history.entries() == []


def test_values_seen_least_recently_are_forgotten() -> None:
    """Also by the sets of a tree: their sizes are bounded, however many values pass by."""
    model: Any = ret.StreamDecisionTreeClassifier(batch_size=1_000)
    for i in range(36_000):
        model.learn_one({"id": f"v{i // 2 % 17_000}"}, i // 2 % 3 == 0)
    entries = model._core.history.entries()
    assert (1 << 13) <= len(entries) <= 1 << 14
    latest = range(36_001 - 2 * len(entries), 36_000, 2)
    assert sorted({seen for *_, seen in entries}) == list(latest)
    _, named = model._core.trees.node(0)["threshold"]
    assert 1_000 < len(named) <= 16 + 2 * len(entries)


@pytest.mark.parametrize(("n", "is_remembered"), [(1_024, True), (1_025, False)])
def test_a_wide_sample_displaces_no_value(n: int, is_remembered: bool) -> None:
    model: Any = ret.StreamDecisionTreeClassifier(batch_size=10)
    for i in range(60):
        wide = {f"w{j}": "a" for j in range(n)} if i == 30 else {}
        model.learn_one({"c": f"v{i % 4}"} if i != 30 else wide, i % 2 == 0)
    columns = {column for column, *_ in model._core.history.entries()}
    assert len(columns) == 1 + n * is_remembered


STATE = ValueHistory(False).state() | {
    "n_learned": 2,
    "column": np.array([0, 0], np.int32),
    "code": np.array([1.0, 2.0]),
    "label": np.array([0, 0], np.int32),
    "weight": np.ones(2),
    "total": np.zeros(2),
    "seen": np.array([0, 1]),
}


@pytest.mark.parametrize(
    ("name", "values"),
    [("code", [2.0, 1.0]), ("code", [1.0, 1.0]), ("code", [1.0, 1e300]), ("weight", [1.0, np.nan])],
)
def test_damaged_states_are_refused(name: str, values: list[float]) -> None:
    assert len(ValueHistory.restored(STATE).entries()) == 2
    with pytest.raises(StateError):
        ValueHistory.restored(STATE | {name: np.array(values)})
