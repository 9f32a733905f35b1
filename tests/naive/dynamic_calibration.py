"""Simulation-based calibration of a cloud of dynamic trees under their sequential prior.

A tree and a stream are drawn from the model itself: each target from the predictive of its leaf,
then the move of the tree, both as the naive version has them. The compiled cloud then learns the
stream. The drawn tree and the particles are exchangeable, so the rank of anything that is asked of
the tree among the answers of some particles is uniform. The parameters of the leaves are drawn from
their posterior given the tree, and are asked for as well.

The prior of a regression is improper and a class is known once it was seen, so the targets of the
first rows, which the starting leaf needs before it can be split, are given.

Where samples are forgotten there is no one likelihood of the whole stream. But each target has a
predictive and each tree its moves, all by the weights of their time, and that is what a stream and
its tree are drawn from, and what the cloud follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from tests.naive.dynamic import DynamicTree, Leaf, Tree
from tests.naive.dynamic_filters import filter_of, learn_stream, naive_tree, open_constant
from tests.naive.dynamic_leaves import GaussianLeaf, MultinomialLeaf
from tests.naive.dynamic_problems import mutants
from tests.tools.particle_trees import trees_of

Array = np.ndarray

N_COLUMNS = 1
SMALLEST_P = 1e-6  # ranks that are less probable are not uniform
PROBE = np.array([0.4])  # where a tree is asked for the parameters of its leaf
QUANTITIES = ("leaf mean", "leaf variance", "leaves", "log likelihood")


@dataclass(frozen=True)
class Problem:
    """A model, the length of its streams, and how closely the cloud follows its law."""

    leaf_model: GaussianLeaf | MultinomialLeaf
    min_samples_leaf: int
    n_rows: int
    n_active: int  # beyond these the oldest row retires before each new one
    alpha: float = 0.95
    decay: float = 1.0
    n_particles: int = 300
    n_asked: int = 9  # particles; ranks go from 0 to this number

    def model(self) -> DynamicTree:
        """The model of the compiled cloud."""
        X, y = np.zeros((self.n_rows, N_COLUMNS)), np.zeros(self.n_rows)
        least, alpha, decay = self.min_samples_leaf, self.alpha, self.decay
        model = DynamicTree(X, y, self.leaf_model, least, alpha, decay=decay, now=self.n_rows - 1)
        return open_constant(model)

    def shortened(self) -> Problem:
        """With two thirds of the stream and the window, which takes 0.4 times as long."""
        return replace(self, n_rows=self.n_rows * 2 // 3, n_active=self.n_active * 2 // 3)


PROBLEMS = {
    "constant": Problem(GaussianLeaf(N_COLUMNS, linear=False), 3, 24, 24),
    "linear": Problem(GaussianLeaf(N_COLUMNS, linear=True), 4, 24, 24, alpha=0.3),
    "multinomial": Problem(MultinomialLeaf(4), 2, 24, 24),
    "retiring": Problem(GaussianLeaf(N_COLUMNS, linear=False), 3, 24, 14),
    "forgetting": Problem(GaussianLeaf(N_COLUMNS, linear=False), 4, 24, 14, decay=0.95),
}


def wrong_models(problem: Problem) -> dict[str, DynamicTree]:
    """Models to draw streams from, each of which has to be noticed, by what is wrong with them."""
    if problem.decay < 1.0:
        return {"no forgetting": replace(problem, decay=1.0).model()}
    return mutants(problem.model())


# The model draws


def draw_target(model: DynamicTree, tree: Tree, x: Array, rng: np.random.Generator) -> float:
    total = model.total(model.leaf_at(tree, x))
    if isinstance(model.leaf_model, MultinomialLeaf):
        chances = model.leaf_model.probabilities(total)
        return float(rng.choice(len(chances), p=chances))
    df, location, scale = model.leaf_model.predictive(total, x)
    return location + scale * float(rng.standard_t(df))


def simulate(
    problem: Problem, model: DynamicTree, rng: np.random.Generator
) -> tuple[DynamicTree, Tree]:
    """The model with a stream from its sequential prior, and the tree that the stream ends with."""
    n_given = 2 * model.min_samples_leaf
    X, y = rng.random((problem.n_rows, N_COLUMNS)), np.zeros(problem.n_rows)
    is_class = isinstance(model.leaf_model, MultinomialLeaf)
    y[:n_given] = np.arange(n_given) if is_class else rng.normal(size=n_given)
    model = replace(model, X=X, y=y)
    tree: Tree = Leaf(tuple(range(n_given - 1)), model.leaf_model.nothing())
    for row in range(n_given - 1, problem.n_rows):
        model = replace(model, now=row)
        tree = model.forget(tree)
        if row >= problem.n_active:
            tree = model.retire(tree, row - problem.n_active)
        if row >= n_given:
            y[row] = draw_target(model, tree, X[row], rng)
        tree = model.move(model.add(tree, row), row, rng)
    return model, tree


# The cloud answers


def learned_trees(problem: Problem, model: DynamicTree, seed: int) -> list[Tree]:
    """Trees of some particles, drawn at random, of a compiled cloud that has learned the stream."""
    n, decay, window = problem.n_particles, problem.decay, problem.n_active
    particles = filter_of(model, n, seed, decay=decay, window=window)
    learn_stream(model, particles)
    trees, counts = zip(*trees_of(particles), strict=True)
    rng = np.random.default_rng(seed)
    asked = rng.choice(np.repeat(np.arange(len(trees)), counts), problem.n_asked, replace=False)
    known = {i: naive_tree(model, particles, trees[i][0]) for i in set(asked.tolist())}
    return [known[i] for i in asked.tolist()]


def draw_leaf(
    model: DynamicTree, leaf: Leaf, x: Array, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Mean at x and variance of a leaf whose parameters are drawn, and their log likelihood.

    The mean of a leaf of classes is the probability of the second one.
    """
    total, leaf_model = model.total(leaf), model.leaf_model
    if isinstance(leaf_model, MultinomialLeaf):
        theta = rng.dirichlet(total.counts + leaf_model.concentration)
        return theta[1], theta[1] * (1 - theta[1]), float(total.counts @ np.log(theta + 1e-300))
    kernel = np.linalg.inv(total.gram)
    theta = kernel @ total.cross
    residual = total.square - theta @ total.cross
    variance = residual / rng.chisquare(leaf_model.degrees_of_freedom(total))
    theta = theta + np.sqrt(variance) * np.linalg.cholesky(kernel) @ rng.normal(size=len(theta))
    misfit = total.square - 2 * theta @ total.cross + theta @ total.gram @ theta
    likelihood = -0.5 * (misfit / variance + total.weight * np.log(variance))
    return leaf_model.design(x) @ theta, variance, likelihood


