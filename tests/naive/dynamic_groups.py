"""Groups of nominal values as a dynamic tree proposes them, one list per bucket."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tests.naive.cart import bucket_of

SMOOTHING = 1.0  # weight with which the mean of a bucket goes to that of all samples


class Group(NamedTuple):
    """Buckets that go left, the lighter side, and the correction of the log odds."""

    left: frozenset[int]
    correction: float


def best_group(
    codes: list[float], signals: list[float], weights: list[float], salt: int, least: int
) -> Group | None:
    """Order the buckets by regularised mean signal, and cut where the variance falls most.

    Each side has at least `least` samples. The correction is the log of the share that the best
    way to divide the buckets has in the evidence of all ways with these two means, each of which
    has the same prior probability.
    """
    mean = float(np.average(signals, weights=weights))
    members: dict[int, list[int]] = {}
    for i, code in enumerate(codes):
        members.setdefault(bucket_of(salt, code), []).append(i)
    weight = {b: sum(weights[i] for i in rows) for b, rows in members.items()}
    total = {b: sum(weights[i] * (signals[i] - mean) for i in rows) for b, rows in members.items()}
    order = sorted(sorted(members), key=lambda b: total[b] / (weight[b] + SMOOTHING))

    def sums(side: list[int]) -> tuple[int, float, float]:
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
    log_evidence = [  # of each bucket on either side, up to a constant
        [-sum(weights[i] * (signals[i] - mean - m) ** 2 for i in members[b]) / 2 for m in means]
        for b in order
    ]
    others = sum(math.log1p(math.exp(-abs(one - other) / variance)) for one, other in log_evidence)
    correction = min(0.0, others - (len(order) - 1) * math.log(2.0))
    lighter = min(sides, key=lambda side: sums(side)[1])
    return Group(frozenset(lighter), correction)
