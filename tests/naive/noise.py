"""The linear model of the log of squared errors, as one would explain it."""

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

Row = tuple[tuple[int, float], ...]  # the values that are not missing, by their columns

MOST_FEATURES, MEMORY = 64, 1000


@dataclass
class Feature:
    n: int = 0
    mean: float = 0.0
    variance: float = 0.0
    slope: float = 0.0

    def standardised(self, value: float | None) -> float:
        if value is None or self.variance == 0.0:
            return 0.0
        return min(max((value - self.mean) / math.sqrt(self.variance), -3.0), 3.0)

    def follow(self, value: float) -> None:
        self.n = min(self.n + 1, MEMORY)
        share, difference = 1.0 / self.n, value - self.mean
        self.mean += share * difference
        self.variance = (1.0 - share) * (self.variance + share * difference**2)


@dataclass
class NaiveNoise:
    """log v = log E + a (u - mean of u) + sum of g z, learned by normalised least mean squares."""

    slope: float = 0.5
    features: dict[int, Feature] = field(default_factory=dict)
    spreads: list[float] = field(default_factory=list)  # all u so far
    residuals: list[float] = field(default_factory=list)  # all log(e^2 / v)

    def tilt(self, row: Row) -> float:
        """What the features say of the log of v."""
        values = dict(row)
        terms = [f.slope * f.standardised(values.get(c)) for c, f in self.features.items()]
        return min(max(sum(terms), -3.0), 3.0)

    def ratio(self, u: float, tilt: float) -> float:
        """The expected squared error, divided by E."""
        return math.exp(self.slope * self.distance(u) + tilt)

    def distance(self, u: float) -> float:
        return u - faded_mean(self.spreads, 0.998) if self.spreads else 0.0

    def learn(self, row: Row, u: float, z2: float) -> None:
        values = dict(row)
        z = {c: f.standardised(values.get(c)) for c, f in self.features.items()}
        distance = self.distance(u)
        self.residuals.append(max(math.log(z2), -6.0) if z2 > 0.0 else -6.0)
        residual = self.residuals[-1] - faded_mean(self.residuals, 0.99)
        step = 0.02 * residual / (1.0 + distance**2 + sum(each**2 for each in z.values()))
        self.slope = min(max(self.slope + step * distance, 0.0), 2.0)
        for column, feature in self.features.items():
            feature.slope += step * z[column]
        self.spreads.append(u)

    def know(self, n_columns: int, nominal: Collection[Any]) -> None:
        """Take the first numeric columns as features."""
        for column in range(n_columns):
            if column not in nominal and len(self.features) < MOST_FEATURES:
                self.features.setdefault(column, Feature())

    def follow(self, row: Row) -> None:
        for column, value in row:
            if column in self.features:
                self.features[column].follow(value)


def faded_mean(values: list[float], decay: float) -> float:
    weights = [decay**age for age in range(len(values) - 1, -1, -1)]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
