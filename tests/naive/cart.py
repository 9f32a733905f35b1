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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.naive.rng import NaiveRng

Values = npt.NDArray[np.float64]

TOLERANCE = 1e-12
NO_CODE = -2.0  # nothing equals it
VALUES = 2  # `nominal` of a split by a set of values
N_CUTS = 64
MANY_VALUES = 16  # a feature with more nominal values has many
LISTED = 24  # samples of a node whose splits name values that these lack


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


def class_targets(y: Values, mass: Values, all_classes: bool) -> dict[float, float]:
    """The targets of classes by which values are ordered.

    1 for the most frequent class and 0 for others; or where the middle of the samples of a class
    is, if samples are in the order of their classes, the rarest first.
    """
    weights = {code: mass[y == code].sum() for code in np.unique(y).tolist()}
    order = sorted(weights, key=lambda code: (-weights[code], code))
    if not all_classes:
        return {code: float(code == order[0]) for code in order}
    found, below = {}, mass.sum()
    for code in order:
        below -= weights[code]
        found[code] = below + 0.5 * weights[code]
    return found


def are_many(values: Values) -> bool:
    """Whether nominal values are ordered, and not each split from the others.

    They are many, or several with less than two samples each.
    """
    values = values[~np.isnan(values)]
    n = len(np.unique(values))
    return n > MANY_VALUES or (n > 4 and len(values) < 2 * n)


class Split(NamedTuple):
    """Left when x <= threshold (numeric), x == threshold (nominal), or x is in a set of values.

    The threshold of a set of values is whether all others go left, and the codes that go to the
    other side.
    """

    feature: int
    threshold: Any
    nominal: int
    missing_left: bool

    def goes_left(self, x: Sequence[float]) -> bool:
        value = value_of(x, self.feature)
        if math.isnan(value):
            return self.missing_left
        if self.nominal == VALUES:
            others_left, codes = self.threshold
            return (value in codes) != others_left
        return value == self.threshold if self.nominal else value <= self.threshold

    def with_missing(self, samples: Sequence[Sample]) -> Split:
        """The same split; where no value is missing, later ones go to the heavier side."""
        if any(math.isnan(value_of(sample.x, self.feature)) for sample in samples):
            return self
        left, right = sides(samples, self)
        return self._replace(missing_left=total(left) >= total(right))

    def send_left(self, values: Values) -> npt.NDArray[np.bool_]:
        """Which values of the feature go left."""
        if self.nominal == VALUES:
            others_left, codes = self.threshold
            left = np.isin(values, list(codes)) != others_left
            return np.where(np.isnan(values), self.missing_left, left)
        left = values == self.threshold if self.nominal else values <= self.threshold
        return np.where(np.isnan(values), self.missing_left, left)


class Border(NamedTuple):
    """By which means a split has divided the values of a node: smaller ones went left."""

    top: float | None  # the label whose share is the mean, None of numbers
    prior: float  # the mean of the node
    mean: float


@dataclass
class Node:
    """A leaf when `split` is None. `samples` are the ones that the node was grown from."""

    samples: list[Sample]
    depth: int
    split: Split | None = None
    left: Node | None = None
    right: Node | None = None
    border: Border | None = None  # of a split by a set of values


@dataclass(frozen=True)
class Rules:
    """When a node may be split. Samples are counted with their copies and without their weights."""

    criterion: str
    nominal: frozenset[int] = frozenset()
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1


def total(samples: Sequence[Sample]) -> float:
    return math.fsum(sample.mass for sample in samples)


def count(samples: Sequence[Sample]) -> int:
    return sum(sample.copies for sample in samples)


def mean(samples: Sequence[Sample]) -> float:
    return math.fsum(s.mass * s.y for s in samples) / total(samples)


def squared_deviations(samples: Sequence[Sample]) -> float:
    centre = mean(samples)
    return math.fsum(s.mass * (s.y - centre) ** 2 for s in samples)


def moments(samples: Sequence[Sample]) -> tuple[float, float, float]:
    """Weight, mean and sum of squared deviations: what a leaf knows of numbers."""
    if not samples:
        return 0.0, 0.0, 0.0
    return total(samples), mean(samples), squared_deviations(samples)


