"""The predictive distribution of a regression over several trees."""

from __future__ import annotations

import math
import random
import typing

import numpy as np
from river import proba
from scipy import optimize, special

__all__ = ["StudentMixture"]


class StudentMixture(proba.base.ContinuousDistribution):
    """A mixture of Student-t distributions: what a cloud of dynamic trees believes of a target.

    Each distinct leaf that a sample falls into is one component, weighted by the share of the trees
    that hold it. All answers are those of the mixture as a whole; its quantiles are not averages of
    the quantiles of the components.

    Parameters
    ----------
    components
        Tuples of mean, squared scale, degrees of freedom and weight. With no degrees of freedom
        nothing is known: then a scale of 1 and the heaviest of tails stand for any value at all.
    seed
        Random seed of `sample`: draws differ, those of a copy made before are the same.
    """

    def __init__(
        self, components: list[tuple[float, float, float, float]], seed: int | None = None
    ) -> None:
        super().__init__(seed)
        self.components = components
        means, squares, df, weights = np.array(components, dtype=float).T.copy()
        self._means, self._df = means, np.maximum(df, 1e-3)
        self._scales = np.where(df > 0.0, np.sqrt(np.maximum(squares, 1e-300)), 1.0)
        self._weights = weights / weights.sum()

    def update(self, x: float) -> None:
        """Not possible: a prediction is what it is."""
        raise NotImplementedError("a predictive distribution cannot be updated")

    def revert(self, x: float) -> None:
        """Not possible: a prediction is what it is."""
        raise NotImplementedError("a predictive distribution cannot be reverted")

    @property
    def n_samples(self) -> float:
        """Mean degrees of freedom of the components."""
        return float(self._weights @ self._df)

    @property
    def mean(self) -> float:
        """Mean of the component means."""
        return float(self._weights @ self._means)

    @property
    def mu(self) -> float:
        """The mean, under the name that river's Gaussian has for it."""
        return self.mean

    @property
    def variance(self) -> float:
        """Mean variance of the components and variance of their means; may be infinite."""
        if np.any(self._df <= 2.0):
            return math.inf
        inside = self._scales**2 * self._df / (self._df - 2.0)
        return float(self._weights @ (inside + (self._means - self.mean) ** 2))

    @property
    def sigma(self) -> float:
        """The standard deviation, under the name that river's Gaussian has for it."""
        return math.sqrt(self.variance)

    @property
    def mode(self) -> float:
        """The component mean of the highest density."""
        return float(max(self._means, key=self))

    def log_density(self, x: float) -> float:
        """Log of the density at x."""
        z = (x - self._means) / self._scales
        parts = (
            special.gammaln((self._df + 1.0) / 2.0)
            - special.gammaln(self._df / 2.0)
            - 0.5 * np.log(np.pi * self._df)
            - np.log(self._scales)
            - 0.5 * (self._df + 1.0) * np.log1p(z * z / self._df)
        )
        return float(special.logsumexp(parts, b=self._weights))

    def __call__(self, x: float) -> float:
        """Density at x."""
        return math.exp(self.log_density(x))

    def cdf(self, x: float) -> float:
        """Probability of values up to x."""
        return float(self._weights @ special.stdtr(self._df, (x - self._means) / self._scales))

    def quantile(self, p: float) -> float:
        """The value below which a share p of the probability lies.

        Parameters
        ----------
        p
            A number between 0 and 1, both excluded.
        """
        if not 0.0 < p < 1.0:
            raise ValueError(f"p must lie between 0 and 1, not {p!r}")
        each = self._means + self._scales * special.stdtrit(self._df, p)
        low, high = float(each.min()), float(each.max())
        if high - low <= 1e-12 * (abs(low) + abs(high)):
            return low
        return float(
            optimize.brentq(lambda x: self.cdf(x) - p, low, high, xtol=1e-12 * (high - low))
        )

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """The interval that leaves the same probability on both sides.

        Parameters
        ----------
        level
            Probability inside.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, not {level!r}")
        return self.quantile(0.5 * (1.0 - level)), self.quantile(0.5 * (1.0 + level))

    def expected_improvement(self, best: float) -> float:
        """Mean of the amount by which a value lies below `best`, zero where it does not.

        Parameters
        ----------
        best
            The lowest value so far.
        """
        df = np.maximum(self._df, 1.0 + 1e-6)
        z = np.clip((best - self._means) / self._scales, -1e100, 1e100)  # its square is finite
        density = np.exp(
            special.gammaln((df + 1.0) / 2.0)
            - special.gammaln(df / 2.0)
            - 0.5 * np.log(np.pi * df)
            - 0.5 * (df + 1.0) * np.log1p(z * z / df)
        )
        below = (best - self._means) * special.stdtr(df, z)
        return float(self._weights @ (below + self._scales * (df + z * z) / (df - 1.0) * density))

    def sample(self) -> float:
        """Draw a value."""
        rng: random.Random = self._rng
        i = rng.choices(range(len(self._weights)), weights=self._weights.tolist())[0]
        chi2 = max(rng.gammavariate(self._df[i] / 2.0, 2.0), 1e-300)
        return float(
            self._means[i] + self._scales[i] * rng.gauss(0.0, 1.0) / math.sqrt(chi2 / self._df[i])
        )

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        low, high = self.interval(0.9)
        return f"StudentMixture(mean={self.mean:.4g}, 90% in [{low:.4g}, {high:.4g}])"

    def _get_params(self) -> dict[str, typing.Any]:
        return {"components": self.components, "seed": self.seed}
