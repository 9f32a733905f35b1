"""Exact metrics of rankings, against their definitions."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import utils

from river_extra_trees import evaluate

SHARES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0])
Samples = list[tuple[float, bool]]


def naive_area(samples: Samples) -> float:
    """The share of pairs of a positive and another sample in the right order; ties count half."""
    pairs = [(p, q) for p, y in samples if y for q, z in samples if not z]
    return sum((p > q) + 0.5 * (p == q) for p, q in pairs) / len(pairs) if pairs else math.nan


def naive_precision(samples: Samples) -> float:
    """The mean precision among the samples that are ranked as high as each positive one."""
    ranked = [[y for q, y in samples if q >= p] for p, z in samples if z]
    if not ranked or all(y for _, y in samples):
        return math.nan
    return sum(sum(above) / len(above) for above in ranked) / len(ranked)


@given(st.lists(st.tuples(SHARES, st.booleans()), max_size=40), st.integers(1, 50))
def test_rankings(samples: Samples, window: int) -> None:
    """Of all samples, of the latest ones, and of those of river's rolling window."""
    for kind, naive in (
        (evaluate.ExactROCAUC, naive_area),
        (evaluate.AveragePrecision, naive_precision),
    ):
        every, last = kind(), kind(pos_val="p", max_samples=window)
        rolling: Any = utils.Rolling(kind, window_size=window)
        for p, y in samples:
            every.update(y, {True: p, False: 1.0 - p})
            last.update("np"[y], {"p": p, "n": 1.0 - p})
            rolling.update(y, {True: p})
        expected = pytest.approx(naive(samples), nan_ok=True)
        assert every.get() == expected
        expected = pytest.approx(naive(samples[-window:]), nan_ok=True)
        assert (last.get(), rolling.get()) == (expected, expected)


def test_memory_is_bounded() -> None:
    """At most twice as many samples are kept as count."""
    metric = evaluate.ExactROCAUC(max_samples=10)
    for i in range(100):
        metric.update(i % 2 == 0, {True: i / 100})
        assert len(metric._shares) == len(metric._positive) < 20
