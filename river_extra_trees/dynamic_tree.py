"""Dynamic trees: Bayesian trees that are grown and pruned by every sample.

The learners of this module follow Anagnostopoulos and Gramacy (2013). A cloud of trees, the
particles, represents what is believed of the stream. Each sample weighs the particles by how well
they predicted it, the cloud is resampled, and every particle stays, grows or prunes at the leaf of
the sample. A window of active samples feeds the growth; a sample that leaves the window retires
into the conjugate prior of its leaf, so that nothing but its place is forgotten.
"""

from __future__ import annotations

import abc
import math
import typing
import zlib

import numpy as np

from ._core.dynamic import Cloud
from ._core.dynamic.discard import Survey
from ._core.dynamic.relevance import relevance
from ._estimator.frames import Sample
from ._estimator.inspection import describe_number, name_node
from ._estimator.learner import TreeLearner
from ._estimator.learner import TreeClassifier, TreeRegressor
from ._estimator.parameters import (
    check_choice,
    check_number,
    check_parameter,
    check_switch,
    check_whole,
    draw_seed,
    plain_parameters,
)

if typing.TYPE_CHECKING:
    from ._estimator.mixture import StudentMixture  # imports river.proba, which takes a second

__all__ = ["DynamicTreeClassifier", "DynamicTreeRegressor"]

# Weight of the leaves' prior in samples.
PRIOR_WEIGHT = 0.3
# What every leaf adds to the log prior of a tree, beside alpha and beta.
LEAF_BONUS = {"linear": 6.0, "constant": 0.0}
# Forgetting factors that compete when it is "auto": those of these memories in samples.
MEMORIES = (math.inf, 500.0, 120.0, 30.0)
# Degrees of freedom beyond two that "alm" computes a variance with at least, as discarding does.
LEAST_DF = 0.1


def variance_of(components: list[tuple[float, float, float, float]]) -> float:
    """Variance of a mixture of Student-t distributions: means, squared scales, df, weights."""
    if any(df <= 0.0 for _, _, df, _ in components):
        return math.inf
    total = sum(weight for *_, weight in components)
    mean = sum(weight * mean for mean, _, _, weight in components) / total
    inside = sum(
        weight * scale2 * df / max(LEAST_DF, df - 2.0) for _, scale2, df, weight in components
    )
    between = sum(weight * (each - mean) ** 2 for each, _, _, weight in components)
    return (inside + between) / total


def seed_of(components: list[tuple[float, float, float, float]], seed: int | None) -> int | None:
    """Of the draws from an answer: other answers of a seeded model draw other numbers."""
    if seed is None:
        return None
    return zlib.crc32(np.array(components).tobytes() + str(seed).encode())


