"""The predictive distribution of the regressors: a mixture of Student-t distributions."""

from __future__ import annotations

import math
import random
import struct
import typing
import zlib

import numpy as np
from river import base
from scipy import special

from .._core.state import LARGEST_FLOAT

__all__ = ["StudentMixture", "seed_of"]

# With these bounds, the quantiles of all probabilities from 1e-15 on are finite: for 0.1 degrees of
# freedom they lie within 1e150 scales of the mean.
LEAST_DF = 0.1
LEAST_SCALE = 1e-150
LARGEST_SCALE = 1e153
# Least scale of an unknown spread, relative to the mean. Around a mean of 1e99, a scale of 1 is far
# smaller than the distance of two floats.
LEAST_RELATIVE_SCALE = 1e-9


# Degrees of freedom, and the quantiles of |t| at a half and .9 of the distributions that have them.
DF = np.geomspace(2.05, 100.0, 200)
HALVES, MOSTS = special.stdtrit(DF, 0.75), special.stdtrit(DF, 0.95)


def tails_of(half: float, most: float) -> tuple[float, float]:
    """Return degrees of freedom and scale of the t-distribution with these quantiles of |z|.

    If none has them, their product is right: one interval is too wide, and one too narrow.
    """
    df = float(np.interp(half / most, HALVES / MOSTS, DF))
    of_t = float(np.interp(df, DF, HALVES) * np.interp(df, DF, MOSTS))
    return df, math.sqrt(half * most / of_t)


