"""Forgetful decision trees, slowly and obviously: the oracle of the fast ones.

A forgetful tree equals a plain CART, built from nothing on the samples it still retains. So here a
tree keeps a list of samples, cuts the list to the retained size after every batch and builds again.
"""

import math
import warnings
from dataclasses import dataclass, replace
from functools import cache

from scipy import stats

from tests.naive.cart import Cart, Node, Rules, class_weights, count, leaf_of, moments
from tests.naive.rng import NaiveRng
from tests.naive.stream_tree import early_sizes
from tests.naive.value_history import NaiveHistory


class AdaptParameters:
    """The parameters of one tree: how much it retains and how high it may grow.

    Yuan, Sun and Shasha 2023, Appendix B; where the text is silent, their program. `published`
    follows the program also where it departs from the text: without it the retained size stays
    within what is held, the increase rate is at most 1, and a tree is warm as soon as it beat
    guessing over the samples since the last threshold. For numbers, ours: the accuracy is the skill
    beside the running mean, and changes only if a t-test says so.
    """

    def __init__(self, guess, warm_size=64, regression=False, published=False):
        self.guess = guess
        self.rate = 0.3
        self.warm_size = warm_size
        self.regression = regression
        self.published = published
        self.retained = 0
        self.last = []
        self.cold = -10

    @property
    def height(self):
        return max(1, int(math.log2(self.retained)))

    def step(self, losses, held):
        """Adapt to the losses on a batch, of the tree and of guessing, while `held` are in it."""
        n = len(losses)
        if self.retained == 0:
            self.retained = n
            return
        new, last = accuracy(losses), accuracy(self.last)
        if self.cold < 0 and self.published:
            self.warm_up_published(losses, held)
        elif self.cold < 0:
            self.warm_up(losses, held)
        elif new <= self.guess:
            self.retained = n
            self.last = losses
        elif last <= self.guess:
            self.retained += n
            self.last = losses
        elif new == last or (self.regression and not p_value(self.last, losses) < 0.05):
            self.retained += math.floor(self.rate * n + 0.5)
            self.last = self.last + losses
        else:
            change = (new - self.guess) / (last - self.guess)
            self.rate /= change
            if not self.published:
                self.rate = min(self.rate, 1.0)
            growth = change ** (2 if change >= 1 else 3 - change)
            wish = math.floor(self.retained * growth + self.rate * n + 0.5)
            self.retained = min(wish, self.retained + n)
            self.last = losses
        if not self.published:
            self.retained = min(self.retained, held + n)
        self.retained = max(self.retained, n)

    def warm_up(self, losses, held):
        """Forget nothing until, at a doubled size, the tree beat guessing since the last one."""
        self.retained = held + len(losses)
        self.last = self.last + losses
        if self.retained >= self.warm_size:
            if accuracy(self.last) > self.guess:
                self.cold = 0
            else:
                self.last = []
                while self.warm_size <= self.retained:
                    self.warm_size *= 2

    def warm_up_published(self, losses, held):
        """Forget nothing until the tree twice beat guessing at a doubled size."""
        self.retained = held + len(losses)
        beats_guessing = accuracy(losses) > self.guess
        while self.retained >= self.warm_size:
            if beats_guessing:
                self.cold += 5
            self.warm_size *= 2
        if not beats_guessing:
            self.cold = -10
        self.cold = min(self.cold, 0)
        self.last = losses


def accuracy(losses):
    """The share of right answers; for numbers, of the loss of the running mean that is avoided."""
    whole = sum(of_mean for _, of_mean in losses) or len(losses) or 1
    return (whole - sum(loss for loss, _ in losses)) / whole


