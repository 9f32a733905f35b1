"""Naive Bayes that fades, as one would explain it: all samples are kept."""

import math
from collections.abc import Sequence

from tests.naive.cart import Sample, moments, present, pure, total, value_of

MEMORY = 1000.0


class NaiveBayes:
    """Densities and counts of all samples ever seen, the older ones weighing less."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []

    def faded(self) -> list[Sample]:
        keep, n = 1.0 - 1.0 / MEMORY, len(self.samples)
        return [
            s._replace(weight=s.weight * keep ** (n - 1 - i)) for i, s in enumerate(self.samples)
        ]

    def answer(self, x: Sequence[float], nominal: frozenset[int], n_classes: int) -> list[float]:
        samples = self.faded()
        whole = total(samples)
        found = []
        for code in range(n_classes):
            own = [s for s in samples if s.y == code]
            weight = total(own)
            log_likelihood = math.log((weight + 0.5) / (whole + 0.5 * n_classes))
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
        n_values = 1 + len({sample.y for sample in present(self.samples, column)})
        count = math.fsum(s.weight for s in own if value_of(s.x, column) == value)
        return math.log((count + 0.5) / (weight + 0.5 * n_values))

    def numeric(self, column: int, value: float, own: list[Sample]) -> float:
        """A normal density; its variance is drawn to that of all classes with a weight of 0.1."""
        if pure(present(self.samples, column)):
            return 0.0
        weight, mean, squares = moments(present(self.faded(), column))
        own_weight, own_mean, own_squares = moments(present(own, column))
        variance = (own_squares + 0.1 * squares / weight) / (own_weight + 0.1)
        squared = (value - (own_mean if own_weight > 0.0 else mean)) ** 2 / variance
        return -0.5 * (math.log(variance) + min(squared, 1e4))
