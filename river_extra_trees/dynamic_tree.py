"""Dynamic trees: Bayesian trees that are grown and pruned by every sample.

The learners of this module follow Anagnostopoulos and Gramacy (2013). A cloud of trees, the
particles, represents what is believed of the stream. Each sample weighs the particles by how well
they predicted it, the cloud is resampled, and every particle stays, grows or prunes at the leaf of
the sample. A window of active samples feeds the growth; a sample that leaves the window retires
into the conjugate prior of its leaf, so that nothing but its place is forgotten.
"""

from __future__ import annotations

import typing

from ._base import TreeClassifier, TreeRegressor, check_parameter, draw_seed
from ._core.cloud import Cloud
from ._core.discard import Survey
from ._core.schema import Schema
from ._inspection import Sample, TreeLearner, describe_classes, describe_number, name_node
from ._mixture import StudentMixture

__all__ = ["DynamicTreeClassifier", "DynamicTreeRegressor"]

# Weight of the leaves' prior in samples. Chosen with the ten streams of examples/benchmarks.
PRIOR_WEIGHT = 0.3
# Forgetting factors that particles choose from when it is "auto": these memories in samples.
MEMORIES = (30.0, 80.0, 200.0, 500.0, 2000.0)


class _DynamicTree(TreeLearner):
    """What both learners share. Subclasses set their parameters and call `_begin`."""

    n_particles: int
    window: int
    discard: str
    forgetting_factor: float | str
    alpha: float
    beta: float
    min_samples_leaf: int | None
    reference: bool
    seed: int | None

    def _begin(self, classifier: bool, linear: bool, min_samples_leaf: int) -> None:
        check_parameter(self.n_particles >= 1, "n_particles", self.n_particles, "at least 1")
        check_parameter(self.window >= 2, "window", self.window, "at least 2")
        automatic = self.forgetting_factor == "auto"
        check_parameter(
            automatic or 0.0 < float(self.forgetting_factor) <= 1.0,
            "forgetting_factor",
            self.forgetting_factor,
            "in (0, 1] or 'auto'",
        )
        check_parameter(
            not (automatic and self.reference), "reference", True, "False when forgetting is 'auto'"
        )
        automatic_factors = [1.0 - 1.0 / memory for memory in MEMORIES] + [1.0]
        check_parameter(0.0 <= self.alpha < 1.0, "alpha", self.alpha, "in [0, 1)")
        check_parameter(self.beta >= 0.0, "beta", self.beta, "at least 0")
        check_parameter(
            self.min_samples_leaf is None or self.min_samples_leaf >= 1,
            "min_samples_leaf",
            self.min_samples_leaf,
            "None or at least 1",
        )
        self._cloud = Cloud(
            self.n_particles,
            self.window,
            classifier,
            linear,
            self.min_samples_leaf or min_samples_leaf,
            self.alpha,
            self.beta,
            automatic_factors if automatic else [float(self.forgetting_factor)],
            PRIOR_WEIGHT,
            self.reference,
            self.reference,
            draw_seed(self.seed),
        )

    def learn_one(self, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        """Learn a sample.

        Parameters
        ----------
        x
            Features. Numbers are numeric, other hashable values nominal; absent, `None` and NaN
            values are missing.
        y
            The target.
        w
            Weight of the sample; 0 learns nothing.

        Raises
        ------
        ValueError, TypeError
            If a feature is infinite or neither a number nor hashable, the target is missing, not
            finite or not hashable, or the weight is negative or not finite. The message names it,
            and nothing is learned.
        """
        cloud = self._cloud
        if cloud.pool.size >= self.window:
            self._check_one(x, y, w)
            if w > 0:
                cloud.retire(self._discarded())
        cloud.learn(x, y, w)

    def _discarded(self) -> int:
        """The slot of the active sample that is of least use."""
        if self.discard == "oldest":
            return self._cloud.oldest()
        if self.discard == "random":
            return self._cloud.random()
        return Survey(self._cloud).least_useful(self.discard)

    def _check_one(self, x: Sample, y: typing.Any, w: typing.Any) -> None:
        self._cloud.validate(x, y, w)

    @property
    def log_evidence(self) -> float:
        """Sum of the one-step log predictive densities, the log of a Bayes factor's numerator."""
        return self._cloud.log_evidence

    @property
    def _n_trees(self) -> int:
        return self.n_particles

    def _nodes(self, tree: int) -> list[dict[str, typing.Any]]:
        return [name_node(node, self._schema) for node in self._cloud.describe(tree)]

    @property
    def _schema(self) -> Schema:
        return self._cloud.schema

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        leaves, _ = self._cloud.tree_statistics()
        return 2 * sum(leaves) - len(leaves)

    @property
    def height(self) -> int:
        """Number of splits on the longest way from a root to a leaf."""
        return max(self._cloud.tree_statistics()[1])


class DynamicTreeRegressor(_DynamicTree, TreeRegressor):
    """Dynamic trees for regression."""

    def __init__(
        self,
        n_particles: int = 100,
        leaf: str = "linear",
        window: int = 500,
        discard: str = "oldest",
        forgetting_factor: float | str = 1.0,
        alpha: float = 0.95,
        beta: float = 2.0,
        min_samples_leaf: int | None = None,
        reference: bool = False,
        seed: int | None = None,
    ) -> None:
        self.n_particles = n_particles
        self.leaf = leaf
        self.window = window
        self.discard = discard
        self.forgetting_factor = forgetting_factor
        self.alpha = alpha
        self.beta = beta
        self.min_samples_leaf = min_samples_leaf
        self.reference = reference
        self.seed = seed
        check_parameter(leaf in ("linear", "constant"), "leaf", leaf, "'linear' or 'constant'")
        check_parameter(
            discard in ("oldest", "random", "alc", "alm"),
            "discard",
            discard,
            "'oldest', 'random', 'alc' or 'alm'",
        )
        self._begin(False, leaf == "linear", 4)

    def predict_one(self, x: Sample, with_dist: bool = False) -> float | StudentMixture:
        """Predict the target of a sample: 0 before the first sample was learned.

        Parameters
        ----------
        x
            Features.
        with_dist
            Return the whole predictive distribution in place of its mean.
        """
        if with_dist:
            return StudentMixture(self._cloud.mixture(x), seed=self.seed)
        return self._cloud.predict(x)

    def acquisition_one(self, x: Sample, criterion: str = "alc") -> float:
        """Say how much there is to gain from the target of a sample: more is better.

        Parameters
        ----------
        x
            Features.
        criterion
            `"alc"`: fall of the predictive variance, averaged over the features' space.
            `"alm"`: the predictive variance at x. `"ei"`: expected improvement below the lowest
            target seen.
        """
        check_parameter(
            criterion in ("alc", "alm", "ei"), "criterion", criterion, "'alc', 'alm' or 'ei'"
        )
        if criterion == "alc":
            return Survey(self._cloud).alc_at(x)
        distribution = StudentMixture(self._cloud.mixture(x))
        if criterion == "alm":
            return distribution.variance
        return distribution.expected_improvement(self._cloud.lowest)

    def _describe(self, node: dict[str, typing.Any]) -> str:
        return describe_number(node)


class DynamicTreeClassifier(_DynamicTree, TreeClassifier):
    """Dynamic trees for classification."""

    def __init__(
        self,
        n_particles: int = 100,
        window: int = 500,
        discard: str = "oldest",
        forgetting_factor: float | str = 1.0,
        alpha: float = 0.95,
        beta: float = 2.0,
        min_samples_leaf: int | None = None,
        reference: bool = False,
        seed: int | None = None,
    ) -> None:
        self.n_particles = n_particles
        self.window = window
        self.discard = discard
        self.forgetting_factor = forgetting_factor
        self.alpha = alpha
        self.beta = beta
        self.min_samples_leaf = min_samples_leaf
        self.reference = reference
        self.seed = seed
        check_parameter(
            discard in ("oldest", "random", "entropy"),
            "discard",
            discard,
            "'oldest', 'random' or 'entropy'",
        )
        self._begin(True, False, 1)

    def predict_proba_one(self, x: Sample) -> dict[typing.Any, float]:
        """Predict the probability of every label learned so far.

        Parameters
        ----------
        x
            Features.
        """
        return self._cloud.probabilities(x)

    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the label of a sample: `None` before the first sample was learned.

        Parameters
        ----------
        x
            Features.
        """
        probabilities = self._cloud.probabilities(x)
        return max(probabilities, key=probabilities.__getitem__) if probabilities else None

    def _describe(self, node: dict[str, typing.Any]) -> str:
        return describe_classes(node, self._cloud.labels.labels)
