"""The trees of the forests with several windows, their linear models, and how they are grown."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.naive import cart
from tests.naive.cart import (
    GROUP,
    MANY_VALUES,
    N_BUCKETS,
    NO_CODE,
    Rules,
    Sample,
    Split,
    Values,
    bucket_of,
    leaf_of,
    may_split,
    mean,
    moments,
    present,
    pure,
    random_threshold,
    sides,
    total,
    value_of,
    walk,
)
from tests.naive.rng import NaiveRng

N_SALTS = 254
MAX_REGRESSORS = 64


@dataclass
class Node(cart.Node):
    """A node, and its place in the arena of its tree. Leaves hold what they have learned."""

    number: int = 0
    gain: float = 0.0


@dataclass
class Standard:
    """The regressors of a tree, in standard deviations from their means."""

    columns: list[int]
    centers: Values
    deviations: Values

    def __call__(self, x: Sequence[float]) -> Values:
        values = np.array([value_of(x, column) for column in self.columns])
        z = (values - self.centers) / self.deviations
        return np.where(np.isnan(z), 0.0, z)


def standard_of(samples: list[Sample], numeric: list[int]) -> Standard:
    """The first numeric features, without those that do not vary."""
    found = []
    for column in numeric[:MAX_REGRESSORS]:
        values = present(samples, column)
        if not pure(values):
            weight, center, squares = moments(values)
            found.append((column, center, (squares / weight) ** 0.5))
    columns, centers, deviations = zip(*found, strict=True) if found else ((), (), ())
    return Standard(list(columns), np.array(centers), np.array(deviations))


@dataclass
class Model:
    """A ridge regression on standardised features; it gives what is added to a mean."""

    standard: Standard
    slopes: Values
    middle: Values
    limit: float

    def __call__(self, x: Sequence[float]) -> float:
        slope = float((self.standard(x) - self.middle) @ self.slopes)
        return min(max(slope, -self.limit), self.limit)


def ridge(samples: list[Sample], standard: Standard) -> Model:
    """Solve (Z'WZ + r I) b = Z'W y about the means, r being the mean weight."""
    n = len(standard.columns)
    z = np.array([standard(s.x) for s in samples]).reshape(len(samples), n)
    y, w = np.array([s.y for s in samples]), np.array([s.weight for s in samples])
    middle = w @ z / w.sum()
    z = z - middle
    slopes = np.linalg.solve(z.T @ (w[:, None] * z) + w.mean() * np.eye(n), z.T @ (w * y))
    return Model(standard, slopes, middle, float(y.max() - y.min()))


class Tree:
    """A tree, and the numbers of its nodes: those freed last are given out first.

    Its leaves learn what its linear models, in the nodes of a kind, leave of the targets.
    """

    def __init__(self, kind: str = "none") -> None:
        self.kind = kind
        self.models: dict[int, Model] = {}
        self.n_numbers = 0
        self.free: list[int] = []
        self.root = self.new_node(0)
        self.birth = 0

    def new_node(self, depth: int) -> Node:
        if self.free:
            return Node([], depth, number=self.free.pop())
        self.n_numbers += 1
        # Children are a pair of numbers, so the root, 0, stands alone: there is no node 1.
        return Node([], depth, number=self.n_numbers - (self.n_numbers == 1))

    @property
    def n_nodes(self) -> int:
        return self.n_numbers - len(self.free)

    def leaf(self, x: Sequence[float]) -> Node:
        return leaf_of(self.root, x)

    def slope(self, leaf: Node, x: Sequence[float]) -> float:
        model = self.models.get(0 if self.kind == "root" else leaf.number)
        return 0.0 if model is None else model(x)

    def residual(self, sample: Sample) -> Sample:
        return sample._replace(y=sample.y - self.slope(self.leaf(sample.x), sample.x))

    def shrink_to(self, max_nodes: int) -> None:
        """Make leaves of the lightest splits at the bottom until no more nodes are left."""
        while (excess := self.n_nodes - max(max_nodes, 1)) > 0:
            bottom = [
                (total(node.left.samples + node.right.samples), node.number, node)
                for node in walk(self.root)
                if node.split and node.left.split is None and node.right.split is None
            ]
            for _, _, node in sorted(bottom)[: (excess + 1) // 2]:
                self.free += [node.left.number, node.right.number]
                node.samples = node.left.samples + node.right.samples
                node.split = node.left = node.right = None
                node.gain = 0.0


# --- Growth


def score(samples: list[Sample], criterion: str, middle: float) -> float:
    """Higher is better: the impurity of the samples of a side, but for a constant.

    Values are taken from their mean in the node.
    """
    weight = total(samples)
    if criterion == "variance":
        return sum(s.weight * (s.y - middle) for s in samples) ** 2 / weight
    codes = sorted({sample.y for sample in samples})
    counts = [total([s for s in samples if s.y == code]) for code in codes]
    if criterion == "entropy":
        return sum(count * math.log(count / weight) for count in counts)
    return sum(count * count for count in counts) / weight


@dataclass
class Growth:
    """Extremely randomised splits of a leaf and of what is below it."""

    rules: Rules
    nominal: frozenset[int]
    tree: Tree
    n_visited: int
    rng: NaiveRng

    @property
    def of_numbers(self) -> bool:
        return self.rules.criterion == "variance"

    def run(self, leaf: Node, samples: list[Sample], offered: list[int]) -> None:
        """Split the leaf and its children, left ones first, until the rules forbid it."""
        columns = list(offered)  # those that may vary first, in the order drawn
        tasks = [(leaf, samples, len(columns))]
        while tasks:
            node, samples, n_active = tasks.pop()
            if not may_split(samples, node.depth, self.rules):
                continue
            middle = mean(samples)
            best, best_score, n_active = self.best_split(samples, columns, n_active, middle)
            if best is None:
                continue
            node.left = self.tree.new_node(node.depth + 1)
            node.right = self.tree.new_node(node.depth + 1)
            node.split, node.gain = best, best_score - score(samples, self.rules.criterion, middle)
            node.left.samples, node.right.samples = sides(samples, best)
            if n_active:
                tasks += [(child, child.samples, n_active) for child in (node.right, node.left)]

    def best_split(
        self,
        samples: list[Sample],
        columns: list[int],
        n_active: int,
        middle: float,
    ) -> tuple[Split | None, float, int]:
        """The best split of some columns that vary; how many of all may vary below it.

        A column that does not vary is not drawn again.
        """
        margin = 1.0 + 1e-12 if self.of_numbers else 1.0  # of sums that are not exact
        best, best_score = None, -math.inf
        n_left, n_visited = n_active, 0
        while n_left > 0 and (n_visited < self.n_visited or best is None):
            drawn = self.rng.below(n_left)
            n_left -= 1
            columns[drawn], columns[n_left] = columns[n_left], columns[drawn]
            column = columns[n_left]
            values = [value_of(sample.x, column) for sample in samples]
            present = [value for value in values if not math.isnan(value)]
            if len(set(present)) + (len(present) < len(values)) <= 1:
                n_active -= 1
                columns[n_left], columns[n_active] = columns[n_active], columns[n_left]
                continue
            n_visited += 1
            splits = self.nominal_splits if column in self.nominal else self.numeric_splits
            for split in splits(column, values, samples):
                left, right = sides(samples, split)
                if min(len(left), len(right)) >= max(1, self.rules.min_samples_leaf):
                    found = sum(score(side, self.rules.criterion, middle) for side in (left, right))
                    if best is None or found > best_score * margin:
                        best, best_score = split, found
        return best, best_score, n_active

    def nominal_splits(
        self, column: int, values: list[float], samples: list[Sample]
    ) -> list[Split]:
        """Each value, or the missing ones, against all others; in the order in which they come.

        If there are many values, groups of them.
        """
        met = dict.fromkeys("missing" if math.isnan(value) else value for value in values)
        if len(met) > MANY_VALUES:
            return self.group_splits(column, values, samples)
        return [
            Split(column, NO_CODE, True, True)
            if value == "missing"
            else Split(column, float(value), True, False)
            for value in met
        ]

    def group_splits(self, column: int, values: list[float], samples: list[Sample]) -> list[Split]:
        """Put the values into buckets at random, order these by mean target, and cut the order.

        The missing ones are a bucket of their own. What no sample has goes to the heavier side.
        """
        salt = self.rng.below(N_SALTS)
        buckets: dict[int, list[Sample]] = {}
        for value, sample in zip(values, samples, strict=True):
            bucket = N_BUCKETS if math.isnan(value) else bucket_of(salt, value)
            buckets.setdefault(bucket, []).append(sample)
        if not self.of_numbers:  # then the share of the most frequent class in the node counts
            codes = sorted({sample.y for sample in samples})
            top = max(codes, key=lambda code: total([s for s in samples if s.y == code]))
        means = {
            bucket: mean(found if self.of_numbers else [s._replace(y=s.y == top) for s in found])
            for bucket, found in buckets.items()
        }
        order = sorted(sorted(means), key=means.__getitem__)
        unmet = set(range(N_BUCKETS + 1)) - set(order)
        weights = {bucket: total(found) for bucket, found in buckets.items()}
        splits = []
        for cut in range(1, len(order)):
            left, right = (sum(map(weights.get, side)) for side in (order[:cut], order[cut:]))
            group = {*order[:cut], *(unmet if left >= right else ())}
            mask = float(sum(1 << bucket for bucket in group - {N_BUCKETS}))
            splits.append(Split(column, mask, GROUP + salt, N_BUCKETS in group))
        return splits

    def numeric_splits(
        self, column: int, values: list[float], samples: list[Sample]
    ) -> list[Split]:
        """A random threshold; missing values go right, then left."""
        present = [value for value in values if not math.isnan(value)]
        threshold = random_threshold(self.rng, min(present), max(present))
        if len(present) < len(values):
            return [Split(column, threshold, False, left) for left in (False, True)]
        return [Split(column, threshold, False, False).with_missing(samples)]
