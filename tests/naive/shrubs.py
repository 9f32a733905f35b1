"""Shrub ensembles, written the slow and obvious way: the oracle of the fast ones.

Algorithm 1 of Buschjaeger, Hess and Morik, "Shrub Ensembles for Online Classification" (2022), in
exact rational arithmetic where a comparison decides (which split, which tree) and in plain floats
elsewhere. The rules where the paper is silent:

- A tree is CART: Gini impurity (variance for regression), thresholds halfway between neighbouring
  distinct values, "<=" goes left, a later candidate must be strictly better, features in index
  order, thresholds ascending. Splits without gain are taken. Growth ends at pure nodes, at the
  depth limit and where nothing varies. The recorded regression run compares sums of floats
  exactly, so rounding decides between equal splits there; with `tolerance` it does not.
- All weights, the newcomer's zero included, take the same gradient steps, then the smallest of
  more than `n_models` weights leaves: the newcomer unless it is strictly larger than the smallest
  old weight, else the oldest of the equally small ones. The rest is projected onto the simplex, and
  trees whose weight is not above `NEGLIGIBLE` leave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

NEGLIGIBLE = 1e-12


@dataclass
class NaiveNode:
    """A leaf, or a split when `feature` is set."""

    value: list[float]
    feature: int | None = None
    threshold: float = 0.0
    left: NaiveNode | None = None
    right: NaiveNode | None = None

    def leaf(self, x: list[float]) -> NaiveNode:
        """Return the leaf that x falls into."""
        node = self
        while node.feature is not None:
            node = node.left if x[node.feature] <= node.threshold else node.right
        return node

    def nodes(self) -> list[NaiveNode]:
        """Return all nodes in breadth-first order."""
        found = [self]
        for node in found:
            if node.feature is not None:
                found += [node.left, node.right]
        return found


def leaf_value(y: list, n_classes: int | None) -> list[float]:
    """Return class frequencies, or the mean target where there are no classes."""
    if n_classes is None:
        return [math.fsum(y) / len(y)]
    return [y.count(c) / len(y) for c in range(n_classes)]


def gini_scores(y: list[int], n_classes: int) -> list[Fraction]:
    """Return for every cut of the sorted targets a number that is larger for purer sides."""

    def purity(side: list[int]) -> Fraction:
        return Fraction(sum(side.count(c) ** 2 for c in range(n_classes)), len(side))

    return [purity(y[:cut]) + purity(y[cut:]) for cut in range(1, len(y))]


def variance_scores(y: list[float]) -> list[float]:
    """Return the same for numbers, with sums that run along the sorted targets."""
    total, left, scores = sum(y), 0.0, []
    for cut, target in enumerate(y[:-1], start=1):
        left += target
        right = total - left
        scores.append(left * left / cut + right * right / (len(y) - cut))
    return scores


def best_split(
    X: list, y: list, n_classes: int | None, tolerance: float
) -> tuple[int, float] | None:
    """Return feature and threshold of the first best split, None when nothing varies.

    In a regression a later candidate has to be better by more than `tolerance` times the sum of
    squared deviations.
    """
    best, best_score = None, None
    margin = 0
    if tolerance and n_classes is None:
        middle = sum(y) / len(y)
        y = [target - middle for target in y]
        margin = tolerance * sum(target**2 for target in y)
    for feature in range(len(X[0])):
        order = sorted(range(len(X)), key=lambda i: X[i][feature])
        values = [X[i][feature] for i in order]
        targets = [y[i] for i in order]
        scores = variance_scores(targets) if n_classes is None else gini_scores(targets, n_classes)
        for left, right, score in zip(values, values[1:], scores, strict=False):
            if left == right:
                continue
            if best_score is None or score > best_score + margin:
                threshold = left / 2 + right / 2
                best = (feature, threshold if threshold < right else left)
                best_score = score
    return best


def train(
    X: list, y: list, n_classes: int | None, max_depth: int, tolerance: float = 0
) -> NaiveNode:
    """Grow a shrub on the window."""
    node = NaiveNode(leaf_value(y, n_classes))
    split = None
    if max_depth > 0 and any(label != y[0] for label in y):
        split = best_split(X, y, n_classes, tolerance)
    if split is None:
        return node
    node.feature, node.threshold = split
    goes_left = [x[node.feature] <= node.threshold for x in X]
    for name, side in (("left", True), ("right", False)):
        part = [i for i, left in enumerate(goes_left) if left == side]
        child = train(
            [X[i] for i in part], [y[i] for i in part], n_classes, max_depth - 1, tolerance
        )
        setattr(node, name, child)
    return node


def project_simplex(v: list[float]) -> list[float]:
    """Return the point of the probability simplex nearest to v (eq. 8 without the cut)."""
    descending = sorted(v, reverse=True)
    tau = 0.0
    for j in range(1, len(v) + 1):
        candidate = (math.fsum(descending[:j]) - 1) / j
        if descending[j - 1] > candidate:
            tau = candidate
    return [max(value - tau, 0.0) for value in v]


def position_to_drop(weights: list[float]) -> int:
    """Return the weight that leaves; the last weight is the newcomer's."""
    *old, newcomer = weights
    smallest = min(old)
    return old.index(smallest) if newcomer > smallest else len(old)


