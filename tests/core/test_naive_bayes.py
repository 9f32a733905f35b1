"""The first samples of classifiers: trees, naive Bayes and the latest classes, pooled."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from typing import Any

import pytest

import river_extra_trees as ret
from river_extra_trees._core.naive_bayes import EarlyPool
from river_extra_trees._core.state import StateError
from tests.naive.early_pool import NaiveEarlyPool
from tests.tools.forest_samples import sample

WARM_UP = 60
LEARNERS: dict[str, dict[str, Any]] = {
    "StreamDecisionTreeClassifier": {"batch_size": 25},
    "ForgetfulDecisionTreeClassifier": {"batch_size": 20},
    "ForgetfulRandomForestClassifier": {"batch_size": 20, "n_models": 3},
    "ShrubEnsembleClassifier": {"n_models": 4, "window_size": 20},
    "DynamicTreeClassifier": {"n_particles": 5, "window": 30},
}


def learner(name: str, **changes: Any) -> Any:
    """A learner that warms up for WARM_UP samples."""
    return getattr(ret, name)(**LEARNERS[name], **{"warm_up": WARM_UP, "seed": 3, **changes})


def rows(n: int) -> Iterator[tuple[dict[Any, Any], Any, float]]:
    """Numbers, nominal and missing values, new features, values and classes, and weights."""
    rng = random.Random(1)
    for i in range(n):
        x, a, b, c = sample(rng, i)
        score = a + 0.2 * b + (c == "r") + 0.2 * rng.random()
        label = "low" if score < 0.9 or i < 3 else "middle" if score < 1.5 or i < 30 else "high"
        yield x, label, rng.choice([1.0, 1.0, 0.5, 2.0, 0.0])


@pytest.mark.parametrize("name", [name for name in LEARNERS if "Random" not in name])
def test_answers_are_those_of_the_naive_pool(name: str) -> None:
    """Without a warm-up the same learner tells what its trees say."""
    model, trees = learner(name), learner(name, warm_up=0)
    naive = NaiveEarlyPool(1)
    n_learned = 0
    for x, y, w in rows(90):
        answer = model.predict_proba_one(x)
        votes = [list(trees.predict_proba_one(x).values())]
        if 0 < n_learned < WARM_UP:
            assert answer == pytest.approx(naive.answer(votes, x), abs=1e-9)
            assert model.predict_one(x) == max(answer, key=answer.__getitem__)
            assert min(answer.values()) > 0.0
        else:
            assert answer == trees.predict_proba_one(x)
            assert model.predict_one(x) == trees.predict_one(x)
        naive.learn(votes, x, y, w)
        n_learned += w > 0.0
        model.learn_one(x, y, w)
        trees.learn_one(x, y, w)
        model._core.check()


@pytest.mark.parametrize("name", LEARNERS)
def test_the_pool_is_gone_after_the_warm_up(name: str) -> None:
    """Then nothing is left of it, neither in memory nor in the state."""
    model, trees = learner(name), learner(name, warm_up=0)
    for i, (x, y, _) in enumerate(rows(WARM_UP)):
        assert model._core.early.n_left == WARM_UP - i
        assert model._raw_memory_usage > trees._raw_memory_usage
        model.learn_one(x, y)
        trees.learn_one(x, y)
    assert model._core.early is None
    assert model._raw_memory_usage - trees._raw_memory_usage < 200


@pytest.mark.parametrize("name", LEARNERS)
def test_copies_answer_and_learn_alike(name: str) -> None:
    """Snapshots and pickles made in mid warm-up have the pool with them."""
    model = learner(name)
    samples = list(rows(90))
    for x, y, w in samples[:30]:
        model.learn_one(x, y, w)
    snapshot, copy = model.snapshot(), pickle.loads(pickle.dumps(model))
    for x, _, _ in samples:
        expected = model.predict_proba_one(x)
        assert snapshot.predict_proba_one(x) == copy.predict_proba_one(x) == expected
    for x, y, w in samples[30:]:
        model.learn_one(x, y, w)
        copy.learn_one(x, y, w)
        assert copy.predict_proba_one(x) == model.predict_proba_one(x)


def test_exponents_learn_who_is_right() -> None:
    """Labels that repeat the one before, whatever the features: the latest classes are right."""
    rng = random.Random(2)
    model = ret.StreamDecisionTreeClassifier(seed=1)
    for i in range(400):
        model.learn_one({"a": rng.random()}, i // 50 % 2)
    tree, bayes, latest = model._core.early.state()["exponents"][0]
    assert latest > 2 * max(tree, bayes)


def test_many_columns_and_classes_take_a_fixed_memory() -> None:
    """Columns times classes are at most 16,384, with up to 64 counts each of 8 bytes."""
    model = ret.StreamDecisionForestClassifier(n_models=1, window_size=(30,), seed=1)
    for i in range(600):
        model.learn_one({j: f"value {(i + j) % 7}" for j in range(100)}, i)
    naive = model._core.naive
    assert len(naive.state()["n_values"]) == 16_384 // 600
    assert naive.__sizeof__() < 16_384 * 64 * 8 * 1.1
    naive.check()
    copy = pickle.loads(pickle.dumps(model))
    x = {j: f"value {j % 7}" for j in range(100)}
    assert copy.predict_proba_one(x) == model.predict_proba_one(x)


def test_reference_has_no_warm_up() -> None:
    """The published programs know nothing of it."""
    model = ret.StreamDecisionTreeClassifier(reference=True, warm_up=100)
    assert model._core.early is None
    with pytest.raises(ValueError, match="warm_up"):
        ret.ShrubEnsembleClassifier(warm_up=-1)


def test_states_that_cannot_be_are_refused() -> None:
    """The classes and columns have to be those of the learner."""
    model = learner("StreamDecisionTreeClassifier")
    for x, y, w in rows(20):
        model.learn_one(x, y, w)
    early = model._core.early.state()
    for name, wrong in {"n_left": 0, "exponents": early["exponents"] - 1e7}.items():
        with pytest.raises(StateError, match=name):
            EarlyPool.restored({**early, name: wrong})
    other = learner("StreamDecisionTreeClassifier")
    other.learn_one({"z": 1.0}, "y")
    state = {**other._core.state(), "early": model._core.state()["early"]}
    with pytest.raises(StateError, match="another learner"):
        type(other._core).restored(state)
