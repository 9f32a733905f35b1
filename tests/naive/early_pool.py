"""What answers beside the trees during the first samples, as one would explain it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tests.naive.cart import Sample
from tests.naive.columns import Columns
from tests.naive.naive_bayes import NaiveBayes

FLOOR = 0.01  # of a uniform distribution, in each answer
LEARNING_RATE = 0.02
MEMORY = 3  # of the frequencies of the latest classes
PRIOR = 0.5  # of all classes alike, in these frequencies


class NaiveEarlyPool:
    """A logarithmic opinion pool of a tree, naive Bayes and the latest classes, for each tree."""

    def __init__(self, n_trees: int) -> None:
        self.columns = Columns()
        self.labels: list[Any] = []
        self.naive = NaiveBayes()
        self.exponents = [[0.5, 0.5, 0.0] for _ in range(n_trees)]

    def latest(self) -> list[float]:
        """The frequencies of the classes, each sample having 2 / 3 of the weight of the next."""
        n = len(self.labels)
        weights = [PRIOR / n] * n
        for age, sample in enumerate(reversed(self.naive.samples)):
            weights[int(sample.y)] += (1 - 1 / MEMORY) ** age
        return [weight / sum(weights) for weight in weights]

    def logs(self, votes: Sequence[float], row: Sequence[float]) -> list[list[float]]:
        """Per member the logarithms of its answer, kept away from zero."""
        n, total = len(self.labels), sum(votes)
        tree = [vote / total if total > 0 else 1 / n for vote in votes]
        members = [tree, self.naive.answer(row, self.columns.nominal, n), self.latest()]
        return [[math.log((1 - FLOOR) * p + FLOOR / n) for p in member] for member in members]

    def pooled(self, number: int, votes: Sequence[float], row: Sequence[float]) -> list[float]:
        """p(c) is proportional to the product of q_m(c) ** e_m over the members m."""
        logs = self.logs(votes, row)
        found = [
            sum(e * log[c] for e, log in zip(self.exponents[number], logs, strict=True))
            for c in range(len(self.labels))
        ]
        shares = [math.exp(one - max(found)) for one in found]
        return [share / sum(shares) for share in shares]

    def answer(self, votes: Sequence[Sequence[float]], x: dict[Any, Any]) -> dict[Any, float]:
        """The mean over the trees, whose votes are given."""
        row, n = self.columns.encoded(x), len(self.labels)
        trees = [self.pooled(number, each[:n], row) for number, each in enumerate(votes)]
        return {
            label: sum(tree[c] for tree in trees) / len(trees)
            for c, label in enumerate(self.labels)
        }

    def learn(
        self, votes: Sequence[Sequence[float]], x: dict[Any, Any], label: Any, weight: float
    ) -> None:
        """Step down the gradient of the log loss, then learn the sample."""
        if weight == 0.0:
            return
        row, n = self.columns.encoded(x), len(self.labels)
        if label in self.labels:
            code = self.labels.index(label)
            for number, each in enumerate(votes):
                logs, answer = self.logs(each[:n], row), self.pooled(number, each[:n], row)
                for member, log in enumerate(logs):
                    slope = sum(p * one for p, one in zip(answer, log, strict=True)) - log[code]
                    exponent = self.exponents[number][member] - LEARNING_RATE * slope
                    self.exponents[number][member] = max(0.0, exponent)
        else:
            self.labels.append(label)
        code = self.labels.index(label)
        self.naive.samples.append(Sample(self.columns.learned(x), code, weight))