def present(samples: Sequence[Sample], column: int) -> list[Sample]:
    """Those with a value in a column, which becomes their target."""
    return [s._replace(y=v) for s in samples if not math.isnan(v := value_of(s.x, column))]


def faded(samples: Sequence[Sample], fading: float) -> list[Sample]:
    return [sample._replace(weight=sample.weight * fading) for sample in samples]


def sides(samples: Sequence[Sample], split: Split) -> tuple[list[Sample], list[Sample]]:
    """The samples that go left, and those that go right."""
    left, right = [], []
    for sample in samples:
        (left if split.goes_left(sample.x) else right).append(sample)
    return left, right


def class_weights(samples: Sequence[Sample], n_classes: int) -> list[float]:
    """What a leaf knows of classes."""
    return [total([s for s in samples if s.y == code]) for code in range(n_classes)]


def pure(samples: Sequence[Sample]) -> bool:
    return len({sample.y for sample in samples}) <= 1


def middle(low: float, high: float) -> float:
    """A threshold between two neighbouring values, which sends the lower of them left."""
    threshold = low / 2.0 + high / 2.0
    return low if threshold >= high else threshold


def random_threshold(rng: NaiveRng, low: float, high: float) -> float:
    """A threshold from low up to high, which always separates them."""
    threshold = low + rng.uniform() * (high - low)
    return threshold if low <= threshold < high else low