def p_value(before, now):
    """Of Welch's t-test; both may be constant: then it is nan, or 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = ([loss for loss, _ in losses] for losses in (before, now))
        return stats.ttest_ind(*samples, equal_var=False).pvalue


class PublishedCart(Cart):
    """Entropy in the arithmetic of the authors' program: rounding decides between equal scores.

    A threshold is the largest value on its left.
    """

    tolerance = 0.0

    @staticmethod
    def middle(low, high):
        return low

    def scores(self, left, right):
        found = []
        for sides in zip(left.astype(int).tolist(), right.astype(int).tolist(), strict=True):
            n_left, n_right = map(sum, sides)
            n = n_left + n_right
            of_left, of_right = (entropy(tuple(side)) for side in sides)
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


class NaiveTree:
    """A forgetful decision tree that is built again from nothing after every batch.

    Its leaves learn every sample at once, except with `published`. `features` are those that its
    splits may use.
    """

    def __init__(
        self, rules, batch_size, n_classes=2, warm_size=64, most=math.inf, published=False
    ):
        self.rules = rules
        self.batch_size = batch_size
        self.n_classes = n_classes
        self.most = most
        self.published = published
        self.of_numbers = rules.criterion == "variance"
        guess = 0.0 if self.of_numbers else 1 / n_classes
        self.parameters = AdaptParameters(guess, warm_size, self.of_numbers, published)
        self.features = None
        self.held = []  # the first is forgotten first
        self.batch = []
        self.losses = []  # on the batch
        self.known = []  # all samples
        self.first = None  # the first batch, of a tree with an empty bag that has yet to see it
        self.root = Node([], 0)
        self.history = NaiveHistory(rules.nominal, self.of_numbers)

    @property
    def n_held(self):
        return count(self.held)

    def counts(self, x):
        return class_weights(leaf_of(self.root, x).samples, self.n_classes)

    def see(self, sample):
        """Answer for a sample, then learn it in its leaf; return the loss of the answer."""
        samples, counts = leaf_of(self.root, sample.x).samples, self.counts(sample.x)
        if self.of_numbers:
            loss = (sample.y - moments(samples)[1]) ** 2
        else:
            loss = float(counts.index(max(counts)) != sample.y)
        if not self.published:
            samples.append(sample)
        return loss

    def grow_early(self, seen, drawn):
        """Grow on what was seen and drawn of the first batch; the published program does not."""
        if self.held or self.published or len(seen) not in early_sizes(self.batch_size):
            return
        height = int(math.log2(len(seen)))
        self.root = self.build(drawn, height) if drawn else Node(seen.copy(), 0)

    def learn(self, sample):
        """Learn a sample; at the end of a batch, forget some and build the tree."""
        of_mean = (sample.y - moments(self.known)[1]) ** 2 if self.of_numbers else 0.0
        self.losses.append((self.see(sample), of_mean))
        self.batch.append(sample)
        self.known.append(sample)
        if not self.of_numbers:
            self.n_classes = max(self.n_classes, int(sample.y) + 1)
            self.parameters.guess = 1 / self.n_classes
        self.grow_early(self.batch, self.batch)
        if self.held and not self.published:
            self.history.send(self.root, sample, self.batch, self.held)
        if len(self.batch) == self.batch_size:
            self.parameters.step(self.losses, self.n_held)
            self.add(self.batch)
            n_held = min(self.parameters.retained, self.most)
            gone, self.held = self.held[:-n_held], self.held[-n_held:]
            self.root = self.build(self.held, self.parameters.height)
            for each in gone:
                self.history.learn(each)
            self.batch, self.losses = [], []

    def add(self, batch):
        self.held = self.held + (batch[::-1] if self.published else batch)

    def build(self, samples, height):
        kind = PublishedCart if self.published else Cart
        cart = kind(replace(self.rules, max_depth=min(height, self.rules.max_depth or height)))
        cart.history = self.history
        if self.features is not None:
            cart.features = lambda _: self.features
        return cart.tree(samples)


@dataclass
class NaiveForest:
    """A forgetful random forest: no shared samples, a list of copies in each tree.

    With `published` it is that of the published program: trees vote by majority, trees are
    discarded by its test, and the successor of a discarded tree is grown on the old samples, cold,
    before it is tested on the batch and learns it.
    """

    BOOTSTRAP, FORGET, SUBSET = 1, 4, 5

    n_trees: int
    batch_size: int
    n_classes: int | None  # None of numbers
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
        self.trees = [self.new_tree() for _ in range(self.n_trees)]
        self.known = []  # all samples
        self.past = []  # the losses of the answers since the last drift
        self.waiting = []  # the trees that have not learned the last batch, and what they learn
        for number in range(self.n_trees):
            self.choose_features(number)

    def new_tree(self):
        rules = Rules("entropy" if self.n_classes else "variance")
        return NaiveTree(rules, self.batch_size, self.n_classes or 1, published=self.published)

    def choose_features(self, number):
        rng = NaiveRng(self.seed, number, self.n_batches, self.SUBSET)
        f = self.n_features
        least = min(f, math.isqrt(f) + 2)
        m = least + int(rng.uniform() * (f - least + 1))
        keys = sorted((rng.next_word(), feature) for feature in range(f))
        self.trees[number].features = sorted(feature for _, feature in keys[:m])

    def predict(self, x):
        if self.n_classes is None:
            means = [moments(leaf_of(tree.root, x).samples)[1] for tree in self.trees]
            return sum(means) / self.n_trees
        votes = [0.0] * self.n_classes
        for tree in self.trees:
            counts = tree.counts(x)
            if self.published:
                votes[counts.index(max(counts))] += 1.0
                continue
            for y in range(self.n_classes):
                votes[y] += counts[y] / sum(counts) if sum(counts) else 0.0
        return votes.index(max(votes))

    def learn(self, batch):
        """Learn a batch; return the answers of the forest that were given before."""
        answers, losses, of_forest = [], [[] for _ in self.trees], []
        for n, sample in enumerate(batch, 1):
            answers.append(answer := self.predict(sample.x))
            loss, of_mean = float(answer != sample.y), 0.0
            if self.n_classes is None:
                loss, of_mean = (answer - sample.y) ** 2, (moments(self.known)[1] - sample.y) ** 2
            self.known.append(sample)
            of_forest.append((loss, of_mean))
            for number, tree in enumerate(self.trees):
                losses[number].append((tree.see(sample), of_mean))
            if self.n_batches == 0 and n in early_sizes(self.batch_size):
                self.waiting = [(number, None) for number in range(self.n_trees)]
                self.n_early = n
                n_ahead = min(max(10, n // 2), self.batch_size - n)
                self.n_per_step = self.trees_per_step(n * self.n_trees, n_ahead)
            self.grow_some(batch[:n])
        worst = sorted(
            range(self.n_trees), key=lambda number: -sum(loss for loss, _ in losses[number])
        )
        discarded = worst[: self.n_to_discard(of_forest)]
        self.n_discarded += len(discarded)
        if self.published:
            for number in discarded:
                self.succeed(number)
                losses[number] = [(self.trees[number].see(sample), 0.0) for sample in batch]
        for number, tree in enumerate(self.trees):
            copies = self.copies(number)
            own = [loss for loss, c in zip(losses[number], copies, strict=True) for _ in range(c)]
            if own:
                tree.parameters.step(own, tree.n_held)
            if number in discarded and not self.published:
                self.choose_features(number)
                tree.parameters.rate = 0.3
            samples = drawn(batch, copies)
            if not (samples or self.published or tree.held or self.n_batches):
                tree.first = batch
            self.waiting.append((number, samples))
        self.n_batches += 1
        n_retained = sum(tree.parameters.retained for tree in self.trees)
        self.n_per_step = self.trees_per_step(n_retained, self.batch_size)
        self.grow_some([])
        return answers

    def trees_per_step(self, n_samples, n_ahead):
        """All trees grow at once on few samples, and with `published`; else in up to five steps."""
        n_steps = 1 if self.published else min(5, n_ahead)
        in_time = self.cells_per_step * self.n_trees // max(1, n_samples * self.n_features)
        return max(math.ceil(self.n_trees / n_steps), in_time)

    def grow_some(self, new):
        """Grow the next trees on the last batch, and let them learn the `new` samples since.

        The next trees grow after each of the samples that follow. In the first batch, `new` are all
        of its samples, and trees grow on those up to `n_early`.
        """
        for number, samples in self.waiting[: self.n_per_step]:
            tree = self.trees[number]
            if samples is None:
                seen = new[: self.n_early]
                tree.grow_early(seen, drawn(seen, self.copies(number)))
                if not self.published:
                    for sample in new[self.n_early :]:
                        leaf_of(tree.root, sample.x).samples.append(sample)
                continue
            if tree.first is not None:
                tree.root, tree.first = Node(tree.first + new, 0), None
            if samples:
                n_held = tree.n_held + count(samples)
                self.forget(number, tree, max(0, n_held - tree.parameters.retained))
                tree.add(samples)
                tree.root = tree.build(tree.held, tree.parameters.height)
                for sample in new:
                    leaf_of(tree.root, sample.x).samples.append(sample)
        del self.waiting[: self.n_per_step]

    def succeed(self, number):
        """Let a new tree learn the samples of a discarded one, as its first batch."""
        samples = self.trees[number].held
        tree = self.trees[number] = self.new_tree()
        self.choose_features(number)
        tree.held = samples
        tree.parameters.retained = tree.n_held
        tree.root = tree.build(samples, tree.parameters.height)

    def copies(self, number):
        """How often a tree learns each sample of the batch."""
        n = self.batch_size
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

    def forget(self, number, tree, k):
        """Draw k of the copies without replacement, one after the other."""
        rng = NaiveRng(self.seed, number, self.n_batches - 1, self.FORGET)
        ahead, kept = tree.n_held, []
        if k == 0:
            return
        for sample in tree.held:
            left = sample.copies
            for _ in range(sample.copies):
                if rng.uniform() * ahead < k:
                    k -= 1
                    left -= 1
                ahead -= 1
            if left:
                kept.append(sample._replace(copies=left))
        tree.held = kept

    def n_to_discard(self, wrong):
        """The number of trees that get new features, by a t-test on the answers of the forest."""
        if not self.past:
            self.past = wrong if self.n_batches > 0 else []
            return 0
        if self.published:
            return self.n_to_discard_as_published(wrong)
        if not p_value(self.past, wrong) < self.significance:
            self.past = self.past + wrong
            return 0
        guess = 1 / self.n_classes if self.n_classes else 0.0
        before, now = (accuracy(losses) - guess for losses in (self.past, wrong))
        self.past = wrong
        if now >= before or before <= 0:
            return 0
        return min(self.n_trees, math.ceil((before - now) / before * self.n_trees - 1e-9))

    def n_to_discard_as_published(self, wrong):
        """The same by the program's formula: where the fall is not significant."""
        m, n = len(self.past), len(wrong)
        before, now = accuracy(self.past), accuracy(wrong)
        variances = [
            (1 - p) ** 2 * p * size + p**2 * (1 - p) * size / (size - 1)
            for p, size in ((before, m), (now, n))
        ]
        pooled = math.sqrt(((m - 1) * variances[0] + (n - 1) * variances[1]) / (m + n - 2))
        t, p = before - now, 1.0
        if pooled > 0:
            t /= pooled * math.sqrt(1 / m + 1 / n)
            p = stats.t.sf(abs(t), m + n - 2)
        if p <= self.significance:
            self.past = self.past + wrong
            return 0
        self.past = wrong
        return min(self.n_trees, math.ceil((before - now) / before * self.n_trees)) if t > 0 else 0


def drawn(batch, copies):
    """The samples that have copies, of a batch or of its first samples."""
    return [s._replace(copies=c) for s, c in zip(batch, copies, strict=False) if c]
