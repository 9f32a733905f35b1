"""Two stream decision trees: the published program's, and ours.

What it takes to agree with the published program (a fork of scikit-learn's tree) to the last digit,
found by changing one thing at a time and counting how many of 36 recorded runs still come out:

- A hit leaf ("false root") is tested and judged by the impurity *stored at its parent*, which is
  the impurity that the parent in turn was judged by. With its own impurity, 2 of 36 runs agree.
- A split is refused when (impurity it was judged by - weighted impurity of the children) is below
  minus one machine epsilon. Without that refusal, 2 of 36 agree. It can only happen at false roots.
- The score is the literal float arithmetic below and a strict comparison, so that exact ties are
  decided by rounding. With a tolerance of 1e-12, 34 of 36 agree.
- Entropy is in bits, as log(p) / log(2). With natural logarithms, 35 of 36 agree (ties again).
- The features of a node are visited in an order drawn for it, and the first of equally good splits
  is taken. A pure false root so is split on any feature. (The recorded runs have one feature.)
- Values closer than 1e-7 (in float32) count as equal. The recorded runs do not depend on it.
- The false roots are rewritten in increasing order of (id of the parent, is it the left child); new
  nodes are then numbered below the false root with the largest such key first, depth first, left
  first. Only node ids depend on that.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.naive.cart import Node, Rules, Sample, grow, leaf_of

SPACING = np.float32(1e-7)
Row = Sequence[np.float32]


def published_impurity(counts: Sequence[int], criterion: str) -> float:
    weight = float(sum(counts))
    if criterion == "gini":
        return 1.0 - sum(float(count) * count for count in counts) / (weight * weight)
    bits = 0.0
    for count in counts:
        if count > 0:
            share = count / weight
            bits -= share * (math.log(share) / math.log(2.0))
    return bits


@dataclass
class PublishedNode:
    value: list[float] = field(default_factory=list)  # class shares of the samples last seen here
    impurity: float = 0.0  # the one that the node was judged by
    feature: int = 0
    threshold: float = 0.0
    left: int = -1
    right: int = -1


@dataclass
class Task:
    """Samples waiting at a node, with the depth and the impurity by which it is judged."""

    node: int
    samples: list[int]
    depth: int
    impurity: float


@dataclass
class PublishedSplit:
    feature: int
    threshold: float
    impurity_left: float
    impurity_right: float


@dataclass
class PublishedStreamTree:
    """The published program on float32 features, its known defects included."""

    n_classes: int
    criterion: str = "gini"
    max_depth: int = sys.maxsize
    min_samples_leaf: int = 1
    seed: int = 0
    nodes: list[PublishedNode] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def learn_batch(self, x: Sequence[Row], y: Sequence[int]) -> None:
        self.x, self.y = x, y
        if self.nodes:
            tasks = self.false_roots()
        else:
            everything = list(range(len(y)))
            impurity = published_impurity(self.counts(everything), self.criterion)
            tasks = [Task(self.new_node(), everything, 0, impurity)]
        # All false roots are rewritten before any of them gets children.
        splits = [(task, self.rewrite(task)) for task in tasks]
        waiting = [child for task, split in splits if split for child in self.children(task, split)]
        while waiting:
            parent, is_left, task = waiting.pop()
            task.node = self.new_node()
            setattr(self.nodes[parent], "left" if is_left else "right", task.node)
            split = self.rewrite(task)
            if split:
                waiting += self.children(task, split)

    def false_roots(self) -> list[Task]:
        """The leaves that the batch reaches, in the order in which they are rewritten."""
        found: dict[tuple[int, bool], Task] = {}
        for i, x in enumerate(self.x):
            parent, node, depth, is_left = 0, 0, 0, False
            while self.nodes[node].left >= 0:
                parent, is_left = node, self.goes_left(node, x)
                node = self.nodes[node].left if is_left else self.nodes[node].right
                depth += 1
            judged_by = self.nodes[parent].impurity
            found.setdefault((parent, is_left), Task(node, [], depth, judged_by)).samples.append(i)
        return [found[key] for key in sorted(found)]

    def rewrite(self, task: Task) -> PublishedSplit | None:
        """Overwrite the node with what the task's samples say, and split it where allowed."""
        node = self.nodes[task.node]
        counts = self.counts(task.samples)
        node.value = [count / len(task.samples) for count in counts]
        node.impurity = task.impurity
        if (
            task.depth >= self.max_depth
            or len(task.samples) < max(2, 2 * self.min_samples_leaf)
            or task.impurity <= sys.float_info.epsilon
        ):
            return None
        split = self.best_split(task)
        if split is not None:
            node.feature, node.threshold = split.feature, split.threshold
        return split

    def best_split(self, task: Task) -> PublishedSplit | None:
        n = len(task.samples)
        features = list(range(len(self.x[0])))
        self.random.shuffle(features)
        best, best_score = None, -math.inf
        for feature in features:
            order = sorted(task.samples, key=lambda i: self.x[i][feature])
            values = [self.x[i][feature] for i in order]
            for n_left in range(self.min_samples_leaf, n - self.min_samples_leaf + 1):
                if values[n_left] <= values[n_left - 1] + SPACING:
                    continue
                left = published_impurity(self.counts(order[:n_left]), self.criterion)
                right = published_impurity(self.counts(order[n_left:]), self.criterion)
                score = -float(n - n_left) * right - float(n_left) * left
                if score > best_score:
                    low, high = float(values[n_left - 1]), float(values[n_left])
                    best, best_score = (feature, n_left, left, right, low, high), score
        if best is None:
            return None
        feature, n_left, left, right, low, high = best
        gain = task.impurity - (n - n_left) / n * right - n_left / n * left
        if n / len(self.y) * gain + sys.float_info.epsilon < 0.0:
            return None
        threshold = low / 2.0 + high / 2.0
        return PublishedSplit(feature, low if threshold == high else threshold, left, right)

    def children(self, task: Task, split: PublishedSplit) -> list[tuple[int, bool, Task]]:
        """Right before left: the last of the list is taken first."""
        left = [i for i in task.samples if float(self.x[i][split.feature]) <= split.threshold]
        right = [i for i in task.samples if float(self.x[i][split.feature]) > split.threshold]
        depth = task.depth + 1
        return [
            (task.node, False, Task(-1, right, depth, split.impurity_right)),
            (task.node, True, Task(-1, left, depth, split.impurity_left)),
        ]

    def new_node(self) -> int:
        self.nodes.append(PublishedNode())
        return len(self.nodes) - 1

    def counts(self, samples: Sequence[int]) -> list[int]:
        counts = [0] * self.n_classes
        for i in samples:
            counts[self.y[i]] += 1
        return counts

    def goes_left(self, node: int, x: Row) -> bool:
        return float(x[self.nodes[node].feature]) <= self.nodes[node].threshold

    def predict(self, x: Row) -> int:
        node = 0
        while self.nodes[node].left >= 0:
            left, right = self.nodes[node].left, self.nodes[node].right
            node = left if self.goes_left(node, x) else right
        value = self.nodes[node].value
        return value.index(max(value))


