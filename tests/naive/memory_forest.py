"""The forest that learns how much each memory is worth, as one would explain it.

All samples are kept; whatever the core sums up as it goes is computed from them anew. Class counts
in the nodes are added in order of arrival, as the core does, so that they are equal to the bit.
With weights that are small multiples of powers of two all scores are, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.naive import cart
from tests.naive.cart import GROUP, N_BUCKETS, NO_CODE, Sample, Split, bucket_of, value_of
from tests.naive.columns import Columns
from tests.naive.memory_tree import Node, Tree
from tests.naive.naive_bayes import NaiveBayes
from tests.naive.rng import NaiveRng

RENEW, BRANCH = 10, 11  # purposes of random numbers
FLOOR = 0.01
LEARNING_RATE = 0.02
SHARE = 0.005
FIRST_GROWTH = 10
HASTE = 2.5
WALK = 16
N_SALTS = 254


@dataclass(frozen=True)
class Rules:
    """When and how a leaf is split."""

    criterion: str = "gini"
    max_depth: float = math.inf
    min_samples_split: int = 2
    min_samples_leaf: int = 1


@dataclass
class Task:
    """A leaf to be split, its samples, and how many of the columns may vary in it."""

    node: Node
    samples: list[Sample]
    n_active: int


def offered_columns(samples: list[Sample]) -> list[int]:
    """The columns with a value among the samples of a growth: only these are offered to it."""
    found = {
        column
        for sample in samples
        for column, value in enumerate(sample.x)
        if not math.isnan(value)
    }
    return sorted(found)


class Growth:
    """Extremely randomised splits of a leaf and of what is below it, counted in steps."""

    def __init__(
        self,
        rules: Rules,
        columns: Columns,
        offered: list[int],
        tree: Tree,
        task: tuple[Node, list[Sample]],
        max_features: int,
        rng: NaiveRng,
    ) -> None:
        self.rules, self.tree, self.rng, self.max_features = rules, tree, rng, max_features
        self.nominal = columns.nominal
        self.columns = list(offered)  # those that may vary first, in the order drawn
        self.tasks = [Task(*task, n_active=len(offered))]
        self.task: Task | None = None
        self.n_steps = 0

    def advance(self, n_steps: float) -> bool:
        """Do so many steps, or a few more; say whether the growth has ended."""
        until = self.n_steps + n_steps
        while self.n_steps < until and (self.task or self.tasks):
            if self.task is None:
                self.open(self.tasks.pop())
            elif self.n_left > 0 and (self.n_visited < self.max_features or self.best is None):
                self.visit(self.task)
            else:
                task, self.task = self.task, None
                if self.best is not None:
                    self.split(task, self.best)
        return not self.task and not self.tasks

    def open(self, task: Task) -> None:
        n, rules = len(task.samples), self.rules
        self.n_steps += 1
        if (
            task.node.depth >= rules.max_depth
            or n < rules.min_samples_split
            or n < 2 * rules.min_samples_leaf
        ):
            return
        self.n_steps += n
        if len({sample.y for sample in task.samples}) > 1:
            self.task, self.n_left, self.n_visited = task, task.n_active, 0
            self.best: Split | None = None
            self.best_score = -math.inf

    def visit(self, task: Task) -> None:
        """Draw a column, and offer its splits; a column that does not vary is not drawn again."""
        columns, drawn = self.columns, self.rng.below(self.n_left)
        self.n_left -= 1
        columns[drawn], columns[self.n_left] = columns[self.n_left], columns[drawn]
        column = columns[self.n_left]
        self.n_steps += 2 * len(task.samples)
        values = [value_of(sample.x, column) for sample in task.samples]
        present = [value for value in values if not math.isnan(value)]
        if len(set(present)) + (len(present) < len(values)) <= 1:
            task.n_active -= 1
            last = task.n_active
            columns[self.n_left], columns[last] = columns[last], columns[self.n_left]
            return
        self.n_visited += 1
        splits = self.nominal_splits if column in self.nominal else self.numeric_splits
        for split in splits(column, values, task.samples):
            self.offer(split, task.samples)

    def nominal_splits(
        self, column: int, values: list[float], samples: list[Sample]
    ) -> list[Split]:
        """Each value, or the missing ones, against all others; in the order in which they come.

        If there are many values, groups of them.
        """
        met = dict.fromkeys("missing" if math.isnan(value) else value for value in values)
        if len(met) > cart.MANY_VALUES:
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
        self.buckets: dict[int, list[Sample]] = {}
        for value, sample in zip(values, samples, strict=True):
            bucket = N_BUCKETS if math.isnan(value) else bucket_of(salt, value)
            self.buckets.setdefault(bucket, []).append(sample)
        means = self.mean_targets(column, samples)
        self.order = sorted(sorted(means), key=means.__getitem__)
        unmet = set(range(N_BUCKETS + 1)) - set(self.order)
        weights = {b: sum(s.weight for s in found) for b, found in self.buckets.items()}
        splits = []
        for cut in range(1, len(self.order)):
            sides = self.order[:cut], self.order[cut:]
            left, right = (sum(weights[bucket] for bucket in side) for side in sides)
            group = {*sides[0], *(unmet if left >= right else ())}
            mask = float(sum(1 << bucket for bucket in group - {N_BUCKETS}))
            splits.append(Split(column, mask, GROUP + salt, N_BUCKETS in group))
        return splits

    def mean_targets(self, column: int, samples: list[Sample]) -> dict[int, float]:
        """Of each bucket the share of the class that is most frequent in the node."""
        codes = sorted({sample.y for sample in samples})
        top = max(codes, key=lambda code: sum(s.weight for s in samples if s.y == code))
        return {
            bucket: sum(s.weight for s in found if s.y == top) / sum(s.weight for s in found)
            for bucket, found in self.buckets.items()
        }

    def numeric_splits(
        self, column: int, values: list[float], samples: list[Sample]
    ) -> list[Split]:
        """A random threshold; missing values go right, then left."""
        present = [value for value in values if not math.isnan(value)]
        low, high = min(present), max(present)
        threshold = low + self.rng.uniform() * (high - low)
        if not low <= threshold < high:
            threshold = low
        if len(present) < len(values):
            return [Split(column, threshold, False, left) for left in (False, True)]
        split = Split(column, threshold, False, False)
        left = sum(sample.weight for sample in samples if split.goes_left(sample.x))
        return [split._replace(missing_left=left >= sum(s.weight for s in samples) - left)]

    def offer(self, split: Split, samples: list[Sample]) -> None:
        left = [sample for sample in samples if split.goes_left(sample.x)]
        right = [sample for sample in samples if not split.goes_left(sample.x)]
        if min(len(left), len(right)) >= max(1, self.rules.min_samples_leaf):
            score = self.score(left) + self.score(right)
            if score > self.best_score:
                self.best, self.best_score = split, score

    def score(self, samples: list[Sample]) -> float:
        """Higher is better: the impurity of the samples, but for a constant."""
        weight = sum(sample.weight for sample in samples)
        counts = [
            sum(sample.weight for sample in samples if sample.y == code)
            for code in sorted({sample.y for sample in samples})
        ]
        if self.rules.criterion == "entropy":
            return sum(count * math.log(count / weight) for count in counts)
        return sum(count * count for count in counts) / weight

    def split(self, task: Task, split: Split) -> None:
        node = task.node
        self.n_steps += 2 * len(task.samples)
        node.left = self.tree.new_node(node.depth + 1)
        node.right = self.tree.new_node(node.depth + 1)
        node.split, node.gain = split, self.best_score - self.score(task.samples)
        for child, is_left in ((node.right, False), (node.left, True)):
            samples = [s for s in task.samples if split.goes_left(s.x) == is_left]
            for sample in samples:
                child.learn(sample.y, sample.weight)
            if len(samples) >= max(2, self.rules.min_samples_split) and task.n_active:
                self.tasks.append(Task(child, samples, task.n_active))


@dataclass
class Group:
    """The trees of one memory, and the tree that is grown next."""

    memory: int
    trees: range
    turn: int = 0
    due: float = FIRST_GROWTH
    tree: Tree | None = None
    growth: Growth | None = None
    begun: int = 0
    caught_up: int | None = None  # samples seen when the grown tree learned last
    steps: int = 0


class NaiveMemoryForest:
    """The whole learner; `memories` holds (latest samples to grow on, number of trees)."""

    def __init__(
        self,
        memories: Sequence[tuple[int, int]],
        batch_size: int,
        fading: float,
        max_features: int | float | str | None,
        max_nodes: int,
        rules: Rules,
        seed: int,
    ) -> None:
        self.batch_size, self.fading, self.max_features = batch_size, fading, max_features
        self.max_nodes, self.rules, self.seed = max_nodes, rules, seed
        self.columns = Columns()
        self.labels: list[Any] = []
        self.samples: list[Sample] = []
        self.naive = NaiveBayes()
        self.groups: list[Group] = []
        first = 0
        for memory, n in memories:
            self.groups.append(Group(memory, range(first, first + n)))
            first += n
        self.trees = [Tree() for _ in range(first)]
        n_groups = len(self.groups)
        self.weights = [1.0 / n_groups] * n_groups
        self.exponents = [0.0] * n_groups + [1.0, 0.0]  # of groups, their mixture, naive Bayes

    @property
    def n_seen(self) -> int:
        return len(self.samples)

    def n_visited(self, n: int) -> int:
        """Features that a split looks at, of n that are offered."""
        shares = {"sqrt": math.isqrt(n), "log2": int(math.log2(max(n, 1)))}
        if self.max_features is None:
            return n
        if isinstance(self.max_features, str):
            return max(1, shares[self.max_features])
        if isinstance(self.max_features, float):
            return max(1, min(100, int(self.max_features * n)))
        return self.max_features

    # --- Answers ---

    def group_answers(self, x: Sequence[float]) -> list[list[float]]:
        """Per group the mean of the class frequencies in the leaves of its trees."""
        found = []
        for group in self.groups:
            answer, n = [0.0] * len(self.labels), len(group.trees)
            for tree in group.trees:
                leaf = self.trees[tree].leaf(x)
                for code in range(len(self.labels)):
                    if leaf.weight > 0.0:
                        answer[code] += leaf.counts.get(code, 0.0) * (1.0 / (leaf.weight * n))
                    else:
                        answer[code] += 1.0 / (len(self.labels) * n)
            found.append(answer)
        return found

    def member_logs(self, x: Sequence[float]) -> list[list[float]]:
        """Per member of the pool the logarithms of its answer, kept away from zero."""
        groups, n = self.group_answers(x), len(self.labels)
        mixture = [
            sum(w * q[code] for w, q in zip(self.weights, groups, strict=True)) for code in range(n)
        ]
        naive = self.naive.answer(x, self.columns.nominal, n)
        return [
            [math.log((1.0 - FLOOR) * share + FLOOR / n) for share in member]
            for member in [*groups, mixture, naive]
        ]

    def pool(self, logs: list[list[float]]) -> list[float]:
        """p(c) is proportional to the product of q_m(c) ** e_m over the members m."""
        found = [
            sum(e * log[code] for e, log in zip(self.exponents, logs, strict=True))
            for code in range(len(self.labels))
        ]
        shares = [math.exp(one - max(found)) for one in found]
        return [share / sum(shares) for share in shares]

    def predict_proba(self, x: dict[Any, Any]) -> dict[Any, float]:
        if not self.labels:
            return {}
        answer = self.pool(self.member_logs(self.columns.encoded(x)))
        return dict(zip(self.labels, answer, strict=True))

    # --- Learning ---

    def learn(self, x: dict[Any, Any], label: Any, weight: float = 1.0) -> None:
        if weight == 0.0:
            return
        row = self.columns.learned(x)
        if label not in self.labels:
            self.labels.append(label)
        sample = Sample(row, self.labels.index(label), weight)
        self.weigh(row, int(sample.y))
        for tree in self.trees:
            self.learn_leaf(tree.leaf(row), sample)
        self.samples.append(sample)
        self.naive.samples.append(sample)
        for number in range(len(self.trees)):
            if number % self.batch_size == self.n_seen % self.batch_size:
                self.split_leaves(number)
        for group in self.groups:
            self.continue_growth(group)

    def weigh(self, x: Sequence[float], code: int) -> None:
        """Fixed share of the groups' weights, and a gradient step of the pool's exponents."""
        logs, groups = self.member_logs(x), self.group_answers(x)
        answer = self.pool(logs)
        for member, log in enumerate(logs):
            slope = sum(p * one for p, one in zip(answer, log, strict=True)) - log[code]
            self.exponents[member] = max(0.0, self.exponents[member] - LEARNING_RATE * slope)
        raised = [
            weight * math.sqrt(max(q[code], FLOOR))
            for weight, q in zip(self.weights, groups, strict=True)
        ]
        total, n = sum(raised), len(raised)
        self.weights = [(1.0 - SHARE) * weight / total + SHARE / n for weight in raised]

    def learn_leaf(self, leaf: Node, sample: Sample) -> None:
        if self.fading < 1.0:
            leaf.fade(self.fading)
        leaf.learn(sample.y, sample.weight)

    def split_leaves(self, number: int) -> None:
        """Split the leaves of a tree that several samples of its batch have reached."""
        tree = self.trees[number]
        batch = self.samples[max(self.n_seen - self.batch_size, tree.birth, 0) :]
        reached: dict[int, tuple[Node, list[Sample]]] = {}
        for sample in batch:
            leaf = tree.leaf(sample.x)
            reached.setdefault(leaf.number, (leaf, []))[1].append(sample)
        for _, (leaf, samples) in sorted(reached.items()):
            if len(samples) > 1 and tree.n_nodes + 2 <= self.max_nodes:
                rng = NaiveRng(self.seed, number, self.n_seen, BRANCH)
                self.growth(tree, leaf, samples, rng).advance(math.inf)
        tree.shrink_to(self.max_nodes)

    def growth(self, tree: Tree, leaf: Node, samples: list[Sample], rng: NaiveRng) -> Growth:
        offered, task = offered_columns(samples), (leaf, samples)
        n_visited = self.n_visited(len(offered))
        return Growth(self.rules, self.columns, offered, tree, task, n_visited, rng)

    # --- Trees grown anew ---

    def continue_growth(self, group: Group) -> None:
        """Begin the next growth of a group if it is due; go on; end before the next is due."""
        if self.n_seen >= group.due:
            self.begin_growth(group)
        if group.tree is not None:
            is_last = self.n_seen + 1 >= group.due
            self.advance(group, 1 << 60 if is_last else group.steps)

    def begin_growth(self, group: Group) -> None:
        """The root learns the latest samples; the growth shall end long before the next is due."""
        n = min(self.n_seen, group.memory)
        samples = self.samples[-n:]
        n_visited = self.n_visited(len(offered_columns(samples)))
        interval = max(1.0, n / len(group.trees))
        group.due += interval
        group.begun, group.caught_up = self.n_seen, None
        expected = (2.0 * n_visited + 4.0) * math.log2(n + 2.0) * n
        group.steps = 1 + int(HASTE * expected / interval)
        group.tree = Tree()
        for sample in samples:
            group.tree.root.learn(int(sample.y), sample.weight)
        rng = NaiveRng(self.seed, group.trees[group.turn], self.n_seen, RENEW)
        group.growth = self.growth(group.tree, group.tree.root, samples, rng)

    def advance(self, group: Group, n_steps: int) -> None:
        """Grow the next tree; then let it learn what came meanwhile, and put it into its place."""
        assert group.tree is not None
        assert group.growth is not None
        if group.caught_up is None:
            if not group.growth.advance(n_steps):
                return
            group.tree.shrink_to(self.max_nodes)
            group.caught_up = group.begun
        stop = min(self.n_seen, group.caught_up + 1 + n_steps // WALK)
        for sample in self.samples[group.caught_up : stop]:
            self.learn_leaf(group.tree.leaf(sample.x), sample)
        group.caught_up = stop
        if stop == self.n_seen:
            group.tree.birth = self.n_seen
            self.trees[group.trees[group.turn]] = group.tree
            group.tree = group.growth = None
            group.turn = (group.turn + 1) % len(group.trees)
