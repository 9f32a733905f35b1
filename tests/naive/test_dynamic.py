"""The naive dynamic tree against the outputs of dynaTree 1.2-17 and against itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.golden.dynatree import column, data, table
from tests.naive.dynamic import DynamicTree, Leaf
from tests.naive.dynamic_leaves import GaussianLeaf, LeafModel, MultinomialLeaf

FRIEDMAN, CLASSES = data("fried_train"), data("class_train")
LEAF_MODELS: dict[str, LeafModel] = {
    "constant": GaussianLeaf(5, linear=False),
    "linear_augmented": GaussianLeaf(5, linear=True),
    "class": MultinomialLeaf(3),
}
MIN_SAMPLES_LEAF = {"constant": 4, "linear_augmented": 14, "class": 1}


def stream(leaf: str) -> tuple[np.ndarray, np.ndarray]:
    return CLASSES if leaf == "class" else FRIEDMAN


def published(leaf: str, min_samples_leaf: int | None = None) -> DynamicTree:
    X, y = stream(leaf)
    smallest = min_samples_leaf or MIN_SAMPLES_LEAF[leaf]
    return DynamicTree(X, y, LEAF_MODELS[leaf], smallest, published_scores=True)


@pytest.mark.parametrize("leaf", ["constant", "linear_augmented"])
def test_alc_of_one_leaf_is_dynatree_s(leaf: str) -> None:
    """Closed form over the unit cube for the first 60 rows."""
    model = published(leaf)
    root = Leaf(tuple(range(60)), model.leaf_model.nothing())
    expected = column(table("exact_single_leaf_alc"), f"{leaf}_approxFALSE")
    found = [model.alc(root, model.X[row], np.zeros(5), np.ones(5)) for row in range(60)]
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("leaf", ["constant", "linear_augmented"])
def test_alc_in_closed_form_is_the_integral(leaf: str) -> None:
    """Also over boxes that are not the unit cube."""
    model = published(leaf)
    assert isinstance(model.leaf_model, GaussianLeaf)
    total = model.sums(range(40))
    lower, upper = np.array([-1.0, 0.2, 0.0, 0.5, 0.1]), np.array([0.5, 1.0, 0.3, 2.0, 0.9])
    for row in range(10):
        closed = model.leaf_model.alc(total, model.X[row], lower, upper)
        integral = model.leaf_model.alc_by_quadrature(total, model.X[row], lower, upper)
        assert closed == pytest.approx(integral, rel=1e-9)


@pytest.mark.parametrize("leaf", LEAF_MODELS)
def test_evidence_is_the_product_of_predictives(leaf: str) -> None:
    """p(y_1..y_n) p(y_n+1 | y_1..y_n) = p(y_1..y_n+1): every constant has to be right."""
    model = replace(published(leaf), published_scores=False)
    retired = model.sums(range(10)) * 0.7
    for row in range(40, 60):
        before, after = model.sums(range(40)) + retired, model.sums([*range(40), row]) + retired
        step = model.leaf_model.log_evidence(after) - model.leaf_model.log_evidence(before)
        density = model.leaf_model.log_predictive(before, model.X[row], model.y[row])
        assert step == pytest.approx(density, abs=1e-9)