def early_sizes(batch_size: int) -> list[int]:
    """Numbers of samples on which trees grow before their first batch is full."""
    sizes, n = [], 10
    while n < batch_size:
        sizes.append(n)
        n += max(10, n // 2)
    return sizes


@dataclass
class NaiveStreamTree:
    """Ours: leaves count every sample at once, structure changes at the end of a batch.

    Until the first batch is full, the tree is grown from nothing several times, and once more then.

    A leaf that the batch reached is grown, by the batch's samples there, as CART grows a node; its
    new children know these samples only. Any leaf may split at any batch, the root too. With each
    sample that a leaf learns, the weights of its earlier ones fade.
    """

    rules: Rules
    batch_size: int
    fading: float = 1.0
    batch: list[Sample] = field(default_factory=list)
    root: Node = field(default_factory=lambda: Node([], 0))
    is_first: bool = True  # batch

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
            self.batch, self.is_first = [], False

    def learn_in_leaf(self, sample: Sample) -> None:
        leaf = leaf_of(self.root, sample.x)
        faded = [s._replace(weight=s.weight * self.fading) for s in leaf.samples]
        leaf.samples = [*faded, sample]

    def grow_leaves(self) -> None:
        hit = {id(leaf): leaf for leaf in (leaf_of(self.root, s.x) for s in self.batch)}
        for leaf in hit.values():
            learned = leaf.samples
            leaf.samples = [s for s in self.batch if leaf_of(self.root, s.x) is leaf]
            grow(leaf, self.rules)
            leaf.samples = learned

    def leaf(self, x: Sequence[float]) -> Node:
        return leaf_of(self.root, x)
