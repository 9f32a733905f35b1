"""CART as one would explain it: every candidate split of a node is tried and scored from scratch.

A split's score is the weighted impurity that it leaves behind (lower is better). Candidates are
tried in one order: features by index; numeric thresholds or nominal codes ascending. Where values
are missing, all are tried with the missing ones on the right, then present against missing, then
all with the missing ones on the left. A later candidate must be better by more than `TOLERANCE` of
the node's weight (for numbers: of its squared deviations), so that rounding never decides. A split
that gains nothing is accepted, unless it separates one of many nominal values. A node that was
grown without missing values sends later ones to its heavier child, left when both weigh the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.naive.rng import mix

TOLERANCE = 1e-12
NO_CODE = -2.0  # nothing equals it
GROUP = 2  # `nominal` of a split by a group of values, plus its salt
N_BUCKETS = 52
MANY_VALUES = 16  # a feature with more nominal values has many


class Sample(NamedTuple):
    """One row: how often a bootstrap drew it (`copies`), and what each copy weighs."""

    x: tuple[float, ...]
    y: float
    weight: float = 1.0
    copies: int = 1

    @property
    def mass(self) -> float:
        """What the sample counts for in scores and leaves."""
        return self.weight * self.copies


def value_of(x: Sequence[float], feature: int) -> float:
    """A feature of a row, NaN where missing; a feature that is newer than the row is."""
    return x[feature] if feature < len(x) else math.nan


def bucket_of(salt: int, code: float) -> int:
    """The bucket of a nominal value; -1 is the code of those without one of their own."""
    return mix((int(code) + 1) * 256 + salt) % N_BUCKETS


class Split(NamedTuple):
    """Left when x <= threshold (numeric), x == threshold (nominal), or x is in a group of values.

    The threshold of a group is the sum of 2 ** b over its buckets b.
    """

    feature: int
    threshold: float
    nominal: int
    missing_left: bool

    def goes_left(self, x: Sequence[float]) -> bool:
        value = value_of(x, self.feature)
        if math.isnan(value):
            return self.missing_left
        if self.nominal >= GROUP:
            return bool(int(self.threshold) >> bucket_of(self.nominal - GROUP, value) & 1)
        return value == self.threshold if self.nominal else value <= self.threshold


@dataclass
class Node:
    """A leaf when `split` is None. `samples` are the ones that the node was grown from."""

    samples: list[Sample]
    depth: int
    split: Split | None = None
    left: Node | None = None
    right: Node | None = None


@dataclass(frozen=True)
class Rules:
    """When a node may be split. Samples are counted with their copies and without their weights."""

    criterion: str
    nominal: frozenset[int] = frozenset()
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    support: float = 0.0  # see `is_supported`


def total(samples: Sequence[Sample]) -> float:
    return math.fsum(sample.mass for sample in samples)


def count(samples: Sequence[Sample]) -> int:
    return sum(sample.copies for sample in samples)


def class_shares(samples: Sequence[Sample]) -> list[float]:
    weight = total(samples)
    classes = sorted({sample.y for sample in samples})
    return [total([s for s in samples if s.y == label]) / weight for label in classes]


def gini(samples: Sequence[Sample]) -> float:
    return math.fsum(p * (1.0 - p) for p in class_shares(samples))


def entropy(samples: Sequence[Sample]) -> float:
    return -math.fsum(p * math.log(p) for p in class_shares(samples))


def mean(samples: Sequence[Sample]) -> float:
    return math.fsum(s.mass * s.y for s in samples) / total(samples)


def squared_deviations(samples: Sequence[Sample]) -> float:
    centre = mean(samples)
    return math.fsum(s.mass * (s.y - centre) ** 2 for s in samples)


def moments(samples: Sequence[Sample]) -> tuple[float, float, float]:
    """Weight, mean and sum of squared deviations: what a leaf knows of numbers."""
    return total(samples), mean(samples), squared_deviations(samples)


def class_weights(samples: Sequence[Sample], n_classes: int) -> list[float]:
    """What a leaf knows of classes."""
    return [total([s for s in samples if s.y == code]) for code in range(n_classes)]


def variance(samples: Sequence[Sample]) -> float:
    return squared_deviations(samples) / total(samples)


IMPURITY: dict[str, Callable[[Sequence[Sample]], float]] = {
    "gini": gini,
    "entropy": entropy,
    "variance": variance,
}


def weighted_impurity(samples: Sequence[Sample], criterion: str) -> float:
    return total(samples) * IMPURITY[criterion](samples) if samples else 0.0


def pure(samples: Sequence[Sample]) -> bool:
    return len({sample.y for sample in samples}) <= 1


def middle(low: float, high: float) -> float:
    """A threshold between two neighbouring values, which sends the lower of them left."""
    threshold = low / 2.0 + high / 2.0
    return low if threshold >= high else threshold


def heavier_left(samples: Sequence[Sample], split: Split) -> bool:
    """Whether at least half of the weight goes left."""
    left = [s for s in samples if split.goes_left(s.x)]
    right = [s for s in samples if not split.goes_left(s.x)]
    return total(left) >= total(right)


def splits_of(samples: Sequence[Sample], feature: int, nominal: bool) -> Iterator[Split]:
    """All splits of one feature, in the order in which they are tried."""
    found = [value_of(sample.x, feature) for sample in samples]
    values = sorted({value for value in found if not math.isnan(value)})
    thresholds = values if nominal else [middle(a, b) for a, b in itertools.pairwise(values)]
    if not any(math.isnan(value) for value in found):
        for threshold in thresholds:
            split = Split(feature, threshold, nominal, True)
            yield split._replace(missing_left=heavier_left(samples, split))
        return
    for threshold in thresholds:
        yield Split(feature, threshold, nominal, False)
    if not nominal:
        yield Split(feature, math.inf, nominal, False)
    for threshold in thresholds:
        yield Split(feature, threshold, nominal, True)
    if nominal:
        yield Split(feature, NO_CODE, nominal, True)


def candidates(samples: Sequence[Sample], rules: Rules) -> Iterator[Split]:
    for feature in range(max(len(sample.x) for sample in samples)):
        yield from splits_of(samples, feature, feature in rules.nominal)


def has_many_values(samples: Sequence[Sample], feature: int) -> bool:
    """Whether a sample has a value other than the first 16 that were seen; codes begin at 0."""
    return any(value_of(sample.x, feature) >= MANY_VALUES for sample in samples)


def share_removed(samples: Sequence[Sample], split: Split, criterion: str) -> float:
    """The share of the impurity that a split removes."""
    left = [s for s in samples if split.goes_left(s.x)]
    right = [s for s in samples if not split.goes_left(s.x)]
    after = weighted_impurity(left, criterion) + weighted_impurity(right, criterion)
    return 1.0 - after / weighted_impurity(samples, criterion)


def is_supported(samples: Sequence[Sample], split: Split, rules: Rules, depth: int) -> bool:
    """Whether a split at this depth has enough evidence; only one of many nominal values needs it.

    The evidence is the number of samples times the share of the impurity that the split removes:
    for two classes Pearson's chi-squared, for numbers n R squared.
    """
    if not split.nominal or not has_many_values(samples, split.feature):
        return True
    evidence = count(samples) * share_removed(samples, split, rules.criterion)
    return evidence >= rules.support * depth


def best_split(samples: Sequence[Sample], rules: Rules, depth: int = 0) -> Split | None:
    """The best of all splits that leave enough samples on both sides, or None."""
    of_numbers = rules.criterion == "variance"
    scale = squared_deviations(samples) if of_numbers else total(samples)
    best: Split | None = None
    best_score = math.inf
    for split in candidates(samples, rules):
        left = [s for s in samples if split.goes_left(s.x)]
        right = [s for s in samples if not split.goes_left(s.x)]
        if min(count(left), count(right)) < max(rules.min_samples_leaf, 1):
            continue
        score = weighted_impurity(left, rules.criterion) + weighted_impurity(right, rules.criterion)
        if score < best_score - TOLERANCE * scale and is_supported(samples, split, rules, depth):
            best, best_score = split, score
    return best


def may_split(node: Node, rules: Rules) -> bool:
    return not (
        pure(node.samples)
        or (rules.max_depth is not None and node.depth >= rules.max_depth)
        or count(node.samples) < max(rules.min_samples_split, 2 * rules.min_samples_leaf)
    )


def grow(node: Node, rules: Rules) -> None:
    """Split the node, then its children, until the rules forbid it."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        split = best_split(node.samples, rules, node.depth) if may_split(node, rules) else None
        if split is None:
            continue
        node.split = split
        node.left = Node([s for s in node.samples if split.goes_left(s.x)], node.depth + 1)
        node.right = Node([s for s in node.samples if not split.goes_left(s.x)], node.depth + 1)
        waiting += [node.right, node.left]


def walk(node: Node) -> Iterator[Node]:
    """All nodes of a tree: parents before children, left before right."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if node.right is not None and node.left is not None:
            waiting += [node.right, node.left]


def leaf_of(node: Node, x: Sequence[float]) -> Node:
    while node.split is not None:
        child = node.left if node.split.goes_left(x) else node.right
        assert child is not None
        node = child
    return node


@dataclass
class NaiveTree:
    """A tree grown from all its samples at once."""

    samples: list[Sample]
    rules: Rules
    root: Node = field(init=False)

    def __post_init__(self) -> None:
        self.root = Node([s for s in self.samples if s.mass > 0], depth=0)
        grow(self.root, self.rules)

    def leaf(self, x: Sequence[float]) -> Node:
        return leaf_of(self.root, x)