def ask(model: DynamicTree, tree: Tree, rng: np.random.Generator) -> Array:
    """The quantities of a tree, in the order of `QUANTITIES`."""
    asked = model.leaf_at(tree, PROBE)
    leaves = list(model.leaves(tree))
    drawn = [draw_leaf(model, leaf, PROBE, rng) for leaf in leaves]
    (at_probe,) = [i for i, leaf in enumerate(leaves) if leaf is asked]
    mean, variance, _ = drawn[at_probe]
    return np.array([mean, variance, len(leaves), sum(part for _, _, part in drawn)])


# Ranks


def rank_of(value: float, others: Array, rng: np.random.Generator) -> int:
    """Place among the others; equal ones are in random order."""
    ties = int(np.sum(others == value))
    return int(np.sum(others < value)) + int(rng.integers(ties + 1))


def ranks(problem: Problem, simulated: DynamicTree, n: int, seed: int = 0) -> Iterator[list[int]]:
    """For each of n replications the rank of each quantity; streams come from `simulated`."""
    right = problem.model()
    for replication in range(n):
        rng = np.random.default_rng((seed, replication))
        drawn, tree = simulate(problem, simulated, rng)
        model = replace(right, X=drawn.X, y=drawn.y)
        truth = ask(drawn, tree, rng)
        trees = learned_trees(problem, model, int(rng.integers(2**63)))
        answers = np.array([ask(model, one, rng) for one in trees])
        yield [rank_of(value, others, rng) for value, others in zip(truth, answers.T, strict=True)]


def p_values(found: list[list[int]], n_asked: int) -> dict[str, float]:
    """Of the chi-square test that the ranks of a quantity are uniform."""
    counts = [np.bincount(column, minlength=n_asked + 1) for column in np.array(found).T]
    return {
        name: float(stats.chisquare(count).pvalue)
        for name, count in zip(QUANTITIES, counts, strict=True)
    }


def replications_to_notice(problem: Problem, simulated: DynamicTree, most: int) -> int | None:
    """After how many replications, in steps of 25, some ranks are surely not uniform, if ever."""
    found: list[list[int]] = []
    for one in ranks(problem, simulated, most):
        found.append(one)
        if len(found) % 25 == 0 and min(p_values(found, problem.n_asked).values()) < SMALLEST_P:
            return len(found)
    return None
