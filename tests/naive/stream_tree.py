"""Stream decision trees: the structure changes once per batch, the leaves with every sample."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.naive.cart import (
    MANY_VALUES,
    VALUES,
    Cart,
    Node,
    Rules,
    Sample,
    faded,
    leaf_of,
    path_to,
    total,
    value_of,
    walk,
)
from tests.naive.value_history import NaiveHistory


def early_sizes(batch_size: int) -> list[int]:
    """Numbers of samples on which trees grow before their first batch is full."""
    sizes, n = [], 10
    while n < batch_size:
        sizes.append(n)
        n += max(10, n // 2)
    return sizes


def drawn(side: Sequence[Sample], both: Sequence[Sample], of: Callable[[Sample], float]) -> float:
    """The mean of something on a side of a split, drawn to that of both by one sample."""
    mean = math.fsum(s.mass * of(s) for s in both) / total(both)
    return (math.fsum(s.mass * of(s) for s in side) + mean) / (total(side) + 1.0)


@dataclass
class NaiveStreamTree:
    """Ours: leaves count every sample at once, structure changes at the end of a batch.

    Until the first batch is full, the tree is grown from nothing several times, and once more then.

    A leaf that the batch reached is grown, by the batch's samples there, as CART grows a node; its
    new children know these samples only. Any leaf may split at any batch, the root too. With each
    sample that a leaf learns, the weights of its earlier ones fade. After a batch, splits by sets
    of values send its values anew: to the side that the history of a value speaks for.
    """

    rules: Rules
    batch_size: int
    fading: float = 1.0
    batch: list[Sample] = field(default_factory=list)
    root: Node = field(default_factory=lambda: Node([], 0))
    is_first: bool = True  # batch

    def __post_init__(self) -> None:
        self.history = NaiveHistory(self.rules.nominal, self.rules.criterion == "variance")

    def learn(self, sample: Sample) -> None:
        self.learn_in_leaf(sample)
        self.batch.append(sample)
        is_full = len(self.batch) == self.batch_size
        if self.is_first and (is_full or len(self.batch) in early_sizes(self.batch_size)):
            self.root = Node([], 0)
            for each in self.batch:
                self.learn_in_leaf(each)
            self.grow_leaves()
        elif is_full:
            self.grow_leaves()
        if is_full:
            for each in self.batch:
                self.history.learn(each)
            for node in walk(self.root):
                if node.split is not None and node.split.nominal == VALUES:
                    self.renew_set(node)
            self.batch, self.is_first = [], False

    def learn_in_leaf(self, sample: Sample) -> None:
        leaf = leaf_of(self.root, sample.x)
        leaf.samples = [*faded(leaf.samples, self.fading), sample]

    def grow_leaves(self) -> None:
        hit = {id(leaf): leaf for leaf in (leaf_of(self.root, s.x) for s in self.batch)}
        for leaf in hit.values():
            learned = leaf.samples
            leaf.samples = [s for s in self.batch if leaf_of(self.root, s.x) is leaf]
            cart = Cart(self.rules)
            cart.history, cart.listed = self.history, 1
            cart.grow(leaf, self.root)
            leaf.samples = learned

    def renew_set(self, node: Node) -> None:
        """Send the values of the batch that reach a split to the sides that they speak for."""
        split, place = node.split, Cart(self.rules)
        assert split is not None
        place.path = path_to(self.root, node)
        history, (others_left, codes) = self.history.of(split.feature), split.threshold
        values = {value_of(sample.x, split.feature) for sample in self.batch} & history.keys()
        values = {value for value in values if place.reaches(split.feature, value)}
        if not values or self.history.n_values(split.feature) <= MANY_VALUES:
            return
        named = codes & history.keys() - values
        for value in values:
            evidence = self.evidence(node, history[value])
            goes_left = evidence < 0 or (evidence == 0 and (value in codes) != others_left)
            named |= {value} if goes_left != others_left else set()
        node.split = split._replace(threshold=(others_left, frozenset(named)))

    def evidence(self, node: Node, labels: dict[float, list[float]]) -> float:
        """For the right side of a split; of a value of which the history has these labels."""
        assert node.left is not None
        assert node.right is not None
        left, right = (
            [s for leaf in walk(child) if leaf.split is None for s in leaf.samples]
            for child in (node.left, node.right)
        )
        both = left + right
        if self.rules.criterion == "variance":
            weight, summed = labels[0]
            mean = (summed + drawn(both, both, lambda s: s.y)) / (weight + 1.0)
            distances = [abs(mean - drawn(side, both, lambda s: s.y)) for side in (left, right)]
            return distances[0] - distances[1]
        evidence = []
        for label, (weight, _) in labels.items():
            shares = [drawn(side, both, lambda s: s.y == label) for side in (left, right)]  # noqa: B023
            evidence += [weight * math.log(shares[1] / shares[0])] if shares[0] else []
        return math.fsum(evidence)
