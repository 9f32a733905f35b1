"""The predictive mixture against numerical integration and single distributions."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from scipy import integrate, stats

from river_extra_trees._estimator.mixture import StudentMixture

COMPONENTS = [(0.0, 1.0, 5.0, 0.5), (4.0, 0.25, 12.0, 0.3), (-3.0, 2.0, 3.5, 0.2)]


def test_density_is_the_weighted_sum() -> None:
    """At points in and between the components."""
    mixture = StudentMixture(COMPONENTS)
    for y in np.linspace(-8.0, 8.0, 33):
        expected = sum(w * stats.t.pdf(y, df, m, math.sqrt(s)) for m, s, df, w in COMPONENTS)
        assert mixture(y) == pytest.approx(expected, rel=1e-12)
        assert mixture.log_density(y) == pytest.approx(math.log(expected), rel=1e-12)


def test_cdf_is_the_integral_of_the_density() -> None:
    """Between any two points."""
    mixture = StudentMixture(COMPONENTS)
    for low, high in ((-4.0, -1.0), (-1.0, 2.0), (2.0, 6.0)):
        area, _ = integrate.quad(mixture, low, high)
        assert mixture.cdf(high) - mixture.cdf(low) == pytest.approx(area, abs=1e-8)


def test_mean_and_variance_are_those_of_the_mixture() -> None:
    """The spread of the means counts towards the variance."""
    mixture = StudentMixture([(m, s, 30.0, w) for m, s, _, w in COMPONENTS])
    mean, _ = integrate.quad(lambda y: y * mixture(y), -60.0, 60.0, limit=200)
    square, _ = integrate.quad(lambda y: y * y * mixture(y), -60.0, 60.0, limit=200)
    assert mixture.mean == pytest.approx(mean, abs=1e-6)
    assert mixture.variance == pytest.approx(square - mean**2, rel=1e-5)
    assert mixture.sigma == pytest.approx(math.sqrt(mixture.variance))


def test_variance_of_two_degrees_of_freedom_is_infinite() -> None:
    """As that of the component is."""
    assert StudentMixture([(0.0, 1.0, 2.0, 1.0)]).variance == math.inf


@pytest.mark.parametrize("p", [1e-6, 0.05, 0.37, 0.5, 0.95, 1 - 1e-6])
def test_quantile_undoes_the_cdf(p: float) -> None:
    """Quantiles are those of the mixture, not averages over the components."""
    mixture = StudentMixture(COMPONENTS)
    assert mixture.cdf(mixture.quantile(p)) == pytest.approx(p, abs=1e-9)


def test_one_component_is_a_student_t() -> None:
    """Then the quantiles have a closed form."""
    mixture = StudentMixture([(1.0, 4.0, 7.0, 1.0)])
    low, high = mixture.interval(0.9)
    assert (low, high) == pytest.approx(stats.t.ppf([0.05, 0.95], 7.0, 1.0, 2.0))


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, math.nan])
def test_quantile_outside_the_unit_interval_is_refused(p: float) -> None:
    """Levels of intervals as well."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        StudentMixture(COMPONENTS).quantile(p)
    with pytest.raises(ValueError, match="between 0 and 1"):
        StudentMixture(COMPONENTS).interval(p)


def test_samples_follow_the_distribution() -> None:
    """By a Kolmogorov-Smirnov test on a fixed seed."""
    mixture = StudentMixture(COMPONENTS, seed=1)
    draws = [mixture.sample() for _ in range(2000)]
    cdf = np.vectorize(mixture.cdf)
    assert stats.kstest(draws, cdf).pvalue > 1e-3


def test_expected_improvement_is_an_integral() -> None:
    """Of the gain below the best value, over the density."""
    mixture = StudentMixture(COMPONENTS)
    for best in (-4.0, 0.0, 3.0):
        gain, _ = integrate.quad(lambda y, b=best: (b - y) * mixture(y), -np.inf, best)
        assert mixture.expected_improvement(best) == pytest.approx(gain, rel=1e-6)


def test_a_copy_says_the_same() -> None:
    """To the last bit, also of many components, and shows it as text."""
    rng = np.random.default_rng(0)
    components = [(*map(float, rng.random(2)), 5.0, float(rng.random())) for _ in range(37)]
    mixture = StudentMixture(components, seed=3)
    for other in (pickle.loads(pickle.dumps(mixture)), copy.deepcopy(mixture), mixture.clone()):
        assert other.mean == mixture.mean
        assert other.variance == mixture.variance
        assert other.quantile(0.3) == mixture.quantile(0.3)
    assert str(mixture) == repr(mixture)
    assert f"mean={mixture.mean:.4g}" in str(mixture)