class _DynamicTree(TreeLearner):
    """What both learners share. Subclasses set their parameters and call `_begin`."""

    _core: Cloud

    n_particles: int
    window: int
    discard: str
    forgetting_factor: float | str
    rejuvenate_every: int | None
    alpha: float
    beta: float
    min_samples_leaf: int | None
    reference: bool
    seed: int | None
    _more_columns: typing.ClassVar[tuple[str, ...]] = ("active", "retired")

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
        check_number("beta", self.beta, 0)
        check_whole("min_samples_leaf", self.min_samples_leaf, 1, optional=True)
        check_switch("reference", self.reference)
        automatic = self.forgetting_factor == "auto"
        check_parameter(
            not (automatic and self.reference), "reference", True, "False when forgetting is 'auto'"
        )
        factors = [1.0 - 1.0 / memory for memory in MEMORIES[: self.n_particles]]
        self._core = Cloud(
            self.n_particles,
            self.window,
            classifier,
            linear,
            self.min_samples_leaf or min_samples_leaf,
            self.alpha,
            self.beta,
            0.0 if self.reference else leaf_bonus,
            factors if automatic else [float(self.forgetting_factor)],
            PRIOR_WEIGHT,
            self.reference,
            self.reference,
            draw_seed(self.seed),
        )

    def learn_one(self, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        """Learn a sample, see `TreeLearner`."""
        self._core.learn(x, y, w, self)

    def _discarded(self) -> int:
        """The slot of the active sample that is of least use."""
        if self.discard == "oldest":
            return self._core.oldest()
        if self.discard == "random":
            return self._core.random()
        return Survey(self._core).least_useful(self.discard)

    _sizes = {"n_particles": "n_particles"}  # noqa: RUF012

    @property
    def log_evidence(self) -> float:
        """Sum of the one-step log predictive densities, the log of a Bayes factor's numerator."""
        return self._core.log_evidence

    @property
    def log_predictive(self) -> float:
        """Log predictive density (or probability) of the last target, before it was learned."""
        return self._core.log_predictive

    @property
    def forgetting_factors(self) -> dict[float, float]:
        """Forgetting factors and the probability of each: of one, 1, unless it is `"auto"`."""
        return self._core.beliefs()

    def active_samples(self) -> list[tuple[dict[typing.Any, typing.Any], typing.Any]]:
        """The samples in the window, from which new splits can be made, in order of arrival.

        Returns
        -------
        Pairs of features, without those that are missing, and target.
        """
        cloud = self._core
        samples = []
        for slot in cloud.pool.slots():
            row, values, _, _ = cloud.pool.point(slot)
            x = {
                cloud.schema.names[column]: cloud.schema.value_of(column, number)
                for column, number in enumerate(row)
                if not math.isnan(number)
            }
            samples.append((x, self._target_of(values[-1])))
        return samples

    @abc.abstractmethod
    def _target_of(self, number: float) -> typing.Any:
        """The target that a number in the pool stands for."""

    def relevance(self) -> dict[typing.Any, float]:
        """Mean over the particles of the predictive variance (entropy) that each feature removes.

        A split removes what the region would vary as one leaf less what its two sides vary as one
        leaf each, weighed by their samples. Features of relevance 0 or less explain nothing.
        """
        return self._by_feature(relevance(self._core))

    def split_shares(self) -> dict[typing.Any, float]:
        """Mean over the particles of the share of each feature in a tree's splits."""
        return self._by_feature(self._core.split_shares())

    def _by_feature(self, rows: list[list[float]]) -> dict[typing.Any, float]:
        """Average numbers per particle and column into numbers per feature."""
        sums: dict[typing.Any, float] = {}
        shares = self._core.shares()
        for column, name in enumerate(self._core.schema.names):
            if rows and column < len(rows[0]):
                mean = sum(row[column] * share for row, share in zip(rows, shares, strict=True))
                sums[name] = sums.get(name, 0.0) + mean
        return sums

    @property
    def _n_trees(self) -> int:
        return self.n_particles

    def _nodes(self, tree: int) -> list[dict[str, typing.Any]]:
        return [name_node(node, self._schema) for node in self._core.describe(tree)]

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        leaves, _ = self._core.tree_statistics()
        return 2 * sum(leaves) - len(leaves)

    @property
    def height(self) -> int:
        """Number of splits on the longest way from a root to a leaf."""
        return max(self._core.tree_statistics()[1])


class DynamicTreeRegressor(_DynamicTree, TreeRegressor):
    """Dynamic trees for regression: Bayesian trees that every sample grows and prunes.

    A cloud of trees is kept by particle learning. Each sample weighs the trees by how well they
    predicted it, the cloud is resampled, and every tree stays, grows or prunes at the leaf of the
    sample. Samples that leave the window retire into the conjugate prior of their leaf: the answer
    does not change, but no split can be placed between them any more.[^1] Choose it where data are
    few or costly, where the answer needs an honest uncertainty, or where the stream drifts.

    Parameters
    ----------
    n_particles
        Number of trees. The paper uses 1000; time and memory grow with it.
    leaf
        `"linear"` for a linear model of the numeric features in each leaf, or `"constant"`.
    window
        Number of active samples, from which new splits can be made.
    discard
        Which active sample retires when the window is full: `"oldest"`; `"random"`; `"alc"`, the
        one that reduces the predictive variance least; `"alm"`, the one that is predicted most
        surely. The last two are for streams without drift.
    forgetting_factor
        What is left of a sample's weight after each later one, in (0, 1]; or `"auto"`: trees that
        remember all samples, about 500, 120 and 30 compete, and evidence decides at every sample
        how much each memory counts and how many trees it has.
    rejuvenate_every
        Number of samples after which as many new trees, grown from the window, compete with the
        old ones; half of them inherit what the old ones have retired. `None` for never.
    alpha
        Prior probability that the root is split, in [0, 1).
    beta
        A node at depth D is split with prior probability `alpha * (1 + D) ** -beta`.
    min_samples_leaf
        Active samples that a split leaves on both sides. `None`: 4; with linear leaves two more
        than there are coefficients, but no more than an eighth of the window; with linear leaves
        and `reference` 4 and two per feature.
    reference
        Behave as the R package dynaTree 1.2-17: flat priors, its scores of moves (which have 2 / pi
        where 2 pi is meant and treat retired samples differently), one cut per tree and step,
        uniform over the range of a feature, residual resampling, and forgetting that acts on the
        retired samples of a leaf at each retirement. Needs a `forgetting_factor` that is a number.
    seed
        Random seed; `None` draws one.

    Notes
    -----
    A leaf's prior is worth a third of a sample that looks like all samples of the stream, with one
    degree of freedom: a leaf that knows little answers like the overall linear fit, and features
    and targets may have any scale. Linear leaves lose slopes of features that lie further from zero
    than some 10,000 times their spread, such as the seconds since 1970 within an hour: subtract an
    origin from those. Over the first samples, some three per coefficient, intervals are still too
    narrow. Large trees are favoured beyond what `alpha` and `beta` can say: every linear leaf
    multiplies the prior of its tree by e per coefficient, by exp(6) at most. Both numbers and
    `min_samples_leaf` were chosen on Friedman's function and on the first 2,000 samples of the ten
    regression streams of `examples/benchmarks/dynamic_tree.py`, so that the scores there are no
    comparison on unseen data. Retired samples count in the evidence of a tree like active ones, so
    that a retirement without forgetting changes neither predictions nor the odds of staying and
    pruning.

    Linear leaves use the numeric features (the first 64); a missing value is replaced by the mean
    of its feature there, and goes to the side of a split that was drawn for missing values. Nominal
    features are split one value against the rest. No answer lies outside the range of the targets
    seen. New features may appear at any time, up to 16,384 columns.

    References
    ----------
    [^1]: Anagnostopoulos, C. and Gramacy, R.B., 2013. Information-theoretic data discarding for
        dynamic trees on data streams. Entropy, 15(12), pp.5510-5535.
    [^2]: Taddy, M.A., Gramacy, R.B. and Polson, N.G., 2011. Dynamic trees for learning and design.
        Journal of the American Statistical Association, 106(493), pp.109-123.

    Examples
    --------

    >>> import river_extra_trees as ret
    >>> from river import datasets, evaluate, metrics

    >>> dataset = datasets.TrumpApproval()
    >>> model = ret.DynamicTreeRegressor(seed=42)
    >>> metric = metrics.MAE()
    >>> evaluate.progressive_val_score(dataset, model, metric)
    MAE: 0.305878

    The answer can be a whole distribution:

    >>> x, y = next(iter(dataset))
    >>> answer = model.predict_one(x, with_dist=True)
    >>> low, high = answer.interval(0.9)
    >>> low < answer.mean < high
    True
    """

    @plain_parameters
    def __init__(
        self,
        n_particles: int = 100,
        leaf: str = "linear",
        window: int = 500,
        discard: str = "oldest",
        forgetting_factor: float | str = "auto",
        rejuvenate_every: int | None = None,
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
        self.rejuvenate_every = rejuvenate_every
        self.alpha = alpha
        self.beta = beta
        self.min_samples_leaf = min_samples_leaf
        self.reference = reference
        self.seed = seed
        check_choice("leaf", leaf, "linear", "constant")
        self._begin(False, leaf == "linear", 0, LEAF_BONUS[leaf])

    @typing.overload
    def predict_one(self, x: Sample, with_dist: typing.Literal[False] = False) -> float: ...

    @typing.overload
    def predict_one(self, x: Sample, with_dist: typing.Literal[True]) -> StudentMixture: ...

    def predict_one(self, x: Sample, with_dist: bool = False) -> float | StudentMixture:
        """Predict the target of a sample: 0 before the first sample was learned.

        Parameters
        ----------
        x
            Features.
        with_dist
            Return the whole predictive distribution in place of its mean. With a seed, its draws
            follow from the seed, what was learned and x.
        """
        if with_dist:
            from ._estimator.mixture import StudentMixture

            components = self._core.mixture(x)
            return StudentMixture(components, seed=seed_of(components, self.seed))
        return self._core.predict_number(x)

    def acquisition_one(self, x: Sample, criterion: str = "alc") -> float:
        """Say how much there is to gain from the target of a sample: more is better.

        Parameters
        ----------
        x
            Features.
        criterion
            `"alc"`: fall of the predictive variance, averaged over the features' space.
            `"alm"`: the predictive variance at x; where a leaf has less than 2.1 degrees of
            freedom (with 2 there is no variance), what its squares say with 2.1. Infinite at first.
            `"ei"`: expected improvement below the lowest target seen.

        Raises
        ------
        ValueError
            If the criterion has another name.
        """
        check_choice("criterion", criterion, "alc", "alm", "ei")
        if criterion == "alc":
            return Survey(self._core).alc_at(x)
        components = self._core.mixture(x)
        if criterion == "alm":
            return variance_of(components)
        from ._estimator.mixture import StudentMixture

        return StudentMixture(components).expected_improvement(self._core.lowest)

    def _target_of(self, number: float) -> typing.Any:
        return number

    _more_columns: typing.ClassVar[tuple[str, ...]] = (
        *_DynamicTree._more_columns,
        "degrees_of_freedom",
        "residual_variance",
        "intercept",
        "coefficients",
    )

    def _nodes(self, tree: int) -> list[dict[str, typing.Any]]:
        nodes = super()._nodes(tree)
        for node in nodes:
            node["coefficients"] = {
                self._schema.names[column]: slope for column, slope in node["coefficients"].items()
            }
        return nodes

    def _describe(self, node: dict[str, typing.Any]) -> str:
        """The mean of the targets in a node and the standard deviation about its fit."""
        if node["weight"] <= 0.0 or not node["coefficients"]:
            return describe_number(node)
        return f"{node['values'][0]:.6g} (sd {node['residual_variance'] ** 0.5:.3g} about the fit)"


class DynamicTreeClassifier(_DynamicTree, TreeClassifier):
    """Dynamic trees for classification: Bayesian trees that every sample grows and prunes.

    A cloud of trees is kept by particle learning. Each sample weighs the trees by how probable they
    found its label, the cloud is resampled, and every tree stays, grows or prunes at the leaf of
    the sample. Samples that leave the window retire into the Dirichlet prior of their leaf.[^1]
    Choose it where calibrated probabilities matter, data are few, or the stream drifts.

    Parameters
    ----------
    n_particles
        Number of trees. The paper uses 1000; time and memory grow with it.
    leaf
        `"multinomial"` for one set of class probabilities per leaf, or `"logistic"` for a logistic
        regression on the numeric features in each leaf: linear boundaries, at a higher cost.
    window
        Number of active samples, from which new splits can be made.
    discard
        Which active sample retires when the window is full: `"oldest"`; `"random"`; `"entropy"`,
        the one whose label is predicted most surely (for streams without drift).
    forgetting_factor
        What is left of a sample's weight after each later one, in (0, 1]; or `"auto"`: trees that
        remember all samples, about 500, 120 and 30 compete, and evidence decides at every sample
        how much each memory counts and how many trees it has.
    rejuvenate_every
        Number of samples after which as many new trees, grown from the window, compete with the
        old ones; half of them inherit what the old ones have retired. `None` for never. Worth its
        time on streams that drift fast.
    alpha
        Prior probability that the root is split, in [0, 1).
    beta
        A node at depth D is split with prior probability `alpha * (1 + D) ** -beta`.
    min_samples_leaf
        Active samples that a split leaves on both sides; `None` for 1.
    reference
        Behave as the R package dynaTree 1.2-17: one cut per tree and step, uniform over the range
        of a feature, and forgetting that acts on the retired samples of a leaf at each retirement.
        Needs a `forgetting_factor` that is a number.
    seed
        Random seed; `None` draws one.

    Notes
    -----
    The prior of the class probabilities in a leaf is Dirichlet(1/K, ..., 1/K) for K labels seen so
    far. Missing values go to the side of a split that was drawn for them; nominal features are
    split one value against the rest. New features and new labels may appear at any time, up to
    16,384 columns and 1,024 labels.

    With logistic leaves the trees split and merge as with multinomial ones, but answer, and are
    weighed, by a logistic regression on the active samples of the leaf. Its prior is a normal
    distribution about the regression on the whole window, so that a small leaf answers like the
    window; the leaf takes one step of Newton's method from there. It uses the first 64 numeric
    features, scaled over the window, and more than two classes each against the rest. Retired
    samples shape the trees but not the slopes. `docs/findings/dynamic_trees_extras.md` has what it
    gains and what it costs.

    References
    ----------
    [^1]: Anagnostopoulos, C. and Gramacy, R.B., 2013. Information-theoretic data discarding for
        dynamic trees on data streams. Entropy, 15(12), pp.5510-5535.
    [^2]: Taddy, M.A., Gramacy, R.B. and Polson, N.G., 2011. Dynamic trees for learning and design.
        Journal of the American Statistical Association, 106(493), pp.109-123.

    Examples
    --------

    >>> import river_extra_trees as ret
    >>> from river import datasets, evaluate, metrics

    >>> dataset = datasets.Phishing()
    >>> model = ret.DynamicTreeClassifier(seed=42)
    >>> metric = metrics.Accuracy()
    >>> evaluate.progressive_val_score(dataset, model, metric)
    Accuracy: 88.31%
    """

    @plain_parameters
    def __init__(
        self,
        n_particles: int = 100,
        leaf: str = "multinomial",
        window: int = 500,
        discard: str = "oldest",
        forgetting_factor: float | str = "auto",
        rejuvenate_every: int | None = None,
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
        self.rejuvenate_every = rejuvenate_every
        self.alpha = alpha
        self.beta = beta
        self.min_samples_leaf = min_samples_leaf
        self.reference = reference
        self.seed = seed
        check_choice("leaf", leaf, "multinomial", "logistic")
        check_switch("reference", reference)
        check_parameter(
            not (reference and leaf == "logistic"), "reference", True, "False with logistic leaves"
        )
        self._begin(True, leaf == "logistic", 1, 0.0)

    def acquisition_one(self, x: Sample, criterion: str = "entropy") -> float:
        """Say how much there is to gain from the label of a sample: more is better.

        `river.active.EntropySampler` asks for labels by the same measure.

        Parameters
        ----------
        x
            Features.
        criterion
            `"entropy"`: of the mean of the trees' class probabilities, in nats. It counts what the
            leaves are unsure of and what the trees disagree about.

        Raises
        ------
        ValueError
            If the criterion has another name.
        """
        check_choice("criterion", criterion, "entropy")
        probabilities = self.predict_proba_one(x).values()
        return -sum(p * math.log(p) for p in probabilities if p > 0.0)

    def _target_of(self, number: float) -> typing.Any:
        return self._core.labels.labels[int(number)]
