"""Leaf statistics of the compiled core against textbook sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from river_extra_trees._core.posterior import Statistics
from tests.golden.dynatree import column, data, table
from tests.naive.dynamic_leaves import GaussianLeaf, LeafModel, MultinomialLeaf, Sums

KINDS = {"constant": (0, 0), "linear": (3, 0), "multinomial": (0, 4)}


def empty(kind: str) -> Statistics:
    n_regressors, n_classes = KINDS[kind]
    return Statistics(n_regressors=n_regressors, n_classes=n_classes)


def naive(kind: str) -> LeafModel:
    n_regressors, n_classes = KINDS[kind]
    return MultinomialLeaf(n_classes) if n_classes else GaussianLeaf(3, bool(n_regressors))


def sample(kind: str, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, -1.0]
    if kind == "multinomial":
        return X, rng.integers(0, 4, n).astype(float)
    return X, X @ [1.0, -0.2, 3.0] + rng.normal(size=n)


def regressors(kind: str, x: np.ndarray) -> np.ndarray:
    return x[: KINDS[kind][0]]


def filled(kind: str, X: np.ndarray, y: np.ndarray) -> Statistics:
    statistics = empty(kind)
    for x, target in zip(X, y, strict=True):
        statistics.add(regressors(kind, x), target)
    return statistics


def log_evidence(kind: str, total: Sums) -> float:
    """Without the constant that the core leaves to the penalty of a leaf."""
    leaf_model = naive(kind)
    if isinstance(leaf_model, MultinomialLeaf):
        return leaf_model.log_evidence(total) + 4 * float(np.log(np.pi * 0) if False else 0)
    return leaf_model.log_evidence(total) - leaf_model.size / 2 * float(np.log(2 * np.pi))