class Cart:
    """How splits are found and judged. Programs that differ in it are subclasses."""

    tolerance = TOLERANCE
    middle = staticmethod(middle)
    most_features: float = math.inf  # looked at, if one of them splits
    history: Any = None  # a NaiveHistory of samples that the nodes do not have
    listed = LISTED
    border: Border | None = None  # of the best split
    path: Sequence[tuple[Split, bool]] = ()  # the splits above a node, and where it lies

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def features(self, X: Values) -> Iterable[int]:
        """Which features are looked at, in order."""
        return range(X.shape[1])

    def splits_of(self, values: Values, feature: int) -> Iterator[Split]:
        """All splits of one feature, in the order in which they are tried."""
        nominal, missing = feature in self.rules.nominal, np.isnan(values)
        found = np.unique(values[~missing]).tolist()
        thresholds = found if nominal else [self.middle(a, b) for a, b in itertools.pairwise(found)]
        for threshold in thresholds:
            yield Split(feature, threshold, nominal, False)
        if not missing.any():
            return
        if not nominal:
            yield Split(feature, math.inf, nominal, False)
        for threshold in thresholds:
            yield Split(feature, threshold, nominal, True)
        if nominal:
            yield Split(feature, NO_CODE, nominal, True)

    def statistics(self, samples: Sequence[Sample]) -> Values:
        """What is summed of each sample: its mass by classes, or times powers of its target."""
        mass, y = (np.array([getattr(s, name) for s in samples]) for name in ("mass", "y"))
        if self.rules.criterion == "variance":
            y = y - mean(samples)
            return mass[:, None] * np.stack([np.ones(len(y)), y, y**2], axis=1)
        return mass[:, None] * (y[:, None] == np.unique(y))

    def impurities(self, sums: Values) -> Values:
        """The weighted impurity of each of several sets of samples, from their sums."""
        if self.rules.criterion == "variance":
            return sums[:, 2] - sums[:, 1] ** 2 / sums[:, 0]
        shares = sums / sums.sum(axis=1, keepdims=True)
        if self.rules.criterion == "gini":
            return (sums * (1.0 - shares)).sum(axis=1)
        return -(sums * np.log(np.where(shares > 0.0, shares, 1.0))).sum(axis=1)

    def scores(self, left: Values, right: Values) -> Values:
        """What is left of the impurity by splits into sides of which these are the sums."""
        return self.impurities(left) + self.impurities(right)

    def group_splits(
        self, samples: Sequence[Sample], values: Values, feature: int, all_classes: bool = False
    ) -> Iterator[tuple[Split, npt.NDArray[np.bool_], Border | None]]:
        """Cuts of the order of many nominal values, the samples that each sends left, its border.

        A value's place is its mean target, drawn to that of all by one sample of it. So that a
        value is no evidence for its own samples, each is sent to the side on which its value lies
        without it; the cut counts if the targets on the left are smaller.
        """
        mass = np.array([s.mass for s in samples])
        y = np.array([s.y for s in samples])
        targets, centre, top = {}, 0.0, None
        if self.rules.criterion == "variance":
            centre = mean(samples)
            y, prior = y - centre, 0.0
        else:
            targets = class_targets(y, mass, all_classes)
            y, top = np.array([targets[code] for code in y]), max(targets, key=targets.__getitem__)
            prior = mass @ y / mass.sum()
        past = self.past(feature, targets, centre)
        groups = [(v, values == v) for v in np.unique(values[~np.isnan(values)]).tolist()]
        if np.isnan(values).any():
            groups.append((None, np.isnan(values)))
        middle, without = {}, np.zeros(len(y))
        weights = {}
        for value, own in groups:
            total, weight = (mass * y)[own].sum(), mass[own].sum()
            if value in past:
                total, weight = total + past[value][0], weight + past[value][1]
            weights[value] = weight
            middle[value] = (total + prior) / (weight + 1.0)
            without[own] = (total - (mass * y)[own] + prior) / (weight - mass[own] + 1.0)
        low, high = min(middle.values()), max(middle.values())
        if low == high:
            return
        for value, (total, weight) in past.items() if len(samples) >= self.listed else ():
            if value not in middle and self.reaches(feature, value):
                middle[value], weights[value] = (total + prior) / (weight + 1.0), weight

        scale = N_CUTS / (high - low)

        def interval(x: Any) -> Any:
            return np.clip(np.floor((x - low) * scale), 0, N_CUTS - 1)

        for cut in range(N_CUTS - 1):
            is_left = {value: bool(interval(x) <= cut) for value, x in middle.items()}
            balance = sum(weights[v] * (1 if left else -1) for v, left in is_left.items())
            others_left = bool(balance >= 0.0)
            split = Split(
                feature,
                (others_left, frozenset(v for v, left in is_left.items() if left != others_left)
                 - {None}),
                VALUES,
                is_left.get(None, False),
            )  # fmt: skip
            left = interval(without) <= cut
            if left.any() and not left.all() and (
                (mass * y)[left].sum() * mass[~left].sum()
                < (mass * y)[~left].sum() * mass[left].sum()
            ):  # fmt: skip
                border = Border(top, prior + centre, low + (cut + 1) / scale + centre)
                yield split, left, None if all_classes else border

    def past(
        self, feature: int, targets: dict[float, float], centre: float
    ) -> dict[float, tuple[float, float]]:
        """Per value in the history: the sum of its targets (`group_splits`), and its weight."""
        found = {}
        for value, labels in {} if self.history is None else self.history.of(feature).items():
            weight = math.fsum(entry[0] for entry in labels.values())
            if self.rules.criterion == "variance":
                total = labels[0][1] - weight * centre
            else:
                total = 0.0
                for label, entry in sorted(labels.items()):
                    total += entry[0] * targets.get(label, 0.0)
            found[value] = (total, weight)
        return found

    def reaches(self, feature: int, value: float) -> bool:
        """Whether no split above the node on this feature sends a value elsewhere."""
        x = [math.nan] * feature + [value]
        return all(
            split.goes_left(x) == left for split, left in self.path if split.feature == feature
        )

    def is_ordered(self, values: Values, feature: int) -> bool:
        """Whether the values of a feature are ordered, and not each split from the others."""
        if feature not in self.rules.nominal:
            return False
        return self.knows_many(feature) or are_many(values)

    def knows_many(self, feature: int) -> bool:
        """Whether the history has many values of a feature."""
        return self.history is not None and self.history.n_values(feature) > MANY_VALUES

    def has_all_classes(self, samples: Sequence[Sample], values: Values, feature: int) -> bool:
        """Whether cuts of the order by all classes are tried, too."""
        return (
            feature in self.rules.nominal
            and self.rules.criterion != "variance"
            and len(samples) >= LISTED
            and len({s.y for s in samples}) > 2
            and (len(np.unique(values[~np.isnan(values)])) > 4 or self.knows_many(feature))
        )

    def best_split(self, samples: Sequence[Sample]) -> Split | None:
        """The best of all splits that leave enough samples on both sides, or None."""
        statistics, copies = self.statistics(samples), np.array([s.copies for s in samples])
        of_numbers = self.rules.criterion == "variance"
        scale = squared_deviations(samples) if of_numbers else total(samples)
        best, best_score = None, math.inf
        width = max(len(sample.x) for sample in samples)
        X = np.array([(*s.x, *[math.nan] * (width - len(s.x))) for s in samples])
        perfect = -math.inf if of_numbers else self.tolerance * scale
        for n_features, feature in enumerate(self.features(X), 1):
            values = X[:, feature]
            if best_score <= perfect:
                found = []
            elif self.is_ordered(values, feature):
                found = list(self.group_splits(samples, values, feature))
            else:
                found = [(s, s.send_left(values), None) for s in self.splits_of(values, feature)]
            if best_score > perfect and self.has_all_classes(samples, values, feature):
                found += self.group_splits(samples, values, feature, all_classes=True)
            if found:
                is_left = np.array([split.send_left(values) for split, *_ in found])
                as_weighed = np.array([left for _, left, _ in found])
                fewest = np.min([side @ copies for side in (
                    is_left, ~is_left, as_weighed, ~as_weighed)], axis=0)  # fmt: skip
                allowed = np.flatnonzero(fewest >= max(self.rules.min_samples_leaf, 1))
                sides = (as_weighed[allowed] @ statistics, ~as_weighed[allowed] @ statistics)
                for i, score in zip(allowed, self.scores(*sides), strict=True):
                    if score < best_score - self.tolerance * scale:
                        best_score, (best, _, self.border) = float(score), found[i]
            if best is not None and n_features >= self.most_features:
                break
        return None if best is None else best.with_missing(samples)

    def grow(self, node: Node, root: Node | None = None) -> None:
        """Split the node of a tree, then its children, until the rules forbid it."""
        waiting, root = [node], root or node
        while waiting:
            node = waiting.pop()
            if not may_split(node.samples, node.depth, self.rules):
                continue
            if self.history is not None and self.history.values:
                self.path = path_to(root, node)
            node.split = self.best_split(node.samples)
            if node.split is None:
                continue
            node.border = self.border
            left, right = sides(node.samples, node.split)
            node.left, node.right = Node(left, node.depth + 1), Node(right, node.depth + 1)
            waiting += [node.right, node.left]

    def tree(self, samples: Sequence[Sample]) -> Node:
        """The root of a tree that is grown from all samples at once."""
        root = Node([s for s in samples if s.mass > 0], depth=0)
        self.grow(root)
        return root


