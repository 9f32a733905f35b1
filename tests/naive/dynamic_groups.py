"""Sets of nominal values as a dynamic tree proposes them, one list of samples per value."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tests.naive.cart import Border, Sample, value_of
from tests.naive.value_history import ENOUGH, NaiveHistory, goes_left

SMOOTHING = 1.0  # weight with which the mean of a value goes to that of all samples


class Group(NamedTuple):
    """Values that go left, the lighter side, and the correction of the log odds."""

    left: frozenset[float]
    correction: float


def best_group(
    codes: list[float],
    signals: list[float],
    weights: list[float],
    past: dict[float, tuple[float, float]],
    least: int,
) -> Group | None:
    """Order the values by regularised mean signal, and cut where the variance falls most.

    The mean of a value is that of its samples and of its past: (weight, sum of signals about their
    mean). Each side has at least `least` samples. The correction is the log of the share that the
    best way to divide the values has in the evidence of all ways with these two means. The past of
    a value tells the prior probability of its side.
    """
    mean = float(np.average(signals, weights=weights))
    members: dict[float, list[int]] = {}
    for i, code in enumerate(codes):
        members.setdefault(code, []).append(i)
    weight = {b: sum(weights[i] for i in rows) for b, rows in members.items()}
    total = {b: sum(weights[i] * (signals[i] - mean) for i in rows) for b, rows in members.items()}
    known = {b: past.get(b, (0.0, 0.0)) for b in members}
    order = sorted(
        sorted(members),
        key=lambda b: (total[b] + known[b][1]) / (weight[b] + known[b][0] + SMOOTHING),
    )

    def sums(side: list[float]) -> tuple[int, float, float]:
        columns = zip(*((len(members[b]), weight[b], total[b]) for b in side), strict=True)
        n, weight_of_side, total_of_side = map(sum, columns)
        return n, weight_of_side, total_of_side

    cuts = []
    for n in range(1, len(order)):
        left, right = sums(order[:n]), sums(order[n:])
        if min(left[0], right[0]) >= least:
            cuts.append((left[2] ** 2 / left[1] + right[2] ** 2 / right[1], -n))
    if not cuts or max(cuts)[0] <= 1e-12:
        return None
    between, n = max(cuts)
    sides = order[:-n], order[-n:]
    means = [sums(side)[2] / sums(side)[1] for side in sides]
    squares = sum(w * (s - mean) ** 2 for w, s in zip(weights, signals, strict=True))
    variance = max(squares - between, 1e-9 * squares) / sum(weights)
    all_ways = math.log(2.0)  # as the sides have no names
    for b in order:
        own, other = means if b in sides[0] else means[::-1]
        apart, middle = (own - other) / variance, (own + other) / 2
        odds = math.exp(min(apart * (known[b][0] * middle - known[b][1]), 50.0))
        lean = math.exp(min(apart * (weight[b] * middle - total[b]), 50.0))
        all_ways += math.log((1.0 + odds * lean) / (1.0 + odds))
    lighter = min(sides, key=lambda side: sums(side)[1])
    return Group(frozenset(lighter), min(0.0, all_ways))


def side_of(
    history: NaiveHistory, stored: list[Sample], column: int, code: float, border: Border
) -> bool | None:
    """Whether a value goes left after a sample of it; None: it has enough samples to stay.

    The history and the stored samples of the value tell its mean.
    """
    past = sum(entry[0] for entry in history.of(column).get(code, {}).values())
    n_stored = sum(value_of(each.x, column) == code for each in stored)
    if past >= ENOUGH or n_stored > ENOUGH:
        return None
    return goes_left(history.said(column, code, stored), border)
