"""What nominal values of earlier samples said of their targets, as a dict of dicts."""

import math
from dataclasses import dataclass, field

from tests.naive.cart import Sample, value_of

MEMORY = 16  # samples of a value
MOST_OF_SAMPLE = 1024  # nominal values of a sample that is remembered


@dataclass
class NaiveHistory:
    """Per column and value: the weights of its labels; of numbers, their weight and their sum.

    With each sample of a value, its earlier ones fade. If there are `most` entries, those of the
    values seen least recently are forgotten, until half are left.
    """

    nominal: frozenset[int]
    of_numbers: bool
    most: int = 1 << 14
    values: dict[int, dict[float, dict[float, list[float]]]] = field(default_factory=dict)
    seen: dict[tuple[int, float], int] = field(default_factory=dict)
    n_learned: int = 0

    def learn(self, sample: Sample) -> None:
        if not self.nominal:
            return
        values = {column: value_of(sample.x, column) for column in sorted(self.nominal)}
        own = {column: value for column, value in values.items() if not math.isnan(value)}
        for column, value in own.items() if len(own) <= MOST_OF_SAMPLE else ():
            self.learn_value(column, value, sample)
        self.n_learned += 1

    def learn_value(self, column: int, value: float, sample: Sample) -> None:
        if self.n_entries == self.most:
            self.evict()
        labels = self.values.setdefault(column, {}).setdefault(value, {})
        for entry in labels.values():
            entry[:] = [number * (1 - 1 / MEMORY) for number in entry]
        self.seen[column, value] = self.n_learned
        entry = labels.setdefault(0 if self.of_numbers else sample.y, [0.0, 0.0])
        entry[0] += sample.weight
        entry[1] += sample.weight * sample.y

    @property
    def n_entries(self) -> int:
        return sum(len(labels) for values in self.values.values() for labels in values.values())

    def evict(self) -> None:
        half = self.most // 2
        for last in sorted(set(self.seen.values())):
            if self.n_entries <= half:
                return
            for column, value in [key for key, seen in self.seen.items() if seen == last]:
                del self.values[column][value], self.seen[column, value]

    def of(self, column: int) -> dict[float, dict[float, list[float]]]:
        """The values of a column, ascending."""
        return dict(sorted(self.values.get(column, {}).items()))

    def n_values(self, column: int) -> int:
        return len(self.values.get(column, {}))
