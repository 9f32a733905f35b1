"""Dynamic trees as the paper describes them, one immutable tree per particle, nothing cached.

Trees are values: every operation returns a new tree, so the particle filter below and the exact
enumeration in `dynamic_enumeration` share the same moves.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tests.naive.dynamic_leaves import LeafModel, Sums

Array = np.ndarray


@dataclass(frozen=True)
class Leaf:
    """Rows that are active in the leaf, and the sums of those that were retired from it."""

    active: tuple[int, ...]
    retired: Sums


@dataclass(frozen=True)
class Split:
    """x[column] <= cut goes left."""

    column: int
    cut: float
    left: Tree
    right: Tree


Tree = Leaf | Split


@dataclass(frozen=True)
class DynamicTree:
    """The model a particle is a tree of: data, leaf model, prior over trees, and the moves."""

    X: Array
    y: Array
    leaf_model: LeafModel
    min_samples_leaf: int
    alpha: float = 0.95
    beta: float = 2.0
    published_scores: bool = False
    leaf_bonus: float = 0.0  # per leaf; an improper prior leaves this constant open
    decay: float = 1.0
    now: int = 0  # the row that is learned or was learned last

    # Reading a tree

    def leaves(self, tree: Tree) -> Iterator[Leaf]:
        if isinstance(tree, Leaf):
            yield tree
        else:
            yield from self.leaves(tree.left)
            yield from self.leaves(tree.right)

    def leaf_at(self, tree: Tree, x: Array) -> Leaf:
        while isinstance(tree, Split):
            tree = tree.left if x[tree.column] <= tree.cut else tree.right
        return tree

    def sums(self, rows: Sequence[int]) -> Sums:
        """Active or retired, a row weighs decay^age; retired sums are as of their time."""
        numbers = np.array(rows, dtype=int)
        weights = self.decay ** (self.now - numbers)
        return self.leaf_model.sums(self.X[numbers], self.y[numbers], weights)

    def total(self, leaf: Leaf) -> Sums:
        return self.sums(leaf.active) + leaf.retired

    def log_predictive(self, tree: Tree, x: Array, y: float) -> float:
        return self.leaf_model.log_predictive(self.total(self.leaf_at(tree, x)), x, y)

    # Scores

    def log_prior(self, depth: int, split: bool) -> float:
        """Of one node (section 2.1): p_split = alpha (1 + depth)^-beta."""
        share = self.alpha * (1.0 + depth) ** -self.beta
        return float(np.log(share if split else 1.0 - share))

    def score(self, tree: Tree, depth: int) -> float:
        """Log prior + log marginal likelihood of the subtree whose root lies at `depth`."""
        if isinstance(tree, Split):
            below = self.score(tree.left, depth + 1) + self.score(tree.right, depth + 1)
            return self.log_prior(depth, True) + below
        if self.published_scores:
            likelihood = self.leaf_model.published_score(self.sums(tree.active), tree.retired)
        else:
            likelihood = self.leaf_model.log_evidence(self.total(tree))
        return self.log_prior(depth, False) + likelihood + self.leaf_bonus

    # The moves (section 2.2) and how retired sums follow them (section 3.2)

    def add(self, tree: Tree, row: int) -> Tree:
        if isinstance(tree, Leaf):
            return replace(tree, active=(*tree.active, row))
        if self.X[row, tree.column] <= tree.cut:
            return replace(tree, left=self.add(tree.left, row))
        return replace(tree, right=self.add(tree.right, row))

    def grown(self, leaf: Leaf, column: int, cut: float) -> Split:
        goes_left = [bool(self.X[row, column] <= cut) for row in leaf.active]
        left = tuple(row for row, there in zip(leaf.active, goes_left, strict=True) if there)
        right = tuple(row for row, there in zip(leaf.active, goes_left, strict=True) if not there)
        share = len(left) / len(leaf.active)
        return Split(
            column,
            cut,
            Leaf(left, leaf.retired * share),
            Leaf(right, leaf.retired * (1.0 - share)),
        )

    def pruned(self, tree: Tree) -> Leaf:
        active: tuple[int, ...] = ()
        retired = self.leaf_model.nothing()
        for leaf in self.leaves(tree):
            active += leaf.active
            retired = retired + leaf.retired
        return Leaf(active, retired)

    def proposals(self, leaf: Leaf) -> list[tuple[float, tuple[int, float]]]:
        """(probability, cut) for one column at random and a cut uniform over its spans.

        A cut matters only through the points it has between it and the next one, so these are
        finitely many intervals between the values that occur anywhere in the stream, each with its
        length as probability. Columns that allow no cut are left out, so the sum may be below 1.
        """
        found = []
        for column, values in enumerate(map(np.unique, self.X.T)):
            for share, low, high in self.cut_spans(leaf, column):
                inside = values[(values >= low) & (values <= high)]
                for left, right in itertools.pairwise(inside):
                    chance = share * (right - left) / (high - low) / self.X.shape[1]
                    found.append((float(chance), (column, float((left + right) / 2))))
        return found

    def cut_spans(self, leaf: Leaf, column: int) -> list[tuple[float, float, float]]:
        """(probability, from, to) of the spans that a cut is uniform over.

        dynaTree has one, the whole range that is allowed; else each gap is one.
        """
        least = self.min_samples_leaf
        values = np.sort(self.X[list(leaf.active), column])[
            least - 1 : len(leaf.active) - least + 1
        ]
        if len(values) < 2 or values[0] == values[-1]:
            return []
        if self.published_scores:
            return [(1.0, values[0], values[-1])]
        gaps = list(itertools.pairwise(values))
        return [(1 / len(gaps), left, right) for left, right in gaps if left < right]

    def moves(
        self, tree: Tree, row: int, cuts: list[tuple[int, float]], depth: int = 0
    ) -> list[tuple[float, Tree]]:
        """(log score, tree) of stay, growing by each cut, and prune, once `row` is in the tree.

        Scores cover the subtree at the parent of the leaf of `row`; higher up nothing changes.
        """
        if isinstance(tree, Split):
            side = "left" if self.X[row, tree.column] <= tree.cut else "right"
            if isinstance(getattr(tree, side), Split):
                below = self.moves(getattr(tree, side), row, cuts, depth + 1)
                return [(score, replace(tree, **{side: moved})) for score, moved in below]
        else:
            side = ""
        leaf = getattr(tree, side) if side else tree
        candidates: list[Tree] = [tree]
        for column, cut in cuts:
            grown = self.grown(leaf, column, cut)
            candidates.append(replace(tree, **{side: grown}) if side else grown)
        if side:
            pruned = self.pruned(tree)
            if not self.published_scores or len(pruned.active) >= 2 * self.min_samples_leaf:
                candidates.append(pruned)
        return [(self.score(candidate, depth), candidate) for candidate in candidates]

    def reached(self, tree: Tree, row: int) -> list[tuple[float, Tree]]:
        """Every tree one step away, `row` already in `tree`, with its probability.

        The place of the cut is integrated out: growing by a cut has the weight of its score times
        its probability as a proposal. With dynaTree's scores one cut is drawn first, then one
        of the moves.
        """
        proposals = self.proposals(self.leaf_at(tree, self.X[row]))
        if not self.published_scores:
            moves = self.moves(tree, row, [cut for _, cut in proposals])
            scores = np.array([score for score, _ in moves])
            scores[1 : 1 + len(proposals)] += np.log([chance for chance, _ in proposals])
            chances = move_chances(scores)
            return [(float(c), moved) for c, (_, moved) in zip(chances, moves, strict=True)]
        found: list[tuple[float, Tree]] = []
        nothing = 1.0 - sum(chance for chance, _ in proposals)
        for chance, cuts in [(nothing, []), *((chance, [cut]) for chance, cut in proposals)]:
            moves = self.moves(tree, row, cuts)
            shares = move_chances(np.array([score for score, _ in moves]))
            found += [(chance * s, moved) for s, (_, moved) in zip(shares, moves, strict=True)]
        return found

    def move(self, tree: Tree, row: int, rng: np.random.Generator) -> Tree:
        """One of the trees one step away, drawn at random."""
        reached = self.reached(tree, row)
        chances = np.array([chance for chance, _ in reached])
        return reached[rng.choice(len(reached), p=chances / chances.sum())][1]

    # Retirement (section 3) and forgetting (section 5)

    def forget(self, tree: Tree) -> Tree:
        """Let the retired sums of every leaf fade."""
        if isinstance(tree, Leaf):
            return replace(tree, retired=tree.retired * self.decay)
        return replace(tree, left=self.forget(tree.left), right=self.forget(tree.right))

    def retire(self, tree: Tree, row: int) -> Tree:
        """Move an active row into the prior of its leaf."""
        if isinstance(tree, Leaf):
            active = tuple(other for other in tree.active if other != row)
            return Leaf(active, tree.retired + self.sums([row]))
        side = "left" if self.X[row, tree.column] <= tree.cut else "right"
        return replace(tree, **{side: self.retire(getattr(tree, side), row)})


def move_chances(scores: Array) -> Array:
    """Probabilities proportional to exp(score); a score without a value means: stay."""
    if not np.all(np.isfinite(scores)):
        return np.eye(len(scores))[0]
    chances = np.exp(scores - np.max(scores))
    return chances / chances.sum()
