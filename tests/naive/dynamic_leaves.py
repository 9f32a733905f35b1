"""Leaf models of a dynamic tree, written as the textbook has them: one weighted sum per statistic.

A leaf holds sums over its active points and sums over its retired ones. Everything that is asked
of a leaf is a function of the two. Gaussian leaves carry the prior 1 / sigma^2 (paper, section
2.1), multinomial leaves a Dirichlet(1/K, ..., 1/K).
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

Array = np.ndarray
LEAST_DF = 0.1  # more than two, of a variance


class Sums(NamedTuple):
    """Weighted sums over the points of a leaf."""

    weight: float
    gram: Array  # sum of z z', z the row of the design
    cross: Array  # sum of z y
    square: float  # sum of y^2
    counts: Array  # points of each class

    def __add__(self, other: Sums) -> Sums:
        return Sums(*(one + more for one, more in zip(self, other, strict=True)))

    def __mul__(self, factor: float) -> Sums:
        return Sums(*(one * factor for one in self))


class GaussianLeaf:
    """A regression leaf: on the intercept alone (constant) or on every column as well (linear)."""

    def __init__(self, n_features: int, linear: bool) -> None:
        self.linear = linear
        self.size = 1 + n_features * linear  # columns of the design

    def design(self, x: Array) -> Array:
        return np.concatenate(([1.0], x)) if self.linear else np.ones(1)

    def nothing(self) -> Sums:
        return Sums(0.0, np.zeros((self.size, self.size)), np.zeros(self.size), 0.0, np.zeros(0))

    def sums(self, X: Array, y: Array, weights: Array | float = 1.0) -> Sums:
        Z = np.column_stack([np.ones(len(y)), X]) if self.linear else np.ones((len(y), 1))
        w = weights * np.ones(len(y))
        return Sums(w.sum(), Z.T * w @ Z, Z.T @ (w * y), w @ y**2, np.zeros(0))

    def degrees_of_freedom(self, total: Sums) -> float:
        return total.weight - self.size

    def coefficients(self, total: Sums) -> Array:
        return np.linalg.solve(total.gram, total.cross)

    def residual(self, total: Sums) -> float:
        """Sum of squares that the fit leaves over (s - R in section 3.1)."""
        return total.square - self.coefficients(total) @ total.cross

    def log_determinant(self, total: Sums) -> float:
        return float(np.linalg.slogdet(total.gram)[1])

    def predictive(self, total: Sums, x: Array) -> tuple[float, float, float]:
        """Degrees of freedom, location and scale of the Student-t of the next target at x."""
        z = self.design(x)
        df = self.degrees_of_freedom(total)
        leverage = z @ np.linalg.solve(total.gram, z)
        scale = np.sqrt(self.residual(total) / df * (1.0 + leverage))
        return df, float(self.coefficients(total) @ z), float(scale)

    def log_predictive(self, total: Sums, x: Array, y: float) -> float:
        """Of y at x; a leaf without spread has no density, and counts as if it had none there."""
        if self.residual(total) <= 1e-9 * total.square:
            return -np.inf
        df, location, scale = self.predictive(total, x)
        residual = (y - location) / scale
        return float(
            gammaln((df + 1) / 2)
            - gammaln(df / 2)
            - np.log(df * np.pi * scale**2) / 2
            - (df + 1) / 2 * np.log1p(residual**2 / df)
        )

    def log_evidence(self, total: Sums) -> float:
        """Integral of likelihood x 1 / sigma^2 over coefficients and variance."""
        df = self.degrees_of_freedom(total)
        return float(
            -df / 2 * np.log(2 * np.pi)
            - self.log_determinant(total) / 2
            - df / 2 * np.log(self.residual(total) / 2)
            + gammaln(df / 2)
        )

    def published_score(self, active: Sums, retired: Sums) -> float:
        """What dynaTree 1.2-17 compares in its moves: 2/pi for 2 pi, own retired terms.

        A leaf without active points has no terms of theirs, and a prior without spread none of its.
        """
        total = active + retired
        n, g = active.weight, retired.weight
        df = self.degrees_of_freedom(total)
        score = -(n - self.size) / 2 * np.log(2 / np.pi)
        score += -df / 2 * np.log(self.residual(total) / 2) + gammaln(df / 2)
        if self.linear:
            score -= self.log_determinant(total) / 2
        elif n > 0.0:
            score -= np.log(n) / 2
        if g == 0.0:
            return float(score)
        spread = retired.square
        if not self.linear:
            retired_mean = retired.cross[0] / g
            mean = active.cross[0] / n if n > 0.0 else 0.0
            spread += -g * retired_mean**2 + n * g / (n + g) * (mean - retired_mean) ** 2
            score += np.log(g) / 2
        if spread <= 0.0:
            return float(score)
        return float(score + g / 2 * np.log(spread / 2) - gammaln(g / 2))

    def alc(self, total: Sums, x: Array, lower: Array, upper: Array) -> float:
        """Fall of the predictive variance when one more target at x is seen (section 4.2).

        Integrated over a box by a product of two-point Gauss rules, exact for squares of linear
        forms.
        """
        kernel, at_x = np.linalg.inv(total.gram), self.design(x)
        noise = self.residual(total) / max(self.degrees_of_freedom(total) - 2, LEAST_DF)
        offset = 0.5 / np.sqrt(3.0)
        corners = itertools.product((0.5 - offset, 0.5 + offset), repeat=len(lower))
        places = [self.design(lower + (upper - lower) * np.array(corner)) for corner in corners]
        falls = noise * (places @ kernel @ at_x) ** 2 / (1 + at_x @ kernel @ at_x)
        return float(np.mean(falls) * np.prod(upper - lower))

    def mean_and_variance(self, total: Sums, x: Array) -> tuple[float, float]:
        df, location, scale = self.predictive(total, x)
        return location, scale**2 * df / max(df - 2, LEAST_DF)


class InformedLeaf(GaussianLeaf):
    """A regression leaf with a proper prior: sums of samples that nobody has seen."""

    def __init__(self, n_features: int, linear: bool, prior: Sums, df_offset: float) -> None:
        super().__init__(n_features, linear)
        self.prior, self.df_offset = prior, df_offset

    def degrees_of_freedom(self, total: Sums) -> float:
        """The prior has its own, whatever its weight."""
        return total.weight - self.prior.weight + self.df_offset

    def predictive(self, total: Sums, x: Array) -> tuple[float, float, float]:
        return super().predictive(total + self.prior, x)

    def alc(self, total: Sums, x: Array, lower: Array, upper: Array) -> float:
        return super().alc(total + self.prior, x, lower, upper)

    def log_evidence(self, total: Sums) -> float:
        return super().log_evidence(total + self.prior) - super().log_evidence(self.prior)


class MultinomialLeaf:
    """A classification leaf over classes 0..K-1."""

    size = 0  # parameters that need data before the leaf predicts

    def __init__(self, n_classes: int, concentration: float | None = None) -> None:
        self.n_classes = n_classes
        self.concentration = concentration or 1 / n_classes

    def nothing(self) -> Sums:
        return Sums(0.0, np.zeros((0, 0)), np.zeros(0), 0.0, np.zeros(self.n_classes))

    def sums(self, X: Array, y: Array, weights: Array | float = 1.0) -> Sums:
        counts = np.bincount(y.astype(int), weights * np.ones(len(y)), self.n_classes)
        return Sums(counts.sum(), np.zeros((0, 0)), np.zeros(0), 0.0, counts)

    def probabilities(self, total: Sums) -> Array:
        prior = self.concentration
        return (total.counts + prior) / (total.weight + self.n_classes * prior)

    def log_predictive(self, total: Sums, x: Array, y: float) -> float:
        return float(np.log(self.probabilities(total)[int(y)]))

    def log_evidence(self, total: Sums) -> float:
        prior = self.concentration
        return float(
            gammaln(self.n_classes * prior)
            - gammaln(total.weight + self.n_classes * prior)
            + np.sum(gammaln(total.counts + prior))
            - self.n_classes * gammaln(prior)
        )

    def published_score(self, active: Sums, retired: Sums) -> float:
        return self.log_evidence(active + retired)

    def entropy(self, total: Sums) -> float:
        share = self.probabilities(total)
        return float(-np.sum(share * np.log(share)))


LeafModel = GaussianLeaf | MultinomialLeaf
