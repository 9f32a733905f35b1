"""Naive Bayes that fades, as one would explain it: all samples are kept."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tests.naive.cart import Sample, value_of

NAIVE_MEMORY = 1000.0


class NaiveBayes:
    """Densities and counts of all samples ever seen, the older ones weighing less."""

    def __init__(self, memory: float = NAIVE_MEMORY) -> None:
        self.memory = memory
        self.samples: list[Sample] = []

    def faded(self) -> list[Sample]:
        keep, n = 1.0 - 1.0 / self.memory, len(self.samples)
        return [
            s._replace(weight=s.weight * keep ** (n - 1 - i)) for i, s in enumerate(self.samples)
        ]

    def answer(self, x: Sequence[float], nominal: frozenset[int], n_classes: int) -> list[float]:
        samples = self.faded()
        total = math.fsum(s.weight for s in samples)
        found = []
        for code in range(n_classes):
            own = [s for s in samples if s.y == code]
            weight = math.fsum(s.weight for s in own)
            log_likelihood = math.log((weight + 0.5) / (total + 0.5 * n_classes))
            for column, value in enumerate(x):
                if math.isnan(value):
                    continue
                if column in nominal:
                    log_likelihood += self.nominal(column, value, own, weight)
                else:
                    log_likelihood += self.numeric(column, value, own)
            found.append(log_likelihood)
        largest = max(found)
        shares = [math.exp(one - largest) for one in found]
        return [share / math.fsum(shares) for share in shares]

    def nominal(self, column: int, value: float, own: list[Sample], weight: float) -> float:
        """A count of 0.5 for each value met, and for the unknown one."""
        met = [value_of(s.x, column) for s in self.samples]
        n_values = 1 + len({value for value in met if not math.isnan(value)})
        count = math.fsum(s.weight for s in own if value_of(s.x, column) == value)
        return math.log((count + 0.5) / (weight + 0.5 * n_values))

    def numeric(self, column: int, value: float, own: list[Sample]) -> float:
        """A normal density; its variance is drawn to that of all classes with a weight of 0.1."""
        if len({v for s in self.samples if not math.isnan(v := value_of(s.x, column))}) < 2:
            return 0.0
        weight, mean, squares = moments(self.faded(), column)
        own_weight, own_mean, own_squares = moments(own, column)
        variance = (own_squares + 0.1 * squares / weight) / (own_weight + 0.1)
        squared = (value - (own_mean if own_weight > 0.0 else mean)) ** 2 / variance
        return -0.5 * (math.log(variance) + min(squared, 1e4))


def moments(samples: Sequence[Sample], column: int) -> tuple[float, float, float]:
    """Weight, mean and sum of squared deviations of a column where it is not missing."""
    present = [(s.weight, v) for s in samples if not math.isnan(v := value_of(s.x, column))]
    weight = math.fsum(w for w, _ in present)
    mean = math.fsum(w * v for w, v in present) / weight if present else 0.0
    return weight, mean, math.fsum(w * (v - mean) ** 2 for w, v in present)
