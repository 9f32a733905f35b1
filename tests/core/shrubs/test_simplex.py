"""The proximal operators that decide which trees keep a weight."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import compiled
from tests.naive.shrubs import project_simplex

TABLE = json.loads((Path(__file__).parents[2] / "golden/shrubs/prox_table.json").read_text())
WEIGHTS = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40)


def test_projection_is_the_exact_minimiser() -> None:
    """The projection is a point found by enumerating all supports in rational arithmetic."""
    for case in TABLE["simplex_topM"]:
        found = compiled.nearest_on_simplex(case["v"], case["M"])
        wanted = case["solutions"]
        assert any(found == pytest.approx(each, abs=1e-12) for each in wanted), case["note"]


def test_thresholds_are_the_exact_minimisers() -> None:
    """Soft and hard thresholds solve the scalar problems of the L1 and L0 regularisers."""
    for case in TABLE["thresholds"]:
        found = compiled.soft(case["w"], case["lam"], case["step"])
        assert found == pytest.approx(case["L1_soft"], abs=1e-15), case
        if not case["L0_tie"]:
            assert compiled.hard(case["w"], case["lam"], case["step"]) == case["L0_hard"], case


@given(WEIGHTS)
def test_projection_agrees_with_the_sorting_one(weights: list[float]) -> None:
    """Raising the threshold until nothing leaves finds what sorting finds."""
    for n_models in (len(weights), max(1, len(weights) // 2)):
        smaller, larger = sorted(weights)[:-n_models], sorted(weights)[-n_models:]
        wanted = [0.0] * len(smaller) + project_simplex(larger)
        found = sorted(compiled.nearest_on_simplex(weights, n_models))
        assert found == pytest.approx(wanted, abs=1e-9)


@given(st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=40))
def test_projection_is_on_the_simplex_whatever_the_weights(weights: list[float]) -> None:
    """Huge weights neither hang the projection nor leave the simplex."""
    answer = compiled.nearest_on_simplex(weights, len(weights))
    assert min(answer) >= 0.0
    assert sum(answer) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    ("weights", "gone"), [([0.5, 0.5, 0.5], 2), ([0.5, 0.5, 0.6], 0), ([0.6, 0.4, 0.4, 0.5], 1)]
)
def test_which_weight_leaves(weights: list[float], gone: int) -> None:
    """The newcomer, which is the last, unless it is strictly larger; else the oldest of equals."""
    assert compiled.nearest_on_simplex(weights, len(weights) - 1)[gone] == 0.0
