"""Base class of the dynamic trees: parameters and inspection."""

from __future__ import annotations

import abc
import collections
import math
import typing

from ._core.dynamic import ParticleFilter
from ._core.state import restore
from ._estimator.inspection import Node
from ._estimator.learner import TreeLearner
from ._estimator.parameters import (
    check_choice,
    check_number,
    check_published,
    check_whole,
    draw_seed,
)

__all__ = ["DynamicTreeLearner"]

Nodes = list[Node]
Sums = dict[typing.Any, float]

# Weight of the leaves' prior in samples.
PRIOR_WEIGHT = 0.3
# The same for a regression whose memories compete: with a short memory, leaves hold few samples.
# The core raises it where leaves have many coefficients.
COMPETING_PRIOR_WEIGHT = 0.1
# Default `beta` of a classifier, and its default with `published`. The default of 40 trees is more
# accurate with the former than 100 trees are with the latter.
BETA, PAPER_BETA = 0.5, 2.0
# Memories, in samples, whose forgetting factors compete with `forgetting_factor="auto"`.
MEMORIES = {
    "regression": (math.inf, 500.0, 250.0, 120.0, 60.0, 30.0),
    "classification": (math.inf, 500.0, 120.0, 30.0),
}


class DynamicTreeLearner(TreeLearner):
    """Base of both learners. Subclasses set their parameters and call `_begin`."""

    _core: ParticleFilter

    n_particles: int
    window: int
    discard: str
    forgetting_factor: float | str
    rejuvenate_every: int | None
    alpha: float
    beta: float | None  # None: of classifiers
    min_samples_leaf: int | None
    published: bool
    seed: int | None
    _more_columns: typing.ClassVar[tuple[str, ...]] = ("active", "retired")
    _mutable = frozenset({"discard", "rejuvenate_every"})

    def _begin(
        self, classifier: bool, linear: bool, min_samples_leaf: int, leaf_bonus: float
    ) -> None:
        policies = ("entropy",) if classifier else ("alc", "alm")
        check_choice("discard", self.discard, "oldest", "random", *policies)
        check_whole("rejuvenate_every", self.rejuvenate_every, 1, optional=True)
        check_whole("n_particles", self.n_particles, 1)
        check_whole("window", self.window, 2)
        check_number("forgetting_factor", self.forgetting_factor, 0, 1, "(]", ("auto",))
        check_number("alpha", self.alpha, 0, 1, "[)")
        check_number("beta", self.beta, 0, words=(None,) if classifier else ())
        check_whole("min_samples_leaf", self.min_samples_leaf, 1, optional=True)
        check_published(self, "dynamic")
        automatic = self.forgetting_factor == "auto" and not self.published
        memories = MEMORIES["classification" if classifier else "regression"]
        lighter = automatic and not classifier
        if automatic:
            factors = [1.0 - 1.0 / memory for memory in memories[: self.n_particles]]
        else:
            factors = [1.0 if self.forgetting_factor == "auto" else float(self.forgetting_factor)]
        self._core = ParticleFilter(
            n_particles=self.n_particles,
            window=self.window,
            classifier=classifier,
            linear=linear,
            min_samples_leaf=self.min_samples_leaf or min_samples_leaf,
            alpha=self.alpha,
            beta=self.beta if self.beta is not None else PAPER_BETA if self.published else BETA,
            leaf_bonus=0.0 if self.published else leaf_bonus,
            decays=factors,
            prior_weight=COMPETING_PRIOR_WEIGHT if lighter else PRIOR_WEIGHT,
            published=self.published,
            seed=draw_seed(self.seed),
        )

        self._set_policy()

    def _set_policy(self) -> None:
        every = self.rejuvenate_every or 0
        self._core.set_policy(discard=self.discard, rejuvenate_every=every)

    def mutate(self, new_attrs: dict[str, typing.Any]) -> None:  # noqa: D102
        super().mutate(new_attrs)
        self._set_policy()

    mutate.__doc__ = TreeLearner.mutate.__doc__

    _sizes = {"n_particles": "n_particles"}  # noqa: RUF012

    @property
    def log_evidence(self) -> float:
        """Sum of the log predictive densities; differences are log Bayes factors."""
        return self._core.log_evidence

    @property
    def log_predictive(self) -> float:
        """Log predictive density (or probability) of the last target, before it was learned."""
        return self._core.log_predictive

    @property
    def forgetting_factors(self) -> dict[float, float]:
        """Forgetting factors and their probabilities; a fixed factor has probability 1."""
        return self._core.factor_weights()

    def active_samples(self) -> list[tuple[dict[typing.Any, typing.Any], typing.Any]]:
        """Return the samples in the window, in order of arrival.

        Returns
        -------
        Pairs of features and target, without missing features.
        """
        pool, schema = restore(self._core.state()["pool"]), self._schema
        samples = []
        for row, target in pool.rows():
            x = {
                schema.names[column]: schema.value_of(column, number)
                for column, number in row.items()
            }
            samples.append((x, self._target_of(target)))
        return samples

    @abc.abstractmethod
    def _target_of(self, number: float) -> typing.Any:
        """Return the target that a stored number encodes."""

    def relevance(self) -> dict[typing.Any, float]:
        """Return how much predictive variance each feature removes, averaged over the trees.

        For labels, entropy takes the place of the variance. The gain of a split is the variance of
        its region as one leaf minus the variances of its two children, each weighted by its
        samples. A feature with a relevance of 0 or less explains nothing.
        """
        return averaged(self._core, gains_of)

    def split_shares(self) -> dict[typing.Any, float]:
        """Return the share of each feature in the splits of a tree, averaged over trees."""
        return averaged(self._core, split_shares_of)


def averaged(core: ParticleFilter, of_tree: typing.Callable[[Nodes], Sums]) -> Sums:
    """Average over the particles what each says of the features."""
    trees = [core.nodes(tree) for tree in range(core.n_trees)]
    sums: Sums = dict.fromkeys((name for _, name in core.schema.features()), 0.0)
    for nodes, share in zip(trees, core.particle_shares(), strict=True):
        for name, number in of_tree(nodes).items():
            sums[name] += share * number
    return sums


def gains_of(nodes: Nodes) -> Sums:
    """By how much the splits of a tree decrease the spread, by feature and unit of weight."""
    gains: Sums = collections.defaultdict(float)
    for node in nodes:
        if node["left"] >= 0:
            below = nodes[node["left"]]["spread"] + nodes[node["right"]]["spread"]
            gains[node["feature"]] += (node["spread"] - below) / max(nodes[0]["weight"], 1e-300)
    return gains


def split_shares_of(nodes: Nodes) -> Sums:
    """Share of each feature in the splits of a tree."""
    counts = collections.Counter(node["feature"] for node in nodes if node["left"] >= 0)
    return {name: n / counts.total() for name, n in counts.items()}
