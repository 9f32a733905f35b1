"""The forests that learn how much each window is worth, as one would explain them.

All samples are kept; whatever the core sums up as it goes is computed from them anew. With weights
that are small multiples of powers of two, all scores of classes are equal to the bit.

The core spreads the growth of a tree over many samples. Here all of it happens at once, when the
core's tree is ready: `births` tells, of each tree, the number of samples seen then. If growths are
late, `n_splits` tells after how many splits the core has ended them.
"""

import abc
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.naive.cart import Rules, Sample, Values, class_weights, faded, moments, walk
from tests.naive.columns import Columns
from tests.naive.extra_tree import (
    MAX_REGRESSORS,
    MOST_CELLS,
    Growth,
    Node,
    Tree,
    are_few,
    ridge,
    standard_of,
)
from tests.naive.logistic import NaiveLogistic
from tests.naive.noise import NaiveNoise
from tests.naive.rng import NaiveRng

Row = tuple[tuple[int, float], ...]

RENEW, BRANCH = 10, 11  # purposes of random numbers
FIRST_GROWTH = 10
GOLDEN = 0.6180339887498949
LEAST_SAMPLES = 10
SAMPLES_PER_REGRESSOR = 3


@dataclass
class Group:
    """The trees of one window size, and the tree that is grown next."""

    window_size: int
    trees: range
    kind: str
    turn: int = 0
    due: float = FIRST_GROWTH
    begun: int = 0  # samples seen when the growth began; 0 if no tree grows
    evidence: dict[int, float] = field(default_factory=dict)  # that columns tell something


@dataclass
class Question:
    """A row, the number of samples learned before it was asked, and what the members answered."""

    row: Row
    n_seen: int
    answer: Any


LARGE = 100  # samples of a growth of which one is few
MOST_COLUMNS = 1024  # of which a tree takes those, too, that one sample has


def balance(n_frequent: float, n_rest: float) -> float:
    """The share of the samples of a label that leaves it nine tenths of all, if it has more."""
    return min(1.0, 9.0 * (n_rest + 10.0) / n_frequent)


def row_of(x: Sequence[float]) -> Row:
    """The values that are not missing."""
    return tuple((column, value) for column, value in enumerate(x) if not math.isnan(value))


def has_few(samples: list[Sample], offered: list[int]) -> bool:
    """Whether few columns have a value in most samples."""
    return are_few(sum(len(row_of(sample.x)) for sample in samples), len(offered) * len(samples))


def offered_columns(samples: list[Sample], whole: bool = True) -> list[int]:
    """The columns with a value among the samples of a growth: only these are offered to it.

    Those that one sample alone has are left out if there are too many columns, or if a large growth
    of a whole tree had few values in most columns for these alone.
    """
    found = Counter(column for sample in samples for column, _ in row_of(sample.x))
    shared = sorted(column for column, n in found.items() if n > 1)
    if len(found) > MOST_COLUMNS:
        return shared
    if whole and len(samples) >= LARGE and has_few(samples, [*found]):
        n_values = sum(n for n in found.values() if n > 1)
        if not are_few(n_values, len(shared) * len(samples)):
            return shared
    return sorted(found)