def sparse_project_simplex(v: list[float], n_models: int) -> list[float]:
    """Return the nearest point of the simplex with at most `n_models` nonzero entries (eq. 8)."""
    kept = sorted(sorted(range(len(v)), key=lambda k: -v[k])[:n_models])
    projected = project_simplex([v[k] for k in kept])
    answer = [0.0] * len(v)
    for k, value in zip(kept, projected, strict=True):
        answer[k] = value
    return answer


@dataclass
class NaiveShrubs:
    """Algorithm 1. `n_classes=None` means regression; parameters are named as in the library."""

    n_classes: int | None
    n_models: int = 32
    window_size: int = 256
    step_size: float | str = 0.1
    loss: str = "mse"
    max_depth: int = 15
    rounds: int = 1
    l2: float = 0.0
    node_penalty: float = 0.0
    project_each_round: bool = False
    standardise: bool = False
    tolerance: float = 0
    X: list = field(default_factory=list)
    y: list = field(default_factory=list)
    trees: list[NaiveNode] = field(default_factory=list)
    births: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    n_seen: int = 0
    closest: float = math.inf  # smallest difference of two weights that decided which tree left

    @property
    def width(self) -> int:
        """Number of outputs of a tree."""
        return 1 if self.n_classes is None else self.n_classes

    def predict(self, x: list[float]) -> list[float]:
        """Return f(x), eq. (2); uniform (zero in regression) before the first tree."""
        if not self.trees:
            return [0.0] if self.n_classes is None else [1 / self.n_classes] * self.n_classes
        values = np.array([tree.leaf(x).value for tree in self.trees])
        return list(np.array(self.weights) @ values)

    def learn(self, x: list[float], y: int | float) -> None:
        """Lines 3 to 12 of Algorithm 1."""
        if len(self.X) == self.window_size:
            self.X.pop(0)
            self.y.pop(0)
        self.X.append(x)
        self.y.append(y)
        self.trees.append(train(self.X, self.y, self.n_classes, self.max_depth, self.tolerance))
        self.births.append(self.n_seen)
        self.weights.append(0.0)
        self.n_seen += 1
        for round_number in range(self.rounds):
            self.gradient_step()
            if self.project_each_round or round_number == self.rounds - 1:
                self.project()
        self.prune()

    def outputs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return h (trees x items x outputs) and the targets (items x outputs)."""
        h = np.array([[tree.leaf(x).value for x in self.X] for tree in self.trees])
        if self.n_classes is not None:
            return h, np.eye(self.n_classes)[self.y]
        target = np.array(self.y, dtype=float)[:, None]
        if self.standardise:
            centre, scale = target.mean(), target.std() or 1.0
            return (h - centre) / scale, (target - centre) / scale
        return h, target

    def gradient_step(self) -> None:
        """Take one step down the gradient of eq. (5) and of the regularisers."""
        h, target = self.outputs()
        weights = np.array(self.weights)
        f = np.einsum("k,kic->ic", weights, h)
        if self.loss == "mse":
            slope = 2 * (f - target)
        else:
            e = np.exp(f - f.max(axis=1, keepdims=True))
            slope = e / e.sum(axis=1, keepdims=True) - target
        gradient = np.einsum("kic,ic->k", h, slope) / (len(self.X) * self.width)
        gradient += 2 * self.l2 * weights
        gradient += self.node_penalty * np.array([len(tree.nodes()) for tree in self.trees])
        step = 1 / (len(self.trees) + 1) if self.step_size == "adaptive" else self.step_size
        self.weights = list(weights - step * gradient)

    def project(self) -> None:
        """Lines 10 and 11: give the weights that stay to the simplex, the others become zero."""
        positions = range(len(self.weights))
        if len(self.weights) > self.n_models:
            smallest, next_to_it, *_ = sorted(self.weights)
            self.closest = min(self.closest, next_to_it - smallest)
            gone = position_to_drop(self.weights)
            positions = [k for k in positions if k != gone]
        projected = project_simplex([self.weights[k] for k in positions])
        self.weights = [0.0] * len(self.weights)
        for k, weight in zip(positions, projected, strict=True):
            self.weights[k] = weight

    def prune(self) -> None:
        """Line 12: remove the trees without weight."""
        kept = [k for k, weight in enumerate(self.weights) if weight > NEGLIGIBLE]
        self.trees = [self.trees[k] for k in kept]
        self.births = [self.births[k] for k in kept]
        self.weights = [self.weights[k] for k in kept]
