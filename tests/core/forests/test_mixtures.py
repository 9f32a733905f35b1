"""The mixtures of the groups' predictions."""

import math
import random

import numpy as np
import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees._core.forests.extra_trees import ExtraTrees
from river_extra_trees._core.forests.mixtures import ClassPool, NumberMixture
from river_extra_trees._core.forests.noise import NoiseModel
from river_extra_trees._core.state import StateError
from tests.tools.damage import with_value
from tests.tools.naive_forests import both, rows


@pytest.mark.parametrize("regression", [False, True])
def test_weights_sum_to_one(regression: bool) -> None:
    """Whatever came, and no member has none."""
    core, _ = both(regression)
    for row in rows(regression, 120):
        core.learn(*row)
        weights = (core.mixture if regression else core.pool).member_weights()
        assert sum(weights) == pytest.approx(1.0)
        assert min(weights) > 0.0


@pytest.mark.parametrize("mixture", [ClassPool, NumberMixture])
def test_impossible_weights_are_refused(mixture: type) -> None:
    """Of a damaged file: they do not sum to one."""
    state = mixture(3).state()
    mixture.restored({**state, "weights": np.roll(state["weights"], 1)})
    with pytest.raises(StateError, match="no such weights"):
        mixture.restored({**state, "weights": 0.9 * state["weights"]})


@pytest.mark.parametrize("squares", [np.zeros(5), np.full(6, -1.0), np.full(6, 501.0)])
def test_impossible_squares_are_refused(squares: np.ndarray) -> None:
    """Of a damaged file: too few for the six members, negative, or above their bound."""
    with pytest.raises(StateError, match="squares"):
        ClassPool.restored({**ClassPool(3).state(), "squares": squares})


@pytest.mark.parametrize("counts", [{"n_frequent": -1.0}, {"n_rest": 2e4}, {"frequent": 1}])
def test_impossible_counts_are_refused(counts: dict[str, float]) -> None:
    """Of a damaged file: of samples, or of a label that is not there."""
    state = {**ClassPool(3).state(), "n_frequent": 1.0, "n_rest": 2.0}
    ClassPool.restored(state)
    with pytest.raises(StateError, match=r"counts a label|n_frequent|n_rest"):
        ClassPool.restored({**state, **counts})


def test_exponents_learn_however_much_was_learned() -> None:
    """The squares of their slopes are bounded."""
    core, _ = both(False)
    for row in rows(False, 120):
        core.learn(*row)
    state = core.pool.state()
    full = ClassPool.restored({**state, "squares": np.full_like(state["squares"], 500.0)})
    late = ExtraTrees.restored({**core.state(), "pool": full})
    for row in rows(False, 60, seed=4):
        late.learn(*row)
    assert late.pool.state()["squares"].max() == 500.0
    assert np.abs(late.pool.state()["exponents"] - state["exponents"]).max() > 0.05


def test_a_new_label_changes_no_weight() -> None:
    """No member could know it."""
    core, _ = both(False)
    for i in range(60):
        core.learn({"a": float(i % 7)}, i % 7 > 3, 1.0)
    before = core.pool.state()
    core.learn({"a": 3.0}, "new", 1.0)
    after = core.pool.state()
    for name in ("weights", "exponents", "squares"):
        np.testing.assert_array_equal(after[name], before[name])


@pytest.mark.parametrize("n", [-1.0, 1001.0, 5.0])
@pytest.mark.parametrize("variance", [-1.0, 1.0])
@pytest.mark.parametrize("slope", [-101.0, 1.0])
def test_impossible_noise_is_refused(n: float, variance: float, slope: float) -> None:
    """Of a damaged file: so many values, or such a variance or slope, no feature can have."""
    state = NoiseModel().state() | {"columns": np.zeros(1, np.int32)}
    state["features"] = np.array([[n, 0.0, variance, slope]])
    if (n, variance, slope) == (5.0, 1.0, 1.0):
        assert NoiseModel.restored(state).state()["features"].tolist() == [[n, 0.0, 1.0, 1.0]]
        return
    with pytest.raises(StateError, match="no such features"):
        NoiseModel.restored(state)


@pytest.mark.parametrize("columns", [[0, 0], [1, 2], [0, 9]])
def test_features_of_the_noise_are_different_numeric_columns(columns: list[int]) -> None:
    model = ret.ExtraTreesRegressor(n_models=6, window_sizes=(15, 60), seed=1)
    for i in range(20):
        model.learn_one({"a": float(i), "b": str(i % 2), "c": i % 3}, float(i))
    mixture = model._core.mixture
    noise = mixture.noise.state()
    assert noise["columns"].tolist() == [0, 2]
    noise["columns"] = np.array(columns, np.int32)
    changed = NumberMixture.restored({**mixture.state(), "noise": NoiseModel.restored(noise)})
    with pytest.raises(StateError, match="noise knows other columns"):
        ExtraTrees.restored({**model._core.state(), "mixture": changed})


def test_answers_stay_among_the_targets() -> None:
    """Whatever the members say."""
    core, _ = both(True)
    seen = []
    for x, y, w in rows(True, 120):
        if seen:
            assert min(seen) <= core.predict_number(x) <= max(seen)
        core.learn(x, y, w)
        seen += [y] if w else []


@pytest.mark.parametrize("error", [0.0, 5e-324, 1e-310, 1e-290])
@pytest.mark.parametrize("target", [1.0, -1e150])
def test_an_error_may_fade_to_nothing(error: float, target: float) -> None:
    """As it does over 140,000 equal targets; then one like them comes, or another one."""
    model = ret.ExtraTreesRegressor(n_models=6, window_sizes=(15, 60), seed=1)
    for i in range(40):
        model.learn_one({"a": float(i)}, 1.0)
    content = with_value(persistence.save_bytes(model), "/mixture/error", ["float", error.hex()])
    faded = persistence.load_bytes(content)
    assert faded._core.mixture.state()["error"] == error
    faded.learn_one({"a": 40.0}, target)
    assert math.isfinite(faded.predict_one({"a": 1.0}, with_dist=True).quantile(0.9))
    persistence.load_bytes(persistence.save_bytes(faded))


@pytest.mark.parametrize("frame", [False, True])
def test_one_wrong_target_spoils_little(frame: bool) -> None:
    """1e6 among targets around one is learned as 20 standard deviations from their mean."""
    rng = random.Random(1)
    pairs = [({"a": rng.random(), "b": rng.random()}, rng.random() / 10) for _ in range(400)]
    pairs = [(x, x["a"] + x["b"] + y) for x, y in pairs]
    pairs[200] = ({"a": 0.01, "b": 0.01}, 1e6)
    model = ret.ExtraTreesRegressor(n_models=15, window_sizes=(30, 300), seed=1)
    if frame:
        model.learn_many(pd.DataFrame(x for x, _ in pairs), pd.Series(y for _, y in pairs))
    else:
        for x, y in pairs:
            model.learn_one(x, y)
    assert model._core.mixture.highest < 12.0
    errors = [abs(model.predict_one(x) - x["a"] - x["b"]) for x, _ in pairs[201:]]
    assert np.median(errors) < 0.1