class NaiveExtraTrees(abc.ABC):
    """What both learners share.

    `windows` holds (latest samples to grow on, number of trees); `linear` names, of each, the
    nodes that have linear models.
    """

    DELAY_MEMORY = 100.0

    def __init__(
        self,
        windows: Sequence[tuple[int, int]],
        batch_size: int,
        fading: float,
        max_features: int | float | str | None,
        max_nodes: int,
        rules: Rules,
        seed: int,
        linear: Sequence[str] = (),
    ) -> None:
        self.batch_size, self.fading, self.max_features = batch_size, fading, max_features
        self.max_nodes, self.rules, self.seed = max_nodes, rules, seed
        self.columns = Columns()
        self.samples: list[Sample] = []
        self.questions: list[Question] = []
        self.n_first = 0  # questions that were asked before anything was known
        self.asked_at = -1  # samples learned before the last question
        self.named = 0  # features and labels after the last sample
        self.delay = 0.0
        self.is_of_question = True  # whether a label comes at once, or found its question
        self.groups: list[Group] = []
        self.n_splits: Sequence[int] = ()  # per tree, if growths are late
        self.trees: list[Tree] = []
        for (window_size, n), kind in zip(windows, linear or ["none"] * len(windows), strict=True):
            self.groups.append(
                Group(window_size, range(len(self.trees), len(self.trees) + n), kind)
            )
            self.trees += [Tree(kind) for _ in range(n)]
            # Growths of several groups begin at different samples.
            if isinstance(self, NaiveNumberForest):
                interval = max(1.0, min(FIRST_GROWTH, window_size) / n)
                self.groups[-1].due += interval * ((len(self.groups) - 1) * GOLDEN % 1.0)

    @property
    def n_seen(self) -> int:
        return len(self.samples)

    @abc.abstractmethod
    def target(self, y: Any) -> float:
        """The number that stands for a target that is learned."""

    @abc.abstractmethod
    def answer_of(self, x: Sequence[float]) -> Any:
        """What the members answer, from which the weights are learned."""

    # --- Late labels

    @property
    def n_names(self) -> int:
        """Number of features and labels."""
        return len(self.columns.numbers) + len(getattr(self, "labels", ()))

    def ask(self, x: dict[Any, Any]) -> None:
        """Keep a question and its answer; count it if nothing is known yet."""
        self.n_first += not self.samples
        self.asked_at = self.n_seen
        row = self.columns.encoded(x)
        if self.samples and row_of(row):
            answer = self.kept(self.answer_of(row))
            self.questions.append(Question(row_of(row), self.n_seen, answer))

    def kept(self, answer: Any) -> Any:
        """What a question keeps of an answer."""
        return answer

    def asked(self, x: Sequence[float]) -> Any:
        """What was answered to the question of a sample, or what is answered now without one."""
        row = row_of(x)
        self.is_of_question = True
        found = [question for question in self.questions if question.row == row]
        if found:
            best = min(found, key=lambda q: abs(self.n_seen - q.n_seen - self.delay))
            self.questions.remove(best)
            self.delay += (self.n_seen - best.n_seen - self.delay) / self.DELAY_MEMORY
            self.n_first = 0
            if best.n_seen < self.n_seen:
                return best.answer
        elif self.samples and (self.n_names != self.named or not row):
            pass  # it does not find its question even if its label comes at once
        elif self.n_first and self.asked_at == self.n_seen:
            self.n_first -= 1
            self.delay += (self.n_seen - self.delay) / self.DELAY_MEMORY
        else:
            self.n_first = 0
        self.is_of_question = bool(found) or self.delay == 0.0
        return self.answer_of(x)

    @property
    def step(self) -> float:
        """Factor of the learning rates."""
        return float((1.0 + self.delay) ** -0.5)

    @staticmethod
    def shared(weights: Values, share: float, claims: Values) -> Values:
        """Fixed share."""
        shared: Values = (1.0 - share) * weights / weights.sum() + share * claims / claims.sum()
        return shared

    def claims(self) -> Values:
        """What each window gets of the share."""
        sizes = np.array([group.window_size for group in self.groups])
        found: Values = (sizes / (sizes + self.delay)) ** 2
        return found

    # --- Learning

    @abc.abstractmethod
    def weigh(self, sample: Sample) -> None:
        """Learn from a sample what the trees' answers are worth, before the trees learn it."""

    def learn(self, x: dict[Any, Any], y: Any, weight: float, births: Sequence[int]) -> None:
        if weight == 0.0:
            return
        sample = Sample(self.columns.learned(x), self.target(y), weight)
        self.weigh(sample)
        self.named = self.n_names
        for tree in self.trees:
            self.learn_leaf(tree, sample)
        self.samples.append(sample)
        for number in range(len(self.trees)):
            if number % self.batch_size == self.n_seen % self.batch_size:
                self.split_leaves(number)
        for group in self.groups:
            self.continue_growth(group, births)

    def learn_leaf(self, tree: Tree, sample: Sample) -> None:
        leaf = tree.leaf(sample.x)
        leaf.samples = [*faded(leaf.samples, self.fading), tree.residual(sample)]

    def split_leaves(self, number: int) -> None:
        """Split the leaves that several samples of a batch reached, unless they have models."""
        tree = self.trees[number]
        if tree.kind == "leaves":
            return
        batch = self.samples[max(self.n_seen - self.batch_size, tree.birth, 0) :]
        reached: dict[int, tuple[Node, list[Sample]]] = {}
        for sample in batch:
            leaf = tree.leaf(sample.x)
            reached.setdefault(leaf.number, (leaf, []))[1].append(sample)
        for _, (leaf, samples) in sorted(reached.items()):
            if len(samples) > 1 and tree.n_nodes + 2 <= self.max_nodes:
                rng = NaiveRng(self.seed, number, self.n_seen, BRANCH)
                offered = offered_columns(samples, whole=False)
                n_visited = self.n_visited(len(offered), 12 if has_few(samples, offered) else 100)
                growth = Growth(self.rules, self.columns.nominal, tree, n_visited, rng)
                growth.run(leaf, [tree.residual(sample) for sample in samples], offered)
        tree.shrink_to(self.max_nodes)

    def n_visited(self, n: int, most_of_share: int) -> int:
        """Features that a split looks at, of n that are offered."""
        shares = {"sqrt": math.isqrt(n), "log2": int(math.log2(max(n, 1)))}
        if self.max_features is None:
            return n
        if isinstance(self.max_features, str):
            return max(1, shares[self.max_features])
        if isinstance(self.max_features, float):
            return max(1, min(most_of_share, int(self.max_features * n)))
        return self.max_features

    # --- Trees grown anew

    def continue_growth(self, group: Group, births: Sequence[int]) -> None:
        """Begin the next growth of a group if it is due; end it when the core has.

        A growth may take longer than until the next one is due, which begins later then.
        """
        if group.begun == 0 and self.n_seen >= group.due:
            if self.n_seen - group.due >= 1.0:
                group.due = self.n_seen
            group.due += max(1.0, min(self.n_seen, group.window_size) / len(group.trees))
            group.begun = self.n_seen
        number = group.trees[group.turn]
        if group.begun and births[number] == self.n_seen:
            self.trees[number] = self.grown(group, number)
            group.begun, group.turn = 0, (group.turn + 1) % len(group.trees)

    def grown(self, group: Group, number: int) -> Tree:
        """A tree of the latest samples when its growth began; it learns what came meanwhile."""
        tree, rules = Tree(group.kind), self.rules
        samples = self.samples[max(0, group.begun - group.window_size) : group.begun]
        offered = offered_columns(samples)
        numeric = [c for c in offered if c not in self.columns.nominal]
        if tree.kind == "leaves":
            n = min(len(numeric), MAX_REGRESSORS)
            least = max(rules.min_samples_leaf, LEAST_SAMPLES, SAMPLES_PER_REGRESSOR * n)
            rules = replace(rules, min_samples_leaf=least)
        elif tree.kind == "root":
            tree.models[0] = ridge(samples, standard_of(samples, numeric, in_range=True))
        tree.root.samples = [tree.residual(sample) for sample in samples]
        rng = NaiveRng(self.seed, number, group.begun, RENEW)
        n_present = sum(column in offered for column, _ in row_of(samples[-1].x))
        most_of_share = 12
        if not has_few(samples, offered):
            is_dense = len(offered) * len(samples) <= MOST_CELLS and 2 * n_present >= len(offered)
            most_of_share = MOST_CELLS if is_dense else 100
        n_visited = self.n_visited(len(offered), most_of_share)
        growth = Growth(rules, self.columns.nominal, tree, n_visited, rng, group.evidence)
        most_splits = self.n_splits[number] if self.n_splits else math.inf
        growth.run(tree.root, tree.root.samples, offered, most_splits)
        growth.keep_evidence()
        tree.shrink_to(self.max_nodes)
        for leaf in walk(tree.root) if tree.kind == "leaves" else []:
            if leaf.split is None:
                own = [s for s in samples if tree.leaf(s.x) is leaf]
                tree.models[leaf.number] = ridge(own, standard_of(samples, numeric))
                leaf.samples = [tree.residual(sample) for sample in own]
        for sample in self.samples[group.begun :]:
            self.learn_leaf(tree, sample)
        tree.birth = self.n_seen
        return tree


