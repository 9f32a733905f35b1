"""Tiny streams whose exact law can be listed, and wrong models that the tests must tell apart."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from tests.naive.dynamic import DynamicTree
from tests.naive.dynamic_leaves import GaussianLeaf, MultinomialLeaf, Sums


def constant_problem() -> DynamicTree:
    """Ten points on four places of a line, leaves with their mean."""
    X = np.array([3.0, 3.0, 2.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0])[:, None]
    y = np.array([-10.0, -10.0, 55.0, 65.0, -55.0, 15.0, 65.0, 0.0, 45.0, 50.0]) / 1000
    return DynamicTree(X, y, GaussianLeaf(1, linear=False), min_samples_leaf=3)


def linear_problem() -> DynamicTree:
    """Eleven points on a line, leaves with a straight line."""
    X = np.array([7.0, 0.0, 5.0, 0.0, 1.0, 2.0, 2.0, 3.0, 4.0, 1.0, 6.0])[:, None]
    y = np.array([45, 120, 60, 135, 135, 150, 30, 110, -55, 85, 110]) / 1000
    return DynamicTree(X, y, GaussianLeaf(1, linear=True), min_samples_leaf=4)


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


def with_leaf_model(model: DynamicTree, leaf_model: type[GaussianLeaf]) -> DynamicTree:
    assert isinstance(model.leaf_model, GaussianLeaf)
    return replace(model, leaf_model=leaf_model(model.X.shape[1], linear=model.leaf_model.linear))


def mutants(model: DynamicTree) -> dict[str, DynamicTree]:
    """Wrong versions of a model, by what is wrong with them."""
    fields = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    wrong: dict[str, DynamicTree] = {"depth exponent": OtherDepthExponent(**fields)}
    if isinstance(model.leaf_model, MultinomialLeaf):
        wrong["Dirichlet"] = replace(model, leaf_model=UniformDirichlet(model.leaf_model.n_classes))
        return wrong
    wrong["degrees of freedom"] = with_leaf_model(model, OneDegreeOfFreedomMore)
    wrong["determinant"] = with_leaf_model(model, NoDeterminant)
    wrong["prior exponent"] = with_leaf_model(model, OtherPriorExponent)
    return wrong
