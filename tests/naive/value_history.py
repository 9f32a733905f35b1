"""What nominal values of earlier samples said of their targets, as a dict of dicts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.naive.cart import MANY_VALUES, Border, Node, Sample, value_of

MEMORY = 16  # samples of a value
MOST_OF_SAMPLE = 1024  # nominal values of a sample that is remembered
ENOUGH = 8  # samples of a value that stays where a growth has sent it
LATEST = 512  # samples of a batch among which those of a value are found


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

    def send(
        self, root: Node, sample: Sample, batch: Sequence[Sample], grown: Sequence[Sample] = ()
    ) -> None:
        """Send values of a sample of a batch that no growth knows well to where they belong.

        At each split by a set on the path of the sample, this is the side of the border on which
        the mean of the value lies, by the history and the latest samples of the batch.
        """
        for column in sorted(self.nominal):
            value = value_of(sample.x, column)
            weight = sum(entry[0] for entry in self.of(column).get(value, {}).values())
            if math.isnan(value) or weight >= ENOUGH or any(
                value_of(each.x, column) == value for each in grown
            ):  # fmt: skip
                continue
            said = self.said(column, value, batch)
            node = root
            while node.split is not None:
                has_border = node.split.feature == column and node.border is not None
                if has_border and node.split.goes_left(sample.x) != goes_left(said, node.border):
                    self.move(node, value)
                node = node.left if node.split.goes_left(sample.x) else node.right

    def said(
        self, column: int, value: float, batch: Sequence[Sample]
    ) -> dict[float, tuple[float, float]]:
        """Per label of a value its weight and the sum of its targets."""
        found = {y: (entry[0], entry[1]) for y, entry in self.of(column).get(value, {}).items()}
        own = [each for each in batch[: -LATEST - 1 : -1] if value_of(each.x, column) == value]
        for each in own[:MEMORY]:
            y = 0 if self.of_numbers else each.y
            weight, total = found.get(y, (0.0, 0.0))
            found[y] = (weight + each.weight, total + each.weight * each.y)
        return found

    def move(self, node: Node, value: float) -> None:
        """Send a value to the other side; a large set forgets what the history has forgotten."""
        others_left, codes = node.split.threshold
        if len(codes) >= MANY_VALUES + 2 * self.n_values(node.split.feature):
            codes = codes & ({value} | self.of(node.split.feature).keys())
        node.split = node.split._replace(threshold=(others_left, frozenset(codes ^ {value})))


def goes_left(said: dict[float, tuple[float, float]], border: Border) -> bool:
    """Whether the mean of a value, drawn to that of the node by one sample, is on the left."""
    weight = sum(each for each, _ in said.values())
    if border.top is None:
        total = sum(summed for _, summed in said.values())
    else:
        total = said.get(border.top, (0.0, 0.0))[0]
    return total + border.prior < border.mean * (weight + 1.0)