class NaiveClassForest(NaiveExtraTrees):
    """A pool of the groups, their mixture, what followed the last label, and a regression."""

    FLOOR, SHARE = 0.01, 0.005
    RATE, FIRST_SQUARES, MOST_SQUARES, FIRST_OF_TABLE = 0.3, 4.0, 500.0, 0.5
    PENALTY = 0.05
    LABEL_MEMORY, PRIOR_COUNT = 500.0, 0.5
    COUNT_MEMORY = 16_000.0

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.labels: list[Any] = []
        self.logistic = NaiveLogistic()
        self.last: int | None = None  # code of the last label
        self.followed: dict[int, list[int]] = {}  # after each label: the codes of the next ones
        n = len(self.groups)
        self.weights = np.full(n, 1.0 / n)
        self.exponents = np.array([0.0] * n + [1.0, 0.0, 0.0])  # of the members of the pool
        self.squares = np.zeros(n + 3)  # sums of their squared slopes

    def target(self, y: Any) -> float:
        if y not in self.labels:
            self.labels.append(y)
            self.questions.clear()
        return self.labels.index(y)

    def group_answers(self, x: Sequence[float]) -> Values:
        """Per group the mean of the class frequencies in the leaves of its trees."""
        found = np.zeros((len(self.groups), len(self.labels)))
        for answer, group in zip(found, self.groups, strict=True):
            for tree in group.trees:
                samples = self.trees[tree].leaf(x).samples
                weights = class_weights(samples, len(answer)) if samples else np.ones(len(answer))
                answer += np.array(weights) / sum(weights) / len(group.trees)
        return found

    def next_labels(self) -> Values:
        """How often each label followed the last one; older cases fade."""
        n = len(self.labels)
        codes = [] if self.last is None else self.followed.get(self.last, [])
        if self.last is None:
            return np.full(n, 1.0 / n)
        counts = np.full(n, self.PRIOR_COUNT)
        np.add.at(counts, codes, fades(len(codes), 1.0 - 1.0 / self.LABEL_MEMORY))
        shares: Values = counts / counts.sum()
        return shares

    def member_logs(self, x: Sequence[float]) -> Values:
        """Per member of the pool the logarithms of its answer, kept away from zero."""
        groups, n = self.group_answers(x), len(self.labels)
        logistic = self.logistic.answer(row_of(x), self.columns.nominal, n)
        members = np.vstack([groups, self.weights @ groups, self.next_labels(), logistic])
        return np.log((1.0 - self.FLOOR) * members + self.FLOOR / n)

    def answer_of(self, x: Sequence[float]) -> tuple[Values, Values, int | None]:
        return self.member_logs(x), self.group_answers(x), self.last

    def kept(self, answer: Any) -> tuple[Values, Values, int | None]:
        return answer[0], np.exp(answer[0][: len(self.groups)]), answer[2]

    def balance(self) -> Values:
        """Per label what its samples weigh: a frequent one has at most nine tenths of the weight.

        One label is counted; another one takes its place when it has fewer samples than the rest.
        """
        found = np.ones(len(self.labels))
        frequent, n_frequent, n_rest, kept = 0, 0.0, 0.0, 1.0 - 1.0 / self.COUNT_MEMORY
        for sample in self.samples:
            n_frequent = kept * n_frequent + (sample.y == frequent)
            n_rest = kept * n_rest + (sample.y != frequent)
            if sample.y != frequent and n_frequent < n_rest:
                frequent = int(sample.y)
                n_frequent = n_rest = (n_frequent + n_rest) / 2.0
        if self.samples:
            found[frequent] = balance(n_frequent, n_rest)
        return found

    def pool(self, logs: Values) -> Values:
        """p(c) is proportional to the product over the members m of q_m(c) ** e_m, where the odds
        are those of samples that are weighed by `balance`.
        """
        found = self.exponents @ logs + (self.exponents.sum() - 1.0) * np.log(self.balance())
        shares = np.exp(found - found.max())
        return shares / shares.sum()

    def predict(self, x: dict[Any, Any]) -> dict[Any, float]:
        if not self.labels:
            return {}
        answer = self.pool(self.member_logs(self.columns.encoded(x)))
        return dict(zip(self.labels, answer, strict=True))

    def weigh(self, sample: Sample) -> None:
        """Fixed share of the groups' weights, and AdaGrad for the pool's exponents."""
        code = int(sample.y)
        logs, groups, last = self.asked(sample.x)
        if code in {known.y for known in self.samples}:
            if self.squares[-2] == 0.0:
                self.exponents[-2] = self.FIRST_OF_TABLE if self.delay == 0.0 else 0.0
            weights = self.balance()
            balanced = self.pool(logs) * weights
            odds = logs + np.log(weights)
            slopes = weights[code] * (odds @ (balanced / balanced.sum()) - odds[:, code])
            self.squares = np.minimum(self.squares + slopes**2, self.MOST_SQUARES)
            first = self.FIRST_SQUARES / self.step
            penalties = [self.delay / (group.window_size + self.delay) for group in self.groups]
            slopes += self.PENALTY * np.array([*penalties, 0.0, 0.0, 0.0])
            rates = (
                self.RATE * self.step / np.sqrt(np.minimum(first + self.squares, self.MOST_SQUARES))
            )
            self.exponents = np.maximum(self.exponents - rates * slopes, 0.0)
            power = 0.5 * self.step * weights[code]
            raised = self.weights * np.maximum(groups[:, code], self.FLOOR) ** power
            share = self.SHARE * weights[code] * self.step**0.5
            self.weights = self.shared(raised, share, self.claims())
        if last is not None and self.is_of_question:
            self.followed.setdefault(last, []).append(code)
        self.last = code
        self.logistic.learn(
            row_of(sample.x), self.columns.nominal, len(self.labels), code, sample.weight
        )


