"""The rows of a growth: each column has the lane, and each value the code, of the naive ones."""

import math
import random
from collections.abc import Callable

import numpy as np
import pytest

from tests.naive.cart import Rules, Sample
from tests.tools.growing import CODES
from tests.tools.growths import in_rows, naive_growth, stepped, targets

Maker = Callable[[random.Random, int], float]
MISSING = math.nan

COLUMNS: dict[str, list[Maker]] = {
    "bytes": [lambda r, i: float(r.randrange(256))] * 21,
    "bytes would save nothing": [lambda r, i: float(r.randrange(9))] * 2,
    "bytes before floats": [lambda r, i: r.random()] * 3 + [lambda r, i: float(i % 2)] * 9,
    "neither 256 nor -1 nor 0.5 is a byte": [
        lambda r, i: float(r.choice([0, 256])),
        lambda r, i: float(r.choice([0, -1])),
        lambda r, i: r.choice([0.0, 0.5]),
        *[lambda r, i: float(r.randrange(3))] * 8,
    ],
    "one missing value": [lambda r, i: MISSING if i == 1_400 else float(r.randrange(9))] * 6,
    "one value unlike all before": [
        lambda r, i: 1e35 if i == 1_400 else r.random() - 0.5,
        lambda r, i: 99.9 if i == 1_400 else 1.1 + r.random() / 2,
        lambda r, i: 0.1 if i == 1_400 else float(r.randrange(9)),
    ],
    "four at a time, or one": [lambda r, i: float(r.randrange(9)), lambda r, i: 0.1 * i] * 3,
    "doubles of one magnitude": [lambda r, i: 1.7e9 + 1e-3 * i, lambda r, i: -2e9 + 1e-3 * i],
    "too far apart to subtract": [lambda r, i: i / 300.0 - 1.5, lambda r, i: i - 1_000.5],
    "huge and tiny": [lambda r, i: 1e300 * r.random(), lambda r, i: 1e-300 * r.random()],
    "negative zero": [lambda r, i: r.choice([-0.0, 0.0, 1.0])] * 5,
    "nominal": [lambda r, i: r.choice(CODES[:5]), lambda r, i: float(r.randrange(9))],
    "a column that begins with a block": [
        lambda r, i: r.random(),
        lambda r, i: r.random() if i >= 1_024 else MISSING,
    ],
}


@pytest.mark.parametrize("weights", [(2.0,), (1.0, 0.5)], ids=["equal", "different"])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "variance"])
@pytest.mark.parametrize("columns", COLUMNS)
def test_lanes_and_codes(columns: str, criterion: str, weights: tuple[float, ...]) -> None:
    """Over several blocks of the buffer, of which the oldest was written twice."""
    rng, makers, n, n_latest = random.Random(1), COLUMNS[columns], 1_450, 700
    nominal = frozenset(j for j, make in enumerate(makers) if make(rng, 1_400) in CODES)
    rules = Rules(criterion, nominal)
    samples = [
        Sample(tuple(make(rng, i) for make in makers), y, rng.choice(weights))
        for i, y in enumerate(targets(rng, rules, n))
    ]
    growth = stepped(samples, rules, n_latest, len(makers))
    assert growth.node()
    rows = [samples[i] for i in in_rows(samples, rules, range(n - n_latest, n))]
    wanted = []
    for unit in naive_growth(rows, rules).units_of(rows, list(range(len(makers)))):
        for lane in unit:
            if lane is None:
                is_byte = len(unit) == 16
                nothing = np.full(n_latest, 0.0 if is_byte else MISSING, np.float32)
                wanted.append((-1, is_byte, 0.0, 1.0, nothing))
                continue
            values = np.array([lane.encoded(sample.x[lane.column]) for sample in rows])
            if lane.column in nominal:  # a number per value, in the order of arrival
                came = dict.fromkeys(sample.x[lane.column] for sample in samples[n - n_latest :])
                numbers = {code: number for number, code in enumerate(came)}
                values = np.array([numbers[sample.x[lane.column]] for sample in rows], np.float32)
            wanted.append((lane.column, lane.is_byte, lane.offset, lane.scale, values))
    found = growth.lanes()
    assert [lane[:4] for lane in found] == [lane[:4] for lane in wanted]
    for (*_, codes), (*_, values) in zip(found, wanted, strict=True):
        assert np.array_equal(np.array(codes, np.float32), values, equal_nan=True)