class DrawnCart(Cart):
    """Looks at features in random order, unless it looks at all."""

    def __init__(
        self, rules: Rules, n_features: int, rng: NaiveRng, most_features: int | None
    ) -> None:
        super().__init__(rules)
        self.columns, self.rng = list(range(n_features)), rng
        self.most_features = most_features or n_features

    def features(self, X: Values) -> Iterator[int]:
        """Those that vary; the next node begins with the order of this one."""
        varying = [feature for feature in self.columns if len(np.unique(X[:, feature])) > 1]
        self.columns = varying + [feature for feature in self.columns if feature not in varying]
        in_order = len(varying) <= self.most_features
        for i in range(len(varying)):
            if not in_order:
                j = i + self.rng.below(len(varying) - i)
                self.columns[i], self.columns[j] = self.columns[j], self.columns[i]
            yield sorted(varying)[i] if in_order else self.columns[i]


def may_split(samples: Sequence[Sample], depth: int, rules: Rules) -> bool:
    return not (
        pure(samples)
        or (rules.max_depth is not None and depth >= rules.max_depth)
        or count(samples) < max(rules.min_samples_split, 2 * rules.min_samples_leaf)
    )


def walk(node: Node) -> Iterator[Node]:
    """All nodes of a tree: parents before children, left before right."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if node.right is not None and node.left is not None:
            waiting += [node.right, node.left]


def path_to(root: Node, node: Node) -> list[tuple[Split, bool]]:
    """The splits above a node, and whether it lies on their left."""
    above = {id(c): (p, c is p.left) for p in walk(root) for c in (p.left, p.right) if c}
    path = []
    while node is not root:
        node, is_left = above[id(node)]
        assert node.split is not None
        path.append((node.split, is_left))
    return path


def leaf_of(node: Node, x: Sequence[float]) -> Node:
    while node.split is not None:
        node = node.left if node.split.goes_left(x) else node.right
    return node
