"""Forgetful decision trees, slowly and obviously: the oracle of the fast ones.

A forgetful tree equals a plain CART, built from nothing on the samples it still retains. So here a
tree keeps a list of samples, newest batch first, cuts the list to the retained size after every
batch and builds again. No incremental structure, no shared orders, no tables.

Scores are floating point in `literal_scores` (the arithmetic of the authors' program, where exact
ties are decided by rounding) and compared with a relative tolerance otherwise, so that ties go to
the first feature and the smallest threshold whatever the rounding.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache, lru_cache


class AdaptParameters:
    """The parameters of one tree: how much it retains and how high it may grow.

    Yuan, Sun and Shasha 2023, Appendix B; where the text is silent, their program. `reference`
    follows the program also where it departs from the text: without it the retained size stays
    within what is held, the increase rate is at most 1, and a tree is warm as soon as it beat
    guessing over the samples since the last threshold.
    """

    def __init__(self, n_classes, initial_rate=0.3, warm_size=64, reference=False):
        self.guess = 1 / n_classes
        self.rate = initial_rate
        self.warm_size = warm_size
        self.reference = reference
        self.retained = 0
        self.last_right, self.last_total = (1, n_classes) if reference else (0, 0)
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
        if self.cold < 0 and self.reference:
            self.warm_up_reference(n, right, held)
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
            if not self.reference:
                self.rate = min(self.rate, 1.0)
            growth = change ** (2 if change >= 1 else 3 - change)
            wish = math.floor(self.retained * growth + self.rate * n + 0.5)
            self.retained = min(wish, self.retained + n)
            self.last_right, self.last_total = right, n
        if not self.reference:
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

    def warm_up_reference(self, n, right, held):
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


@cache
def entropy(counts):
    """Natural-log entropy of class counts."""
    total = sum(counts)
    value = 0.0
    for count in counts:
        if count:
            value -= (count / total) * math.log(count / total)
    return value


@cache
def gini(counts):
    """Gini impurity of class counts."""
    total = sum(counts)
    value = 1.0
    for count in counts:
        value -= (count / total) * (count / total)
    return value


def score(left, right, impurity):
    """Weighted impurity after a split, in the order of operations of the authors' program."""
    n_left, n_right = sum(left), sum(right)
    n = n_left + n_right
    return impurity(left) * n_left / n + impurity(right) * n_right / n


def best_split(samples, features, n_classes, impurity, tolerance):
    """The best (feature, largest left value), or None where no feature varies."""
    whole = [0] * n_classes
    for _, y, w in samples:
        whole[y] += w
    best, found = math.inf, None
    for feature in features:
        rows = sorted((x[feature], y, w) for x, y, w in samples)
        left, right = [0] * n_classes, whole.copy()
        for (value, y, w), (following, _, _) in itertools.pairwise(rows):
            left[y] += w
            right[y] -= w
            if value == following:
                continue
            candidate = score(tuple(left), tuple(right), impurity)
            if candidate < best - tolerance * abs(best) if found else True:
                best, found = candidate, (feature, value, following)
    return found


class NaiveTree:
    """A forgetful decision tree that is built again from nothing after every batch."""

    def __init__(
        self,
        n_classes,
        criterion="entropy",
        initial_rate=0.3,
        reference=False,
        features=None,
        tolerance=None,
    ):
        self.n_classes = n_classes
        self.impurity = {"entropy": entropy, "gini": gini}[criterion]
        self.parameters = AdaptParameters(n_classes, initial_rate, reference=reference)
        self.features = features
        self.midpoint = not reference
        self.tolerance = (0.0 if reference else 1e-12) if tolerance is None else tolerance
        self.samples = []  # newest batch first, each batch in its own order
        self.root = 0

    def predict(self, x):
        node = self.root
        while isinstance(node, tuple):
            feature, threshold, left, right = node
            node = left if x[feature] <= threshold else right
        return node

    def learn(self, X, Y):
        right = sum(self.predict(x) == y for x, y in zip(X, Y))
        self.parameters.step(len(X), right, len(self.samples))
        new = [(tuple(x), y, 1) for x, y in zip(X, Y)]
        self.samples = (new + self.samples)[: self.parameters.retained]
        self.root = self.build(self.samples, 0)

    def build(self, samples, height):
        counts = Counter()
        for _, y, w in samples:
            counts[y] += w
        features = range(len(samples[0][0])) if self.features is None else self.features
        split = None
        if len(counts) > 1 and height < self.parameters.height:
            split = best_split(samples, features, self.n_classes, self.impurity, self.tolerance)
        if split is None:
            return max(sorted(counts), key=counts.__getitem__)
        feature, value, following = split
        threshold = value + (following - value) / 2 if self.midpoint else value
        left = [s for s in samples if s[0][feature] <= value]
        right = [s for s in samples if s[0][feature] > value]
        return feature, threshold, self.build(left, height + 1), self.build(right, height + 1)

    @property
    def n_nodes(self):
        pending, n = [self.root], 0
        while pending:
            node = pending.pop()
            n += 1
            if isinstance(node, tuple):
                pending += node[2:]
        return n
