"""Active samples that come and go: each column holds the values of the samples that are there."""

import math
import pickle
import random

import pytest

import river_extra_trees as ret
from tests import compiled

WIDE = {f"n{i}": float(i) for i in range(300)}


@pytest.mark.parametrize("discard", ["oldest", "random"])
@pytest.mark.parametrize("ties", [True, False])
def test_columns_hold_the_values_of_the_samples_in_order(discard: str, ties: bool) -> None:
    """Equal values are in order of arrival; so is a column that vanishes and comes back."""
    model = ret.DynamicTreeClassifier(n_particles=4, window=12, discard=discard, seed=1)
    rng = random.Random(1)
    names = [f"x{i}" for i in range(70)]  # more than fit into a word of bits
    for step in range(300):
        x = {
            name: float(rng.randrange(3)) if ties else rng.random()
            for name in rng.sample(names[: 3 if step % 50 < 25 else 70], 3)
        }
        model.learn_one(x, rng.random() < 0.5)
        pool = model._core.pool
        pool.check()
        rows = [pool.sample(slot)[0] for slot in pool.slots()]
        for column, name in enumerate(model._schema.names):
            held = [(row[column], i) for i, row in enumerate(rows) if not math.isnan(row[column])]
            slots = compiled.ranked(pool, column)[: len(held)]
            assert slots == [pool.slots()[i] for _, i in sorted(held)], name
        if step % 40 == 0:
            model = pickle.loads(pickle.dumps(model))


def coefficients(model: ret.DynamicTreeRegressor) -> set[object]:
    return {model._schema.names[column] for column in model._core.state().get("columns", ())}


def test_a_column_with_few_values_is_no_regressor() -> None:
    """Not after one sample with many names, and not for long if that is the first one."""
    rng = random.Random(2)
    for at, after in ((0, 32), (100, 101)):
        model = ret.DynamicTreeRegressor(n_particles=6, window=200, seed=1)
        for i in range(140):
            x = {"a": rng.random(), "b": rng.random()}
            model.learn_one(x | WIDE if i == at else x, 3 * x["a"] - x["b"])
            if i == 70:
                model = pickle.loads(pickle.dumps(model))
            if i > after:
                assert coefficients(model) == {"a", "b"}
        assert model.predict_one({"a": 0.2, "b": 0.1}) == pytest.approx(0.5, abs=0.05)
        model._core.check()


def test_a_column_that_comes_later_becomes_a_regressor() -> None:
    """As soon as one in eight active samples has a value; its slope is learned."""
    rng = random.Random(3)
    model = ret.DynamicTreeRegressor(n_particles=6, window=50, seed=1)
    for i in range(200):
        x = {"a": rng.random()} | ({"b": rng.random()} if i >= 40 else {})
        assert ("b" in coefficients(model)) == (i >= 46), i
        model.learn_one(x, x["a"] + 2 * x.get("b", 0.0))
    assert model.predict_one({"a": 0.5, "b": 0.75}) == pytest.approx(2.0, abs=0.05)


def test_one_sample_with_many_names_does_not_keep_trees_from_growing() -> None:
    """Cuts are proposed in the columns that the samples of a leaf have."""
    models = [ret.DynamicTreeClassifier(n_particles=10, window=300, seed=1) for _ in range(2)]
    rng = random.Random(4)
    for i in range(300):
        x = {"a": rng.random(), "b": rng.random()}
        for model, more in zip(models, ({}, WIDE), strict=True):
            model.learn_one(x | more if i == 20 else x, x["a"] > 0.5)
    usual, wide = models
    assert wide.n_nodes > 0.7 * usual.n_nodes
