"""Naive Bayes, a member of the pool."""

import pickle

import pytest

import river_extra_trees as ret
from river_extra_trees._core.forests.extra_trees import ExtraTrees
from tests.naive.codes import code_of
from tests.tools.naive_forests import both, rows


def test_rescaling_changes_no_answer() -> None:
    """When the unit of naive Bayes gets too large, all sums are divided by it."""
    core, _ = both(False)
    stream = list(rows(False, 120, 5))
    for row in stream[:100]:
        core.learn(*row)
    state = core.state()
    values = state["naive"].values
    factor = 9.9e49 / values["unit"]
    for name in ("unit", "total", "class_weights", "counts"):
        values[name] *= factor
    values["moments"][:, :, [0, 2]] *= factor
    values["overall"][:, [0, 2]] *= factor
    large = ExtraTrees.restored(state)
    for row in stream[100:]:
        core.learn(*row)
        large.learn(*row)
    assert large.state()["naive"].values["unit"] < 2.0
    for x, _, _ in stream:
        assert large.predict_proba(x) == pytest.approx(core.predict_proba(x), rel=1e-10)


def test_a_value_takes_the_place_of_the_lightest() -> None:
    """Naive Bayes counts 64 values of a feature: those met often stay, whatever else comes."""
    model = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1)
    for i in range(400):
        value = f"often {i % 40}" if i % 2 else f"once {i}"
        model.learn_one({"shop": value}, i % 3)
    (values,), (counts,) = (model._core.naive.state()[name] for name in ("values", "counts"))
    assert {code_of(f"often {i}") for i in range(1, 40, 2)} < set(values)
    assert {code_of(f"once {i}") for i in range(320, 400, 2)} < set(values)
    assert counts.all(axis=1).sum() == 20


def test_many_columns_and_classes_take_a_fixed_memory() -> None:
    """Columns times classes are at most 16,384, with up to 64 counts each of 8 bytes."""
    model = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1)
    for i in range(300):
        model.learn_one({j: f"value {(i + j) % 7}" for j in range(100)}, i)
    naive = model._core.naive
    assert len(naive.state()["n_values"]) == 16_384 // 300
    assert naive.__sizeof__() < 16_384 * 64 * 8 * 1.1
    naive.check()
    copy = pickle.loads(pickle.dumps(model))
    x = {j: f"value {j % 7}" for j in range(100)}
    assert copy.predict_proba_one(x) == model.predict_proba_one(x)
