"""Multinomial logistic regression, as one would explain it: a dict of regressors."""

import math
from collections.abc import Set
from dataclasses import dataclass, field

import numpy as np

from tests.naive.noise import Feature, Row

RATE, MOST_REGRESSORS, MOST_CELLS = 0.2, 4096, 2**19
MOST_OF_SAMPLE = 1024
LARGEST_WEIGHT, MEMORY = 10.0, 100
INTERCEPT = (-1, None)

Key = tuple[int, float | None]  # a column; of a nominal one, with a code


@dataclass
class Regressor:
    slopes: dict[int, float] = field(default_factory=dict)  # of the classes
    squares: dict[int, float] = field(default_factory=dict)
    seen: int = 0
    feature: Feature = field(default_factory=Feature)  # of a numeric column
    is_indicator: bool = True  # of a numeric column: all its values are 0 or 1

    def step(self, z: float, errors: list[float]) -> None:
        """AdaGrad."""
        for code, error in enumerate(errors):
            self.squares[code] = self.squares.get(code, 0.0) + (z * error) ** 2
            step = RATE * z * error / math.sqrt(self.squares[code] + 1e-12)
            self.slopes[code] = self.slopes.get(code, 0.0) - step


class NaiveLogistic:
    def __init__(self) -> None:
        self.regressors: dict[Key, Regressor] = {}
        self.n_learned = 0
        self.level = 0.0  # running mean of the logarithms of the weights

    def keys(self, row: Row, nominal: Set[int]) -> list[tuple[Key, float]]:
        return [((c, value if c in nominal else None), value) for c, value in row]

    def answer(self, row: Row, nominal: Set[int], n_classes: int) -> list[float]:
        scores = np.zeros(n_classes)
        for key, value in [(INTERCEPT, 0.0), *self.keys(row, nominal)]:
            found = self.regressors.get(key)
            for code, slope in found.slopes.items() if found else ():
                scores[code] += slope * self.z(key, value)
        shares = np.exp(scores - scores.max())
        return [float(share) for share in shares / shares.sum()]

    def z(self, key: Key, value: float) -> float:
        if key[1] is not None or key == INTERCEPT:
            return 1.0
        found = self.regressors[key]
        if found.is_indicator and value in (0.0, 1.0):
            return value
        return found.feature.standardised(value)

    def learn(self, row: Row, nominal: Set[int], n_classes: int, y: int, weight: float) -> None:
        self.level += (math.log(weight) - self.level) / min(self.n_learned + 1, MEMORY)
        weight = min(weight / math.exp(self.level), LARGEST_WEIGHT)
        shares = self.answer(row, nominal, n_classes)
        errors = [share - (code == y) for code, share in enumerate(shares)]
        self.regressors.setdefault(INTERCEPT, Regressor()).step(weight, errors)
        keys = list(self.keys(row, nominal))
        for key, value in keys:
            if key not in self.regressors and len(keys) > MOST_OF_SAMPLE:
                continue
            if key not in self.regressors:
                if len(self.regressors) == min(MOST_REGRESSORS, MOST_CELLS // n_classes):
                    self.forget()
                self.regressors[key] = Regressor()
            self.regressors[key].seen = self.n_learned
            found, z = self.regressors[key], self.z(key, value)
            found.feature.follow(value)
            found.step(weight * z, errors)
            if key[1] is None and found.is_indicator and value not in (0.0, 1.0):
                found.is_indicator, found.slopes, found.squares = False, {}, {}
        self.n_learned += 1

    def forget(self) -> None:
        """Those met least recently go, so that at most half of all stay."""
        times = sorted(each.seen for key, each in self.regressors.items() if key != INTERCEPT)
        latest = times[-1 - len(self.regressors) // 2]
        self.regressors = {
            key: each
            for key, each in self.regressors.items()
            if key == INTERCEPT or each.seen > latest
        }
