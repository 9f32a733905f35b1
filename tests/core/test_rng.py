"""The streams of random numbers of the naive generator, which the core is compared with."""

import math

import pytest

from tests.naive.rng import NaiveRng


@pytest.mark.parametrize("part", range(4))
def test_neighbouring_names_have_unrelated_streams(part: int) -> None:
    """Streams whose names differ by one in one part are uncorrelated."""
    n = 5_000
    name = [3, 3, 3, 3]
    neighbour = name.copy()
    neighbour[part] += 1
    one, other = NaiveRng(*name), NaiveRng(*neighbour)
    products = [(one.uniform() - 0.5) * (other.uniform() - 0.5) for _ in range(n)]
    assert abs(sum(products) / n) < 5 * (1 / 12) / math.sqrt(n)
