"""The regression forest that learns how much each memory is worth, as one would explain it.

The growth, its schedule and the order of all steps are those of `memory_forest`. Sums that decide
between splits are added in the core's order, so that ties are broken alike; all else is computed
from the samples anew, by numpy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.naive.cart import GROUP, Sample, Split, value_of
from tests.naive.memory_forest import (
    RENEW,
    Group,
    Growth,
    NaiveMemoryForest,
    Task,
    offered_columns,
)
from tests.naive.memory_tree import Node, Tree
from tests.naive.rng import NaiveRng

SHARE = 0.02
DECAY = 0.99
WORST = 12.0
STACK_DECAY = 0.999
PRIOR = 30.0
FIRST_STACK = 10
LEAST_SAMPLES = 10
SAMPLES_PER_REGRESSOR = 3
MAX_REGRESSORS = 64

Numbers = npt.NDArray[np.float64]


@dataclass
class NumberNode(Node):
    """A node with the mean of its targets and the sum of their squared deviations."""

    mean: float = 0.0
    squares: float = 0.0

    def learn(self, code: float, weight: float) -> None:
        delta = code - self.mean
        self.weight += weight
        self.mean += delta * (weight / self.weight)
        self.squares += weight * delta * (code - self.mean)

    def fade(self, fading: float) -> None:
        self.weight *= fading
        self.squares *= fading


@dataclass
class Standard:
    """The regressors of a tree, in standard deviations from their means."""

    columns: list[int]
    centers: Numbers
    deviations: Numbers

    def __call__(self, x: Sequence[float]) -> Numbers:
        values = np.array([value_of(x, column) for column in self.columns])
        z = (values - self.centers) / self.deviations
        return np.where(np.isnan(z), 0.0, z)


@dataclass
class Model:
    """A ridge regression on standardised features; it gives what is added to a mean."""

    standard: Standard
    slopes: Numbers
    middle: Numbers
    limit: float

    def __call__(self, x: Sequence[float]) -> float:
        slope = float((self.standard(x) - self.middle) @ self.slopes)
        return min(max(slope, -self.limit), self.limit)


@dataclass(eq=False)
class NumberTree(Tree):
    """A tree whose leaves learn what its linear models leave of the targets."""

    kind: str = "none"
    models: dict[int, Model] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def new_node(self, depth: int) -> Node:
        node = super().new_node(depth)
        return NumberNode(node.number, node.depth)

    def slope(self, leaf: Node, x: Sequence[float]) -> float:
        model = self.models.get(0 if self.kind == "root" else leaf.number)
        return 0.0 if model is None else model(x)

    def residual(self, sample: Sample, leaf: Node | None = None) -> Sample:
        leaf = self.leaf(sample.x) if leaf is None else leaf
        return sample._replace(y=sample.y - self.slope(leaf, sample.x))


def standard_of(samples: list[Sample], numeric: list[int]) -> Standard:
    """The first numeric features, without those that do not vary."""
    used, centers, deviations = [], [], []
    for column in numeric[:MAX_REGRESSORS]:
        met = [(value_of(s.x, column), s.weight) for s in samples]
        pairs = np.array([pair for pair in met if not math.isnan(pair[0])]).reshape(-1, 2)
        if len(set(pairs[:, 0])) > 1:
            center = np.average(pairs[:, 0], weights=pairs[:, 1])
            used.append(column)
            centers.append(center)
            deviations.append(np.average((pairs[:, 0] - center) ** 2, weights=pairs[:, 1]) ** 0.5)
    return Standard(used, np.array(centers), np.array(deviations))


def ridge(samples: list[Sample], standard: Standard) -> Model:
    """Solve (Z'WZ + r I) b = Z'W y about the means, r being the mean weight."""
    n = len(standard.columns)
    z = np.array([standard(s.x) for s in samples]).reshape(len(samples), n)
    y, w = np.array([s.y for s in samples]), np.array([s.weight for s in samples])
    middle = w @ z / w.sum()
    z = z - middle
    slopes = np.linalg.solve(z.T @ (w[:, None] * z) + w.mean() * np.eye(n), z.T @ (w * y))
    return Model(standard, slopes, middle, float(y.max() - y.min()))


def added(sums: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The sum of pairs, one after the other."""
    weight = total = 0.0
    for one, other in sums:
        weight, total = weight + one, total + other
    return weight, total


class NumberGrowth(Growth):
    """Splits that bring the targets of a side together."""

    def open(self, task: Task) -> None:
        super().open(task)
        mean = spread = self.weight = self.sum = 0.0
        for sample in task.samples:
            self.weight += sample.weight
            delta = sample.y - mean
            mean += delta * (sample.weight / self.weight)
            spread += sample.weight * delta * (sample.y - mean)
        self.mean = mean
        for sample in task.samples:
            self.sum += sample.weight * (sample.y - mean)

    def sums(self, samples: list[Sample]) -> tuple[float, float]:
        """Weight, and weighted sum of the targets less the mean of the node."""
        weight = total = 0.0
        for sample in samples:
            weight += sample.weight
            total += sample.weight * (sample.y - self.mean)
        return weight, total

    def mean_targets(self, column: int, samples: list[Sample]) -> dict[int, float]:
        """Of each bucket the mean target."""
        self.bucket_sums = {b: self.sums(found) for b, found in self.buckets.items()}
        return {bucket: total / weight for bucket, (weight, total) in self.bucket_sums.items()}

    def group_sums(self, split: Split) -> tuple[float, float]:
        """The sums of the buckets that go left, in their order."""
        is_left = {b: split.goes_left(found[0].x) for b, found in self.buckets.items()}
        return added(self.bucket_sums[bucket] for bucket in self.order if is_left[bucket])

    def offer(self, split: Split, samples: list[Sample]) -> None:
        left = [s for s in samples if split.goes_left(s.x)]
        right = [s for s in samples if not split.goes_left(s.x)]
        if min(len(left), len(right)) < max(1, self.rules.min_samples_leaf):
            return
        if split.nominal:
            sides = [self.group_sums(split) if split.nominal >= GROUP else self.sums(left)]
            sides.append((self.weight - sides[0][0], self.sum - sides[0][1]))
        else:
            is_missing = [math.isnan(value_of(s.x, split.feature)) for s in samples]
            missing = self.sums([s for s, gone in zip(samples, is_missing, strict=True) if gone])
            sides = [
                self.sums([s for s in side if not math.isnan(value_of(s.x, split.feature))])
                for side in (left, right)
            ]
            if any(is_missing):
                weight, total = sides[1]
                joined = (weight + missing[0], total + missing[1])
                sides[1] = (weight, joined[1] - missing[1]) if split.missing_left else joined
                if split.missing_left:
                    sides[0] = (sides[0][0] + missing[0], sides[0][1] + missing[1])
        score = sum(total * total / weight for weight, total in sides)
        if self.best is None or score > self.best_score * (1.0 + 1e-12):
            self.best, self.best_score = split, score

    def score(self, samples: list[Sample]) -> float:
        """Of a node that is to be split: nothing, as its targets are less their mean."""
        return 0.0


class NumberTreeGrowth:
    """The growth of a tree with its models; all of it happens in the step that ends it."""

    def __init__(self, forest: NaiveNumberForest, group: Group, tree: NumberTree) -> None:
        self.forest, self.tree = forest, tree
        self.samples = forest.samples[-min(forest.n_seen, group.memory) :]
        self.offered = offered_columns(self.samples)
        nominal = forest.columns.nominal
        self.numeric = [column for column in self.offered if column not in nominal]
        self.n_visited = forest.n_visited(len(self.offered))
        self.rng = NaiveRng(forest.seed, group.trees[group.turn], forest.n_seen, RENEW)

    def run(self) -> None:
        tree, samples, forest = self.tree, self.samples, self.forest
        rules = forest.rules
        if tree.kind != "none":
            standard = standard_of(samples, self.numeric)
        if tree.kind == "leaves":
            n = min(len(self.numeric), MAX_REGRESSORS)
            least = max(rules.min_samples_leaf, LEAST_SAMPLES, SAMPLES_PER_REGRESSOR * n)
            rules = replace(rules, min_samples_leaf=least)
        if tree.kind == "root":
            tree.models[0] = ridge(samples, standard)
            samples = [tree.residual(sample) for sample in samples]
        for sample in samples:
            tree.root.learn(sample.y, sample.weight)
        task = (tree.root, samples)
        NumberGrowth(
            rules, forest.columns, self.offered, tree, task, self.n_visited, self.rng
        ).advance(math.inf)
        tree.shrink_to(forest.max_nodes)
        if tree.kind == "leaves":
            self.fit_leaves(standard)

    def fit_leaves(self, standard: Standard) -> None:
        for leaf in self.tree.preorder():
            if leaf.split is None:
                own = [s for s in self.samples if self.tree.leaf(s.x) is leaf]
                model = ridge(own, standard)
                assert isinstance(leaf, NumberNode)
                leaf.weight = leaf.mean = leaf.squares = 0.0
                self.tree.models[leaf.number] = model
                for sample in own:
                    leaf.learn(self.tree.residual(sample, leaf).y, sample.weight)


class NaiveNumberForest(NaiveMemoryForest):
    """The whole learner; `linear` names the nodes that have linear models, per group.

    The steps of a growth are not counted here: a tree takes its place when the core's does, which
    `births` tells, the numbers of samples seen when the growth of each tree ended.
    """

    trees: list[NumberTree]  # type: ignore[assignment]

    def __init__(self, linear: Sequence[str], **settings: Any) -> None:
        super().__init__(**settings)
        kinds = [kind for kind, group in zip(linear, self.groups, strict=True) for _ in group.trees]
        self.trees = [NumberTree(kind=kind) for kind in kinds]
        n = len(self.groups)
        self.members = [1.0 / (n + 1)] * (n + 1)
        self.answers: list[Numbers] = []  # of the members, to all samples but the first
        self.variances: list[float] = []
        self.errors: list[float] = []
        self.growths: dict[int, NumberTreeGrowth] = {}  # by the first tree of the group
        self.births: Sequence[int] = []

    # --- Answers ---

    def member_answers(self, x: Sequence[float]) -> tuple[Numbers, float]:
        """The answers of the groups and the stacked one, and V."""
        targets = [s.y for s in self.samples]
        low, high = min(targets), max(targets)
        means, variances = [], []
        for group in self.groups:
            leaves = [(self.trees[tree], self.trees[tree].leaf(x)) for tree in group.trees]
            numbers = [leaf.mean + tree.slope(leaf, x) for tree, leaf in leaves]  # type: ignore[attr-defined]
            inside = [
                leaf.squares / leaf.weight if leaf.weight > 0.0 else 0.0  # type: ignore[attr-defined]
                for _, leaf in leaves
            ]
            means.append(min(max(float(np.mean(numbers)), low), high))
            variances.append(float(np.mean(inside) + np.var(numbers)))
        middle = float(np.mean(means))
        stacked = middle + float(self.stack() @ (np.array(means) - middle))
        return np.array([*means, min(max(stacked, low), high)]), float(np.mean(variances))

    def stack(self) -> Numbers:
        """The slopes of the stacked answer: a ridge regression on all answers, older ones fade."""
        n = len(self.groups)
        if len(self.answers) < FIRST_STACK:
            return np.zeros(n)
        groups = np.array(self.answers)[:, :-1]
        middle = groups.mean(axis=1)
        d = groups - middle[:, None]
        fade = STACK_DECAY ** np.arange(len(d) - 1, -1, -1)
        y = np.array([s.y for s in self.samples[1:]]) - middle
        prior = PRIOR * (fade @ (d**2).mean(axis=1)) / fade.sum()
        if prior == 0.0:
            return np.zeros(n)
        found: Numbers = np.linalg.solve(
            d.T @ (fade[:, None] * d) + prior * np.eye(n), d.T @ (fade * y)
        )
        return found

    def predict(self, x: dict[Any, Any]) -> tuple[float, float]:
        """Mean and variance of the prediction."""
        if not self.samples:
            return 0.0, 0.0
        answers, variance = self.member_answers(self.columns.encoded(x))
        return float(answers @ self.members), self.spread(variance)

    def spread(self, variance: float) -> float:
        if not self.errors:
            return 0.0
        fade = DECAY ** np.arange(len(self.errors) - 1, -1, -1)
        error = fade @ np.array(self.errors) / fade.sum()
        ratios = []
        for i in range(len(self.errors)):
            until = fade[-1 - i :]
            running = until @ np.array(self.errors[: i + 1]) / until.sum()
            scale = max(self.variances[i] + 0.1 * running, 1e-300)
            ratios.append(self.errors[i] / scale)
        return 0.5 * float(error + fade @ np.array(ratios) / fade.sum() * (variance + 0.1 * error))

    # --- Learning ---

    def learn(self, x: dict[Any, Any], y: float, weight: float = 1.0) -> None:
        if weight == 0.0:
            return
        sample = Sample(self.columns.learned(x), y, weight)
        if self.samples:
            self.weigh_members(sample)
        for tree in self.trees:
            leaf = tree.leaf(sample.x)
            self.learn_leaf(leaf, tree.residual(sample, leaf))
        self.samples.append(sample)
        for number in range(len(self.trees)):
            if number % self.batch_size == self.n_seen % self.batch_size:
                self.split_leaves(number)
        for group in self.groups:
            self.continue_growth(group)

    def weigh_members(self, sample: Sample) -> None:
        """The fixed share."""
        answers, variance = self.member_answers(sample.x)
        self.errors.append((sample.y - float(answers @ self.members)) ** 2)
        self.answers.append(answers)
        self.variances.append(variance)
        fade = DECAY ** np.arange(len(self.answers) - 1, -1, -1)
        targets = np.array([s.y for s in [*self.samples[1:], sample]])
        squared = (np.array(self.answers) - targets[:, None]) ** 2
        running = np.maximum(fade @ squared / fade.sum(), 1e-300)
        logs = -0.5 * np.log(running) - np.minimum(0.5 * squared[-1] / running, WORST)
        raised = np.array(self.members) * np.exp(0.5 * (logs - logs.max()))
        self.members = ((1.0 - SHARE) * raised / raised.sum() + SHARE / len(raised)).tolist()

    def split_leaves(self, number: int) -> None:
        """Split the leaves that several samples of a batch reached, unless they have models."""
        if self.trees[number].kind != "leaves":
            super().split_leaves(number)

    def growth(self, tree: Tree, leaf: Node, samples: list[Sample], rng: NaiveRng) -> Growth:
        assert isinstance(tree, NumberTree)
        offered = offered_columns(samples)
        n_visited = self.n_visited(len(offered))
        task = (leaf, [tree.residual(sample, leaf) for sample in samples])
        return NumberGrowth(self.rules, self.columns, offered, tree, task, n_visited, rng)

    # --- Trees grown anew ---

    def continue_growth(self, group: Group) -> None:
        """Begin the next growth of a group if it is due; end it when the core has."""
        if self.n_seen >= group.due:
            n = min(self.n_seen, group.memory)
            group.due += max(1.0, n / len(group.trees))
            group.begun = self.n_seen
            group.tree = NumberTree(kind=self.trees[group.trees.start].kind)
            self.growths[group.trees.start] = NumberTreeGrowth(self, group, group.tree)
        number = group.trees[group.turn]
        if group.tree is not None and self.births[number] == self.n_seen:
            self.replace(group, number)

    def replace(self, group: Group, number: int) -> None:
        """Put the tree that was begun into its place; it learns what came meanwhile."""
        tree = group.tree
        assert isinstance(tree, NumberTree)
        self.growths.pop(group.trees.start).run()
        for sample in self.samples[group.begun :]:
            leaf = tree.leaf(sample.x)
            self.learn_leaf(leaf, tree.residual(sample, leaf))
        tree.birth = self.n_seen
        self.trees[number] = tree
        group.tree = None
        group.turn = (group.turn + 1) % len(group.trees)
