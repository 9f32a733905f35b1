"""The predictive mixture against numerical integration and single distributions."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from river_extra_trees._estimator.mixture import StudentMixture, tails_of

COMPONENTS = [(0.0, 1.0, 5.0, 0.5), (4.0, 0.25, 12.0, 0.3), (-3.0, 2.0, 3.5, 0.2)]


def test_numerical_integration_agrees() -> None:
    """Density, distribution function, moments and expected improvement of a mixture."""
    mixture = StudentMixture(COMPONENTS)
    for y in np.linspace(-8.0, 8.0, 33):
        expected = sum(w * stats.t.pdf(y, df, m, math.sqrt(s)) for m, s, df, w in COMPONENTS)
        assert mixture(y) == pytest.approx(expected, rel=1e-12)
        assert mixture.log_density(y) == pytest.approx(math.log(expected), rel=1e-12)
    for low, high in ((-4.0, -1.0), (-1.0, 2.0), (2.0, 6.0)):
        area, _ = integrate.quad(mixture, low, high)
        assert mixture.cdf(high) - mixture.cdf(low) == pytest.approx(area, abs=1e-8)
    for best in (-4.0, 0.0, 3.0):
        gain, _ = integrate.quad(lambda y, b=best: (b - y) * mixture(y), -np.inf, best)
        assert mixture.expected_improvement(best) == pytest.approx(gain, rel=1e-6)
    mixture = StudentMixture([(m, s, 30.0, w) for m, s, _, w in COMPONENTS])
    mean, _ = integrate.quad(lambda y: y * mixture(y), -60.0, 60.0, limit=200)
    square, _ = integrate.quad(lambda y: y * y * mixture(y), -60.0, 60.0, limit=200)
    assert mixture.mean == pytest.approx(mean, abs=1e-6)
    assert mixture.variance == pytest.approx(square - mean**2, rel=1e-5)
    assert mixture.sigma == pytest.approx(math.sqrt(mixture.variance))


def is_inverse(mixture: StudentMixture, p: float) -> bool:
    """Whether cdf and quantile are inverse, as far as floats allow."""
    x = mixture.quantile(p)
    reached = mixture.cdf(x)
    if abs(reached - p) <= 1e-9 * min(p, 1 - p):
        return True
    return mixture.cdf(math.nextafter(x, -math.inf)) < p <= reached  # the cdf jumps over p


SIZES = st.one_of(
    st.sampled_from([0.0, 1.7e308, math.inf]), st.floats(1e-300, 1e300), st.floats(1e-3, 1e3)
)
MEANS = st.one_of(st.just(0.0), st.floats(-1e150, 1e150), st.floats(-10.0, 10.0))
FREEDOM = st.one_of(st.just(0.0), st.floats(1e-3, 5.0), st.floats(5.0, 1e12))
ANY_COMPONENT = st.tuples(MEANS, SIZES, FREEDOM, st.floats(1e-6, 1.0))


@settings(max_examples=120)
@given(st.lists(ANY_COMPONENT, min_size=1, max_size=8), st.floats(1e-12, 1 - 1e-12))
def test_quantile_of_any_mixture(components: list[tuple[float, ...]], p: float) -> None:
    """Components may be narrower than the others by any factor, or know nothing."""
    mixture = StudentMixture(components)
    assert math.isfinite(mixture.quantile(p))
    assert is_inverse(mixture, p)
    low, high = mixture.interval(0.9)
    assert low <= high
    assert mixture.sigma >= 0.0
    assert "90% in" in repr(mixture)


@pytest.mark.parametrize("level", [0.5, 1.0 - 1e-12, 1.0 - 2**-53])
def test_the_ends_of_an_interval_have_the_same_tails(level: float) -> None:
    """Also where 1 minus half of what lies outside is 1."""
    components = [(0.0, 1.0, 30.0, 0.75), (10.0, 4.0, 3.0, 0.25)]
    mirrored = StudentMixture([(-mean, *others) for mean, *others in components])
    low, high = StudentMixture(components).interval(level)
    tails = [StudentMixture(components).cdf(low), mirrored.cdf(-high)]
    assert tails == pytest.approx([(1.0 - level) / 2] * 2, rel=1e-9)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, math.nan])
def test_quantile_outside_the_unit_interval_is_refused(p: float) -> None:
    """Levels of intervals as well."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        StudentMixture(COMPONENTS).quantile(p)
    with pytest.raises(ValueError, match="between 0 and 1"):
        StudentMixture(COMPONENTS).interval(p)


def test_the_largest_level_has_an_interval() -> None:
    """Half of what it leaves out is less than the distance of two floats below 1."""
    low, high = StudentMixture(COMPONENTS).interval(math.nextafter(1.0, 0.0))
    assert -math.inf < low < high < math.inf


def test_samples_follow_the_distribution() -> None:
    """By a Kolmogorov-Smirnov test on a fixed seed."""
    mixture = StudentMixture(COMPONENTS, seed=1)
    draws = [mixture.sample() for _ in range(2000)]
    cdf = np.vectorize(mixture.cdf)
    assert stats.kstest(draws, cdf).pvalue > 1e-3


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


@pytest.mark.parametrize("df", [2.1, 3.0, 10.0, 90.0])
def test_a_distribution_has_the_quantiles_that_were_learned(df: float) -> None:
    """A half and nine tenths of the probability lie within them."""
    half, most = 3.0 * special.stdtrit(df, [0.75, 0.95])
    found, scale = tails_of(half, most)
    answer = StudentMixture([(0.0, scale**2, found, 1.0)])
    assert answer.interval(0.5)[1] == pytest.approx(half, rel=1e-3)
    assert answer.interval(0.9)[1] == pytest.approx(most, rel=1e-3)
