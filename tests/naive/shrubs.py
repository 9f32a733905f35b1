"""Shrub ensembles, written the slow and obvious way: the oracle of the fast ones.

Algorithm 1 of Buschjaeger, Hess and Morik, "Shrub Ensembles for Online Classification" (2022). The
rules where the paper is silent:

- A tree is CART, by the Gini impurity (by the variance for regression).
- All weights, the newcomer's zero included, take the same gradient steps, then the smallest of
  more than `n_models` weights leaves: the newcomer unless it is strictly larger than the smallest
  old weight, else the oldest of the equally small ones. The rest is projected onto the simplex, and
  trees whose weight is not above `NEGLIGIBLE` leave.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import add

import numpy as np

from tests.naive.cart import (
    Cart,
    Node,
    Rules,
    Sample,
    Split,
    class_weights,
    leaf_of,
    mean,
    middle,
    walk,
)

NEGLIGIBLE = 1e-12


class RecordedCart(Cart):
    """The trees of the recorded regression run: rounding decides between equal splits."""

    def best_split(self, samples: Sequence[Sample], depth: int = 0) -> Split | None:
        best, best_score, n = None, -math.inf, len(samples)
        for feature in range(len(samples[0].x)):
            rows = sorted(samples, key=lambda s: s.x[feature])
            # One target after the other: `sum` of Python 3.12 and later rounds once.
            whole, left = functools.reduce(add, [s.y for s in rows]), 0.0
            for i, (one, other) in enumerate(itertools.pairwise(rows), 1):
                left += one.y
                low, high, right = one.x[feature], other.x[feature], whole - left
                score = left * left / i + right * right / (n - i)
                if low < high and score > best_score:
                    best, best_score = Split(feature, middle(low, high), False, False), score
        return best


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
    update_interval: int = 1
    retrain: str = "always"
    l0: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    node_penalty: float = 0.0
    project_each_round: bool = False
    standardise: bool = False
    cart: type[Cart] = Cart
    window: list[Sample] = field(default_factory=list)
    trees: list[Node] = field(default_factory=list)
    births: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    n_seen: int = 0
    closest: float = math.inf  # smallest difference of weights or votes that decided something

    @property
    def width(self) -> int:
        """Number of outputs of a tree."""
        return 1 if self.n_classes is None else self.n_classes

    def predict(self, x: list[float]) -> list[float]:
        """Return f(x), eq. (2); uniform (zero in regression) before the first tree."""
        if not self.trees:
            return [0.0] if self.n_classes is None else [1 / self.n_classes] * self.n_classes
        values = np.array([self.value(tree, x) for tree in self.trees])
        return list(np.array(self.weights) @ values)

    def value(self, tree: Node, x: Sequence[float]) -> list[float]:
        """Return the class frequencies in the leaf of x, or its mean."""
        leaf = leaf_of(tree, x)
        if self.n_classes is None:
            return [mean(leaf.samples)]
        weights = class_weights(leaf.samples, self.n_classes)
        return [weight / sum(weights) for weight in weights]

    def learn(self, x: list[float], y: int | float) -> None:
        """Lines 3 to 12 of Algorithm 1."""
        self.window = [*self.window, Sample(tuple(x), y)][-self.window_size :]
        if self.n_seen % self.update_interval == 0 and self.is_due(x, y):
            criterion = "variance" if self.n_classes is None else "gini"
            rules = Rules(criterion, max_depth=self.max_depth)
            self.trees.append(self.cart(rules).tree(self.window))
            self.births.append(self.n_seen)
            self.weights.append(0.0)
        self.n_seen += 1
        for round_number in range(self.rounds):
            self.gradient_step()
            if self.project_each_round or round_number == self.rounds - 1:
                self.project()
        self.prune()

    def is_due(self, x: list[float], y: int | float) -> bool:
        """Whether a tree is trained on a sample: always, or only if it is answered wrongly."""
        if self.retrain == "always" or not self.trees:
            return True
        votes = self.predict(x)
        *_, second, first = sorted(votes)
        self.closest = min(self.closest, first - second)
        return int(np.argmax(votes)) != y

    def outputs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return h (trees x items x outputs) and the targets (items x outputs)."""
        h = np.array([[self.value(tree, s.x) for s in self.window] for tree in self.trees])
        y = [s.y for s in self.window]
        if self.n_classes is not None:
            return h, np.eye(self.n_classes)[y]
        target = np.array(y)[:, None]
        if self.standardise:
            centre, scale = target.mean(), target.std() or 1.0
            return (h - centre) / scale, (target - centre) / scale
        return h, target

    @property
    def n_targets(self) -> int:
        """C of eq. (5): the classes, of a full window at most twice as many as it has."""
        if len(self.window) < self.window_size:
            return self.width
        return min(self.width, 2 * len({sample.y for sample in self.window}))

    @property
    def step(self) -> float:
        return 1 / (len(self.trees) + 1) if self.step_size == "adaptive" else self.step_size

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
        gradient = np.einsum("kic,ic->k", h, slope) / (len(self.window) * self.n_targets)
        gradient += 2 * self.l2 * weights
        gradient += self.node_penalty * np.array([len(list(walk(tree))) for tree in self.trees])
        self.weights = list(weights - self.step * gradient)

    def project(self) -> None:
        """Lines 10 and 11: give the weights that stay to the simplex, the others become zero."""
        if len(self.weights) > self.n_models:
            smallest, next_to_it, *_ = sorted(self.weights)
            self.closest = min(self.closest, next_to_it - smallest)
            self.weights[position_to_drop(self.weights)] = -math.inf
        largest = self.weights.index(max(self.weights))
        for k, weight in enumerate(self.weights if self.l0 or self.l1 else ()):
            weight = math.copysign(max(0.0, abs(weight) - self.l1 * self.step), weight)
            gone = abs(weight) <= math.sqrt(2 * self.l0 * self.step)
            self.weights[k] = -math.inf if gone and k != largest else weight
        self.weights = project_simplex(self.weights)

    def prune(self) -> None:
        """Line 12: remove the trees without weight."""
        kept = [k for k, weight in enumerate(self.weights) if weight > NEGLIGIBLE]
        self.trees = [self.trees[k] for k in kept]
        self.births = [self.births[k] for k in kept]
        self.weights = [self.weights[k] for k in kept]