class StudentMixture(base.Base):
    """A mixture of Student-t distributions, with the methods of river's distributions.

    It is not derived from river's classes, because `river.proba` imports all of `scipy.stats`.

    Dynamic trees predict one component for each distinct leaf of the sample, weighted by the share
    of the trees that contain this leaf.

    Parameters
    ----------
    components
        Tuples of mean, squared scale, degrees of freedom and weight. A component with 0 degrees of
        freedom gets 0.1 degrees of freedom and a scale of 1, or of a billionth of its mean if that
        is more.
    seed
        Seed of `sample`. Copies draw the same values.

    Examples
    --------
    >>> from river_extra_trees._estimator.mixture import StudentMixture
    >>> mixture = StudentMixture([(0.0, 1.0, 30.0, 0.75), (10.0, 1.0, 30.0, 0.25)])
    >>> mixture.mean
    2.5
    >>> low, high = mixture.interval(0.9)
    >>> round(mixture.cdf(high) - mixture.cdf(low), 9)
    0.9
    """

    def __init__(
        self, components: list[tuple[float, float, float, float]], seed: int | None = None
    ) -> None:
        self.components = components
        self.seed = seed
        self._rng = random.Random(seed)
        means, squares, df, weights = np.array(components, dtype=float).T.copy()
        self._means, self._df = means, np.maximum(df, LEAST_DF)
        scales = np.clip(np.sqrt(np.maximum(squares, 0.0)), LEAST_SCALE, LARGEST_SCALE)
        unknown = np.maximum(1.0, LEAST_RELATIVE_SCALE * np.abs(means))
        self._scales = np.where(df > 0.0, scales, unknown)
        self._weights = weights / weights.sum()

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
        """Mean, with the name that it has in river's Gaussian."""
        return self.mean

    @property
    def variance(self) -> float:
        """Mean variance of the components plus variance of their means; may be infinite."""
        if np.any(self._df <= 2.0):
            return math.inf
        with np.errstate(over="ignore"):
            inside = self._scales**2 * self._df / (self._df - 2.0)
            return float(self._weights @ (inside + (self._means - self.mean) ** 2))

    @property
    def sigma(self) -> float:
        """Standard deviation, with the name that it has in river's Gaussian."""
        return math.sqrt(self.variance)

    @property
    def mode(self) -> float:
        """The component mean with the highest density."""
        return float(max(self._means, key=self))

    def _standardised(self, x: float) -> typing.Any:
        """Distance of x from the mean of each component, divided by its scale."""
        with np.errstate(over="ignore"):
            return (x - self._means) / self._scales

    def log_density(self, x: float) -> float:
        """Log of the density at x."""
        z = np.clip(self._standardised(x), -1e150, 1e150)  # so that its square is finite
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
        return float(self._weights @ special.stdtr(self._df, self._standardised(x)))

    def quantile(self, p: float) -> float:
        """Inverse of `cdf`, for the mixture as a whole.

        Parameters
        ----------
        p
            Probability, between 0 and 1, both excluded.

        Returns
        -------
        A number q with abs(cdf(q) - p) <= 1e-12 min(p, 1 - p). If the cdf is so steep that no float
        satisfies this, the least float q with cdf(q) >= p.

        Raises
        ------
        ValueError
            If p is not between 0 and 1.
        """
        if not 0.0 < p < 1.0:
            raise ValueError(f"p must lie between 0 and 1, not {p!r}")
        tolerance = 1e-12 * min(p, 1.0 - p)
        with np.errstate(over="ignore"):
            each = self._means + self._scales * special.stdtrit(self._df, p)
        low, high = float(each.min()), float(each.max())  # without rounding, q lies between
        below, above = self.cdf(low) - p, self.cdf(high) - p
        if abs(below) <= tolerance:
            return low
        if abs(above) <= tolerance:
            return high
        if below > 0.0:  # rounding
            low, below = -LARGEST_FLOAT, -p
        if above < 0.0:
            high, above = LARGEST_FLOAT, 1.0 - p
        step, moved = 0, ""
        while True:
            step += 1
            x = float_between(low, high)
            if x in (low, high):
                return high
            if step % 8:  # Illinois method; every eighth step bisects the floats, so that it ends
                guess = low - below * ((high - low) / (above - below))
                x = guess if low < guess < high else x
            difference = self.cdf(x) - p
            if abs(difference) <= tolerance:
                return x
            if difference < 0.0:
                above *= 0.5 if moved == "low" else 1.0
                low, below, moved = x, difference, "low"
            else:
                below *= 0.5 if moved == "high" else 1.0
                high, above, moved = x, difference, "high"

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """Central interval: the same probability lies below and above it.

        Parameters
        ----------
        level
            Probability of the interval, between 0 and 1, both excluded.

        Returns
        -------
        The lower and the upper end.

        Raises
        ------
        ValueError
            If the level is not between 0 and 1.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, not {level!r}")
        # The upper end is the lower one of -Y: 1 minus a small probability would lose its digits.
        mirrored = StudentMixture([(-m, scale2, df, w) for m, scale2, df, w in self.components])
        beyond = 0.5 * (1.0 - level)
        return self.quantile(beyond), -mirrored.quantile(beyond)

    def expected_improvement(self, best: float) -> float:
        """Expected value of max(0, best - Y), for a minimisation.

        Parameters
        ----------
        best
            The lowest value so far.

        Returns
        -------
        The expected improvement.
        """
        df = np.maximum(self._df, 1.0 + 1e-6)
        z = np.clip(self._standardised(best), -1e100, 1e100)  # so that its square is finite
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
        rng = self._rng
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


def seed_of(components: list[tuple[float, float, float, float]], seed: int | None) -> int | None:
    """Derive the seed of a distribution from its components, so that predictions differ."""
    if seed is None:
        return None
    return zlib.crc32(np.array(components).tobytes() + str(seed).encode())


def float_between(low: float, high: float) -> float:
    """Return the middle one of all floats from low to high."""
    return float_at((rank(low) + rank(high)) // 2)


def rank(x: float) -> int:
    """Return the rank of a float in the order of all floats; 0 has rank 0."""
    bits: int = struct.unpack("<q", struct.pack("<d", x))[0]
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def float_at(number: int) -> float:
    """Return the float of a rank; the inverse of `rank`."""
    x: float = struct.unpack("<d", struct.pack("<q", abs(number)))[0]
    return x if number >= 0 else -x
