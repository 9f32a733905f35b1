"""The leaves of naive dynamic trees against the outputs of dynaTree 1.2-17 and themselves."""

import numpy as np
import pytest

from tests.golden.dynatree import column, table
from tests.naive.dynamic_problems import dynatree_stream


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_alc_of_one_leaf_is_dynatree_s(leaf: str) -> None:
    """Over the unit cube for the first 60 rows."""
    model = dynatree_stream(leaf)
    total = model.sums(range(60))
    name = f"{'linear_augmented' if leaf == 'linear' else leaf}_approxFALSE"
    expected = column(table("exact_single_leaf_alc"), name)
    found = [model.leaf_model.alc(total, x, np.zeros(5), np.ones(5)) for x in model.X[:60]]
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("leaf", ["constant", "linear", "class"])
def test_evidence_is_the_product_of_predictives(leaf: str) -> None:
    """p(y_1..y_n) p(y_n+1 | y_1..y_n) = p(y_1..y_n+1): every constant has to be right."""
    model = dynatree_stream(leaf)
    retired = model.sums(range(10)) * 0.7
    for row in range(40, 60):
        before, after = model.sums(range(40)) + retired, model.sums([*range(40), row]) + retired
        step = model.leaf_model.log_evidence(after) - model.leaf_model.log_evidence(before)
        density = model.leaf_model.log_predictive(before, model.X[row], model.y[row])
        assert step == pytest.approx(density, abs=1e-9)
