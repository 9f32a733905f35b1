"""Tiny streams whose exact law can be listed, and wrong models that the tests must tell apart."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from tests.naive.dynamic import DynamicTree, Leaf, Split
from tests.naive.dynamic_leaves import GaussianLeaf, MultinomialLeaf, Sums


def constant_problem() -> DynamicTree:
    """Ten points on the places of a three by three grid, leaves with their mean."""
    X = np.array([[2, 0, 1, 0, 1, 2, 1, 0, 0, 2], [2, 1, 2, 1, 2, 0, 2, 0, 0, 1]], dtype=float).T
    y = np.array([12.0, -4.0, -6.0, -9.0, -4.0, 18.0, 7.0, 4.0, -7.0, 8.0]) / 100
    return DynamicTree(X, y, GaussianLeaf(2, linear=False), min_samples_leaf=3)


def linear_problem() -> DynamicTree:
    """Eleven points on a line, leaves with a straight line."""
    X = np.array([3.0, 2.0, 1.0, 2.0, 0.0, 1.0, 3.0, 4.0, 5.0, 4.0, 0.0])[:, None]
    y = np.array([-4.0, 15.0, -4.0, 19.0, 10.0, 15.0, 0.0, 17.0, 17.0, 19.0, 13.0]) / 100
    return DynamicTree(X, y, GaussianLeaf(1, linear=True), min_samples_leaf=3)


def multinomial_problem() -> DynamicTree:
    """Eight points of two classes on the places of a three by two grid."""
    X = np.array([[1, 0, 0, 2, 2, 1, 1, 0], [0, 0, 1, 1, 1, 0, 0, 1]], dtype=float).T
    y = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    return DynamicTree(X, y, MultinomialLeaf(2), min_samples_leaf=1)


PROBLEMS = {
    "constant": constant_problem,
    "linear": linear_problem,
    "multinomial": multinomial_problem,
}


def uneven_constant_problem() -> DynamicTree:
    """Ten points, most of them at one end of a line, leaves with their mean."""
    X = np.array([1.0, 0.0, 4.0, 0.0, 0.0, 3.0, 4.0, 4.0, 1.0, 4.0])[:, None]
    y = np.array([9.0, 8.0, 10.0, 4.0, 2.0, 3.0, 5.0, 9.0, 21.0, 6.0]) / 100
    return DynamicTree(X, y, GaussianLeaf(1, linear=False), min_samples_leaf=2)


def uneven_linear_problem() -> DynamicTree:
    """Eleven points on a line, leaves with a straight line."""
    X = np.array([4.0, 2.0, 5.0, 3.0, 3.0, 4.0, 2.0, 4.0, 2.0, 1.0, 5.0])[:, None]
    y = np.array([18.0, 2.0, 17.0, 4.0, 11.0, -2.0, -3.0, -8.0, -8.0, 6.0, 1.0]) / 100
    return DynamicTree(X, y, GaussianLeaf(1, linear=True), min_samples_leaf=3)


def uneven_multinomial_problem() -> DynamicTree:
    """Ten points of two classes on a line."""
    X = np.array([2.0, 3.0, 3.0, 0.0, 2.0, 1.0, 3.0, 2.0, 2.0, 1.0])[:, None]
    y = np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    return DynamicTree(X, y, MultinomialLeaf(2), min_samples_leaf=1)


# Problems in which splits have many samples on one side and few on the other, so that it matters
# how retired ones are shared out, and the size of the window.
RETIRING = {
    "constant": (uneven_constant_problem, 5),
    "linear": (uneven_linear_problem, 8),
    "multinomial": (uneven_multinomial_problem, 7),
}


class OneDegreeOfFreedomMore(GaussianLeaf):
    """The coefficients do not cost a degree of freedom more than the mean does."""

    def degrees_of_freedom(self, total: Sums) -> float:
        return super().degrees_of_freedom(total) + 1


class NoDeterminant(GaussianLeaf):
    """The evidence forgets the volume of the coefficients."""

    def log_determinant(self, total: Sums) -> float:
        return 0.0 * super().log_determinant(total)


class OtherPriorExponent(GaussianLeaf):
    """The prior of the variance is 1 / sigma^4 in the evidence."""

    def log_evidence(self, total: Sums) -> float:
        df = self.degrees_of_freedom(total)
        more = gammaln(df / 2 + 1) - gammaln(df / 2) - np.log(self.residual(total) / 2)
        return super().log_evidence(total) + float(more)


class UniformDirichlet(MultinomialLeaf):
    """Dirichlet(1, ..., 1) in place of Dirichlet(1/K, ..., 1/K)."""

    def __init__(self, n_classes: int) -> None:
        super().__init__(n_classes)
        self.concentration = 1.0


@dataclass(frozen=True)
class OtherDepthExponent(DynamicTree):
    """Splits become rarer with depth, but not fast enough."""

    def log_prior(self, depth: int, split: bool) -> float:
        return DynamicTree.log_prior(replace(self, beta=self.beta - 1), depth, split)


@dataclass(frozen=True)
class HalvedRetirement(DynamicTree):
    """Both sides of a split get half of what the leaf has retired, whatever they hold."""

    def grown(self, leaf: Leaf, column: int, cut: float) -> Split:
        split = super().grown(leaf, column, cut)
        assert isinstance(split.left, Leaf)
        assert isinstance(split.right, Leaf)
        half = leaf.retired * 0.5
        return replace(
            split, left=replace(split.left, retired=half), right=replace(split.right, retired=half)
        )


def with_halved_retirement(model: DynamicTree) -> DynamicTree:
    return HalvedRetirement(**fields_of(model))


def fields_of(model: DynamicTree) -> dict[str, Any]:
    return {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}


def with_leaf_model(model: DynamicTree, leaf_model: type[GaussianLeaf]) -> DynamicTree:
    assert isinstance(model.leaf_model, GaussianLeaf)
    return replace(model, leaf_model=leaf_model(model.X.shape[1], linear=model.leaf_model.linear))


def mutants(model: DynamicTree) -> dict[str, DynamicTree]:
    """Wrong versions of a model, by what is wrong with them."""
    wrong: dict[str, DynamicTree] = {"depth exponent": OtherDepthExponent(**fields_of(model))}
    if isinstance(model.leaf_model, MultinomialLeaf):
        wrong["Dirichlet"] = replace(model, leaf_model=UniformDirichlet(model.leaf_model.n_classes))
        return wrong
    wrong["degrees of freedom"] = with_leaf_model(model, OneDegreeOfFreedomMore)
    wrong["determinant"] = with_leaf_model(model, NoDeterminant)
    wrong["prior exponent"] = with_leaf_model(model, OtherPriorExponent)
    return wrong