class NaiveNumberForest(NaiveExtraTrees):
    """A mixture of the groups and of a stacked answer, and what the last targets add to it."""

    SHARE, OF_PAST, PAST_MEMORY, DECAY, WORST = 0.05, 0.7, 1000.0, 0.99, 12.0
    STACK_DECAY, PRIOR, FIRST_STACK = 0.999, 30.0, 10
    CHAIN_SHARE, CHAIN_WEIGHT, CHAIN_PRIOR, CLIP = 0.005, 0.02, 10.0, 6.0
    FARTHEST, FIRST_BOUND, BOUND_MEMORY = 20.0, 30, 1000
    FIRST_LATE = 50  # targets from which late ones without a question teach weights

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        n = len(self.groups) + 1
        self.members = np.full(n, 1.0 / n)
        self.past = self.members  # their mean
        self.chain_weights = np.array([1.0 - self.CHAIN_WEIGHT, self.CHAIN_WEIGHT])
        self.chained: list[Values] = []  # the mixture, and what the chain made of it
        self.told: list[tuple[Values, float]] = []  # regressors and errors that it learns from
        self.clipped: list[float] = []  # errors of the mixture
        self.answers: list[Values] = []  # of the members, to all samples but the first
        self.errors: list[float] = []
        self.noise = NaiveNoise()
        self.tails = np.log([0.6745, 1.6449])  # logs of quantiles of |z|, error / expected ...
        self.n_tails = 0  # ... and number of z

    def target(self, y: Any) -> float:
        """The target, at most 20 standard deviations from the mean of those before."""
        mean = variance = 0.0
        for i, sample in enumerate(self.samples, 1):
            share = 1.0 / min(i, self.BOUND_MEMORY)
            difference = sample.y - mean
            mean += share * difference
            variance = (1.0 - share) * (variance + share * difference**2)
        most = self.FARTHEST * variance**0.5
        if len(self.samples) < self.FIRST_BOUND or variance == 0.0:
            return float(y)
        return min(max(float(y), mean - most), mean + most)

    def member_answers(self, x: Sequence[float]) -> tuple[Values, float]:
        """The answers of the groups and the stacked one, and V."""
        targets = [s.y for s in self.samples]
        low, high = min(targets), max(targets)
        means, variances = [], []
        for group in self.groups:
            leaves = [(self.trees[tree], self.trees[tree].leaf(x)) for tree in group.trees]
            told = [moments(leaf.samples) for _, leaf in leaves]
            slopes = [tree.slope(leaf, x) for tree, leaf in leaves]
            numbers = [mean + slope for (_, mean, _), slope in zip(told, slopes, strict=True)]
            inside = [squares / (weight or 1.0) for weight, _, squares in told]
            means.append(min(max(float(np.mean(numbers)), low), high))
            variances.append(float(np.mean(inside) + np.var(numbers)))
        middle = float(np.mean(means))
        stacked = middle + float(self.stack() @ (np.array(means) - middle))
        return np.array([*means, min(max(stacked, low), high)]), float(np.mean(variances))

    def answer_of(self, x: Sequence[float]) -> tuple[Values, Values, float, Values, Values]:
        answers, variance = self.member_answers(x)
        mean = float(answers @ self.members)
        d = self.chain_regressors(mean)
        targets = [s.y for s in self.samples]
        chained = min(max(mean + float(self.chain() @ d), min(targets)), max(targets))
        both = np.array([mean, chained])
        tilt = self.noise.tilt(row_of(x))
        spread = np.array([variance, tilt, self.expected(variance, tilt), *self.tails])
        return answers, spread, float(self.chain_weights @ both), both, d

    def chain_regressors(self, mean: float) -> Values:
        """The last two errors, and what has changed since the predictions that had them."""
        if len(self.clipped) < 2:
            return np.zeros(4)
        return np.array(
            [each for k in (-1, -2) for each in (self.clipped[k], mean - self.chained[k][0])]
        )

    def chain(self) -> Values:
        """The slopes of the chain: a ridge regression of the errors, older ones fade."""
        if len(self.told) < self.FIRST_STACK:
            return np.zeros(4)
        d, errors = (np.array(each) for each in zip(*self.told, strict=True))
        fade = fades(len(d), self.STACK_DECAY)
        prior = self.CHAIN_PRIOR * (fade @ (d**2).mean(axis=1)) / fade.sum()
        if prior == 0.0:
            return np.zeros(4)
        found: Values = np.linalg.solve(
            d.T @ (fade[:, None] * d) + prior * np.eye(4), d.T @ (fade * errors)
        )
        return found

    def stack(self) -> Values:
        """The slopes of the stacked answer: a ridge regression on all answers, older ones fade."""
        n = len(self.groups)
        if len(self.answers) < self.FIRST_STACK:
            return np.zeros(n)
        groups = np.array(self.answers)[:, :-1]
        middle = groups.mean(axis=1)
        d = groups - middle[:, None]
        fade = fades(len(d), self.STACK_DECAY)
        y = np.array([s.y for s in self.samples[1:]]) - middle
        prior = self.PRIOR * (fade @ (d**2).mean(axis=1)) / fade.sum()
        if prior == 0.0:
            return np.zeros(n)
        found: Values = np.linalg.solve(
            d.T @ (fade[:, None] * d) + prior * np.eye(n), d.T @ (fade * y)
        )
        return found

    def predict(self, x: dict[Any, Any]) -> tuple[float, float, float, float]:
        """The mean, and what `spread` returns."""
        half, most = np.exp(self.tails)
        if not self.samples:
            return 0.0, 0.0, float(half), float(most)
        _, (_, _, expected, *_), mean, *_ = self.answer_of(self.columns.encoded(x))
        return mean, expected, float(half), float(most)

    def mean_error(self) -> float:
        """The running mean E of the squared errors."""
        fade = fades(len(self.errors), self.DECAY)
        return float(fade @ np.array(self.errors) / fade.sum()) if self.errors else 0.0

    def spread(self, variance: float) -> float:
        """u: how far the trees spread beside the errors."""
        error = self.mean_error()
        return math.log((variance + 0.1 * error) / error)

    def expected(self, variance: float, tilt: float) -> float:
        """The expected squared error."""
        error = self.mean_error()
        return error * self.noise.ratio(self.spread(variance), tilt) if error > 0.0 else 0.0

    def learn_noise(
        self, row: Row, square: float, variance: float, tilt: float, expected: float, *tails: float
    ) -> None:
        if self.mean_error() > 0.0:
            now = self.expected(variance, tilt)
            self.noise.learn(row, self.spread(variance), min(square / now, 100.0))
            if expected > 0.0:
                size = math.sqrt(square / math.sqrt(expected * now))
                step = max(0.02 * (1.0 + self.delay) ** -0.125, 1.0 / (25.0 + self.n_tails))
                beyond = size > np.exp(0.5 * (self.tails + tails))
                self.tails = self.tails + step * (beyond - np.array([0.5, 0.1]))
                self.n_tails += 1
        self.errors.append(square)

    def weigh(self, sample: Sample) -> None:
        """The fixed share."""
        row = row_of(sample.x)
        self.noise.know(len(sample.x), self.columns.nominal)
        if not self.samples:
            self.noise.follow(row)
            return
        answers, spread, mean, both, d = self.asked(sample.x)
        self.learn_noise(row, (sample.y - mean) ** 2, *spread)
        self.noise.follow(row)
        self.answers.append(answers)
        fade = fades(len(self.answers), self.DECAY)
        targets = np.array([s.y for s in [*self.samples[1:], sample]])
        squared = (np.array(self.answers) - targets[:, None]) ** 2
        running = np.maximum(fade @ squared / fade.sum(), 1e-300)
        logs = -0.5 * np.log(running) - np.minimum(0.5 * squared[-1] / running, self.WORST)
        if self.is_of_question or len(self.samples) > self.FIRST_LATE:
            self.learn_members(logs)
        self.learn_chain(both, d, targets)

    def learn_members(self, logs: Values) -> None:
        """The weights of the members, from the logs of their densities."""
        raised = self.members * np.exp(0.5 * self.step * (logs - logs.max()))
        self.past = self.past + (self.members - self.past) / min(
            len(self.answers), self.PAST_MEMORY
        )
        of_past = self.OF_PAST * self.step
        of_windows = self.claims()
        claims = np.array([*of_windows, of_windows.mean()])
        claims *= of_past * len(claims) * self.past + 1.0 - of_past
        self.members = self.shared(raised, self.SHARE * self.step, claims)

    def learn_chain(self, both: Values, d: Values, targets: Values) -> None:
        self.chained.append(both)
        squared = (np.array(self.chained) - targets[:, None]) ** 2
        fade = fades(len(squared), self.DECAY)
        running = np.maximum(fade @ squared / fade.sum(), 1e-300)
        logs = -0.5 * np.log(running) - np.minimum(0.5 * squared[-1] / running, self.WORST)
        if self.is_of_question:
            raised = self.chain_weights * np.exp(0.5 * self.step * (logs - logs.max()))
            share = self.CHAIN_SHARE * self.step**0.5
            self.chain_weights = self.shared(raised, share, np.array([1.0, self.step]))
        most = self.CLIP * float(fade @ squared[:, 0] / fade.sum()) ** 0.5
        self.clipped.append(min(max(float(targets[-1] - both[0]), -most), most))
        if len(self.clipped) > 2 and self.is_of_question:
            self.told.append((d, self.clipped[-1]))


def fades(n: int, decay: float) -> Values:
    """The weights of the latest n of something, the oldest first."""
    weights: Values = decay ** np.arange(n - 1, -1, -1)
    return weights
