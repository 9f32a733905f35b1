"""What stream and forgetful forests share: batches, and the growth on parts of the first one."""

import pickle
from typing import Any

import pytest

import river_extra_trees as ret

FORESTS = [
    ret.StreamDecisionForestClassifier,
    ret.ForgetfulRandomForestClassifier,
    ret.StreamDecisionTreeRegressor,
    ret.ForgetfulDecisionTreeRegressor,
]
forests = pytest.mark.parametrize("model_class", FORESTS)


def taught(model: Any, n: int) -> Any:
    for i in range(n):
        model.learn_one({"a": i % 7, "b": i % 3}, i % 2)
    return model


@forests
def test_early_trees_grow_on_parts_of_the_first_batch(model_class: Any) -> None:
    """After 10, 20, 30, 45 ... samples, and no longer when the batch is full."""
    model = model_class(batch_size=100, seed=1)
    grown = []
    for i in range(200):
        n_early = model._core.n_early
        model.learn_one({"a": i % 7}, i % 2)
        if model._core.n_early != n_early:
            grown.append((i + 1, model._core.n_early))
    assert grown == [(n, n) for n in (10, 20, 30, 45, 67)]
    assert model._core.n_batches == 2


@forests
def test_a_batch_is_counted_from_its_first_sample(model_class: Any) -> None:
    """When it is full, it grows, and the next one begins; samples without weight do not count."""
    model, n = model_class(batch_size=20, seed=1), 0
    for i in range(60):
        assert model._core.n_in_batch == n % 20
        model.learn_one({"a": i % 7}, i % 2, w=float(i % 5 > 0))
        n += i % 5 > 0
    assert model._core.n_batches == 2


@forests
@pytest.mark.parametrize("n", [5, 25, 60])
def test_a_copy_grows_alike(model_class: Any, n: int) -> None:
    """Wherever in a batch, and before the first one is full."""
    model = taught(model_class(batch_size=40, seed=1), n)
    copy = taught(pickle.loads(pickle.dumps(model)), 100)
    assert copy._core.nodes(0) == taught(model, 100)._core.nodes(0)
