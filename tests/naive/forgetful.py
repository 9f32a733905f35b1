"""Forgetful decision trees, slowly and obviously: the oracle of the fast ones.

A forgetful tree equals a plain CART, built from nothing on the samples it still retains. So here a
tree keeps a list of samples, cuts the list to the retained size after every batch and builds again.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cache

from scipy import stats

from tests.naive.cart import Cart, Node, Rules, Sample, class_weights, count, leaf_of
from tests.naive.rng import NaiveRng
from tests.naive.stream_tree import early_sizes


class AdaptParameters:
    """The parameters of one tree: how much it retains and how high it may grow.

    Yuan, Sun and Shasha 2023, Appendix B; where the text is silent, their program. `published`
    follows the program also where it departs from the text: without it the retained size stays
    within what is held, the increase rate is at most 1, and a tree is warm as soon as it beat
    guessing over the samples since the last threshold.
    """

    def __init__(self, n_classes, initial_rate=0.3, warm_size=64, published=False):
        self.guess = 1 / n_classes
        self.rate = initial_rate
        self.warm_size = warm_size
        self.published = published
        self.retained = 0
        self.last_right, self.last_total = (1, n_classes) if published else (0, 0)
        self.cold = -10

    @property
    def height(self):
        return max(1, int(math.log2(self.retained)))

    def step(self, n, right, held):
        """See `right` of the `n` new samples predicted rightly while `held` are in the tree."""
        if self.retained == 0:
            self.retained = n
            return
        new, last = right / n, self.last_right / max(1, self.last_total)
        if self.cold < 0 and self.published:
            self.warm_up_published(n, right, held)
        elif self.cold < 0:
            self.warm_up(n, right, held)
        elif new <= self.guess:
            self.retained = n
            self.last_right, self.last_total = right, n
        elif last <= self.guess:
            self.retained += n
            self.last_right, self.last_total = right, n
        elif new == last:
            self.retained += math.floor(self.rate * n + 0.5)
            self.last_right += right
            self.last_total += n
        else:
            change = (new - self.guess) / (last - self.guess)
            self.rate /= change
            if not self.published:
                self.rate = min(self.rate, 1.0)
            growth = change ** (2 if change >= 1 else 3 - change)
            wish = math.floor(self.retained * growth + self.rate * n + 0.5)
            self.retained = min(wish, self.retained + n)
            self.last_right, self.last_total = right, n
        if not self.published:
            self.retained = min(self.retained, held + n)
        self.retained = max(self.retained, n)

    def warm_up(self, n, right, held):
        """Forget nothing until, at a doubled size, the tree beat guessing since the last one."""
        self.retained = held + n
        self.last_right += right
        self.last_total += n
        if self.retained >= self.warm_size:
            if self.last_right > self.guess * self.last_total:
                self.cold = 0
            else:
                self.last_right = self.last_total = 0
                while self.warm_size <= self.retained:
                    self.warm_size *= 2

    def warm_up_published(self, n, right, held):
        """Forget nothing until the tree twice beat guessing at a doubled size."""
        self.retained = held + n
        beats_guessing = right / n > self.guess
        while self.retained >= self.warm_size:
            if beats_guessing:
                self.cold += 5
            self.warm_size *= 2
        if not beats_guessing:
            self.cold = -10
        self.cold = min(self.cold, 0)
        self.last_right, self.last_total = right, n


class PublishedCart(Cart):
    """Scores in the arithmetic of the authors' program, where rounding decides between equal ones.

    A threshold is the largest value on its left.
    """

    tolerance = 0.0

    @staticmethod
    def middle(low, high):
        return low

    def scores(self, left, right):
        impurity = {"entropy": entropy, "gini": gini}[self.rules.criterion]
        found = []
        for sides in zip(left.astype(int).tolist(), right.astype(int).tolist(), strict=True):
            n_left, n_right = map(sum, sides)
            n = n_left + n_right
            of_left, of_right = (impurity(tuple(side)) for side in sides)
            found.append(of_left * n_left / n + of_right * n_right / n)
        return found


@cache
def entropy(counts):
    total = sum(counts)
    value = 0.0
    for n in counts:
        if n:
            value -= (n / total) * math.log(n / total)
    return value


@cache
def gini(counts):
    total = sum(counts)
    value = 1.0
    for n in counts:
        value -= (n / total) * (n / total)
    return value


class NaiveTree:
    """A forgetful decision tree that is built again from nothing after every batch.

    Its leaves learn every sample at once, except with `published`. `features` are those that its
    splits may use.
    """

    def __init__(
        self, n_classes, criterion="entropy", initial_rate=0.3, warm_size=64, published=False
    ):
        self.n_classes = n_classes
        self.criterion = criterion
        self.parameters = AdaptParameters(n_classes, initial_rate, warm_size, published)
        self.published = published
        self.features = None
        self.samples = []  # the first is forgotten first
        self.first = None  # the first batch, of a tree with an empty bag that has yet to see it
        self.root = Node([], 0)

    @property
    def n_held(self):
        return count(self.samples)

    def counts(self, x):
        return class_weights(leaf_of(self.root, x).samples, self.n_classes)

    def predict(self, x):
        counts = self.counts(x)
        return counts.index(max(counts))

    def see(self, x, y):
        """Answer for a sample, then learn it in its leaf."""
        answer = self.predict(x)
        if not self.published:
            leaf_of(self.root, x).samples.append(Sample(tuple(x), y))
        return answer

    def grow_early(self, X, Y, n, copies=None):
        """Grow on the first n samples of the first batch; the published program does not."""
        if self.samples or self.published or n not in early_sizes(len(X)):
            return
        samples = samples_of(X[:n], Y[:n], copies or [1] * len(X))
        self.root = Node([Sample(tuple(x), y) for x, y in zip(X[:n], Y[:n], strict=True)], 0)
        if samples:
            self.root = self.build(samples, int(math.log2(n)))

    def learn(self, X, Y):
        """Learn a batch; return the answers that were given before."""
        answers = []
        for n, (x, y) in enumerate(zip(X, Y, strict=True), 1):
            answers.append(self.see(x, y))
            self.grow_early(X, Y, n)
        right = sum(answer == y for answer, y in zip(answers, Y, strict=True))
        self.parameters.step(len(X), right, len(self.samples))
        self.add(samples_of(X, Y, [1] * len(X)))
        self.samples = self.samples[max(0, len(self.samples) - self.parameters.retained) :]
        self.root = self.build(self.samples, self.parameters.height)
        return answers

    def add(self, batch):
        self.samples = self.samples + (batch[::-1] if self.published else batch)

    def build(self, samples, height):
        kind = PublishedCart if self.published else Cart
        cart = kind(Rules(self.criterion, max_depth=height))
        if self.features is not None:
            cart.features = lambda _: self.features
        return cart.tree(samples)


def samples_of(X, Y, copies):
    """The samples of a batch that have copies."""
    return [Sample(tuple(x), y, copies=c) for x, y, c in zip(X, Y, copies, strict=False) if c]


@dataclass
class NaiveForest:
    """A forgetful random forest: no shared samples, a list of copies in each tree.

    With `published` it is that of the published program: trees vote by majority, trees are
    discarded by its test, and the successor of a discarded tree is grown on the old samples, cold,
    before it is tested on the batch and learns it.
    """

    BOOTSTRAP, FORGET, SUBSET = 1, 4, 5

    n_trees: int
    n_classes: int
    n_features: int
    seed: int
    bagging: bool = False
    significance: float = 0.05
    published: bool = False
    cells_per_step: int = 40_000
    n_batches = 0
    n_discarded = 0
    n_per_step = 0  # of the waiting trees that grow after a sample

    def __post_init__(self):
        self.trees = [
            NaiveTree(self.n_classes, published=self.published) for _ in range(self.n_trees)
        ]
        self.past = []  # whether the answers since the last drift were wrong
        self.waiting = []  # the trees that have not learned the last batch, and what they learn
        for number in range(self.n_trees):
            self.choose_features(number)

    def choose_features(self, number):
        rng = NaiveRng(self.seed, number, self.n_batches, self.SUBSET)
        f = self.n_features
        least = min(f, math.isqrt(f) + 2)
        m = least + int(rng.uniform() * (f - least + 1))
        keys = sorted((rng.next_word(), feature) for feature in range(f))
        self.trees[number].features = sorted(feature for _, feature in keys[:m])

    def predict(self, x):
        votes = [0.0] * self.n_classes
        for tree in self.trees:
            counts = tree.counts(x)
            if self.published:
                votes[counts.index(max(counts))] += 1.0
                continue
            for y in range(self.n_classes):
                votes[y] += counts[y] / sum(counts) if sum(counts) else 0.0
        return votes.index(max(votes))

    def learn(self, X, Y):
        """Learn a batch; return the answers of the forest that were given before."""
        answers, right = [], [[] for _ in self.trees]
        for n, (x, y) in enumerate(zip(X, Y, strict=True), 1):
            answers.append(self.predict(x))
            for number, (tree, hits) in enumerate(zip(self.trees, right, strict=True)):
                hits.append(tree.see(x, y) == y)
                if self.n_batches == 0:
                    tree.grow_early(X, Y, n, self.copies(number, len(X)))
            self.grow_some(samples_of(X[:n], Y[:n], [1] * n))
        wrong = [float(answer != y) for answer, y in zip(answers, Y, strict=True)]
        discarded = self.discarded(wrong, right)
        if self.published:
            for number in discarded:
                self.succeed(number)
                right[number] = [
                    self.trees[number].predict(x) == y for x, y in zip(X, Y, strict=True)
                ]
        for number, tree in enumerate(self.trees):
            copies = self.copies(number, len(X))
            self.adapt(tree, copies, right[number])
            if number in discarded and not self.published:
                self.choose_features(number)
                tree.parameters.rate = 0.3
            samples = samples_of(X, Y, copies)
            if not (samples or self.published or tree.samples or self.n_batches):
                tree.first = samples_of(X, Y, [1] * len(X))
            self.waiting.append((number, samples))
        self.n_batches += 1
        n_trees, n_steps = len(self.trees), 1 if self.published else min(5, len(X))
        cells = sum(tree.parameters.retained for tree in self.trees) * self.n_features
        in_time = self.cells_per_step * n_trees // max(1, cells)
        self.n_per_step = max(math.ceil(n_trees / n_steps), in_time)
        self.grow_some([])
        return answers

    def grow_some(self, new):
        """Grow the next trees on the last batch, and let them learn the `new` samples since.

        All trees grow at once on few samples, and with `published`; else in up to five steps: at
        the end of the batch and after each of the samples that follow.
        """
        for number, samples in self.waiting[: self.n_per_step]:
            tree = self.trees[number]
            if tree.first is not None:
                tree.root, tree.first = Node(tree.first + new, 0), None
            if samples:
                n_held = tree.n_held + count(samples)
                self.forget(number, tree, max(0, n_held - tree.parameters.retained))
                tree.add(samples)
                tree.root = tree.build(tree.samples, tree.parameters.height)
                for sample in new:
                    leaf_of(tree.root, sample.x).samples.append(sample)
        del self.waiting[: self.n_per_step]

    def succeed(self, number):
        """Let a new tree learn the samples of a discarded one, as its first batch."""
        samples = self.trees[number].samples
        tree = self.trees[number] = NaiveTree(self.n_classes, published=True)
        self.choose_features(number)
        tree.samples = samples
        tree.parameters.step(tree.n_held, 0, 0)
        tree.root = tree.build(samples, tree.parameters.height)

    def copies(self, number, n):
        if not self.bagging:
            return [1] * n
        rng = NaiveRng(self.seed, number, self.n_batches, self.BOOTSTRAP)
        product, bag = rng.uniform(), 0
        while product > math.exp(-6):
            product *= rng.uniform()
            bag += 1
        copies = [0] * n
        for _ in range(min(bag, 10) * n):
            copies[rng.below(n)] += 1
        return copies

    def adapt(self, tree, copies, hits):
        right = sum(c for c, hit in zip(copies, hits, strict=True) if hit)
        if sum(copies):
            tree.parameters.step(sum(copies), right, tree.n_held)

    def forget(self, number, tree, k):
        """Draw k of the copies without replacement, one after the other."""
        rng = NaiveRng(self.seed, number, self.n_batches - 1, self.FORGET)
        ahead, kept = tree.n_held, []
        if k == 0:
            return
        for sample in tree.samples:
            left = sample.copies
            for _ in range(sample.copies):
                if rng.uniform() * ahead < k:
                    k -= 1
                    left -= 1
                ahead -= 1
            if left:
                kept.append(sample._replace(copies=left))
        tree.samples = kept

    def discarded(self, wrong, right):
        """The trees that get new features, by a t-test on the answers of the forest."""
        if self.n_batches == 0:
            return []
        if not self.past:
            self.past = wrong
            return []
        if self.published:
            return self.discarded_as_published(wrong, right)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # both may be constant: p is nan, or 0
            p = stats.ttest_ind(self.past, wrong, equal_var=False).pvalue
        if not p < self.significance:
            self.past = self.past + wrong
            return []
        guess = 1 / self.n_classes
        before = 1 - guess - sum(self.past) / len(self.past)
        now = 1 - guess - sum(wrong) / len(wrong)
        self.past = wrong
        if now >= before or before <= 0:
            return []
        n = min(len(self.trees), math.ceil((before - now) / before * len(self.trees) - 1e-9))
        self.n_discarded += n
        worst = sorted(range(len(self.trees)), key=lambda number: sum(right[number]))
        return worst[:n]

    def discarded_as_published(self, wrong, right):
        """The same by the program's formula: where the fall is not significant."""
        m, n = len(self.past), len(wrong)
        right_before, right_now = m - sum(self.past), n - sum(wrong)
        before, now = right_before / m, right_now / n
        variances = [
            (1 - p) ** 2 * t + p**2 * (size - t) / (size - 1)
            for p, t, size in ((before, right_before, m), (now, right_now, n))
        ]
        pooled = math.sqrt(((m - 1) * variances[0] + (n - 1) * variances[1]) / (m + n - 2))
        t, p = before - now, 1.0
        if pooled > 0:
            t /= pooled * math.sqrt(1 / m + 1 / n)
            p = stats.t.sf(abs(t), m + n - 2)
        if p <= self.significance:
            self.past = self.past + wrong
            return []
        self.past = wrong
        if t <= 0:
            return []
        k = min(len(self.trees), math.ceil((before - now) / before * len(self.trees)))
        order = sorted(range(len(self.trees)), key=lambda number: sum(right[number]))
        self.n_discarded += k
        return order[:k]
