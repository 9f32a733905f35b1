"""Dynamic trees: Bayesian trees that every sample grows or prunes.

The learners of this module follow Anagnostopoulos and Gramacy (2013). Many trees, the particles,
approximate the posterior over trees. Each sample weighs the particles by how well they predicted
it, the particles are resampled, and every particle stays, grows or prunes at the leaf of the
sample. Splits are placed between the active samples of a window. A sample that leaves the window
retires: the conjugate prior of its leaf keeps its statistics, but no longer its position.
"""

from __future__ import annotations

import abc
import math
import typing

from ._core.dynamic import ParticleFilter
from ._estimator.classifier import TreeClassifier
from ._estimator.frames import Sample
from ._estimator.inspection import describe_classes, describe_number
from ._estimator.learner import TreeLearner
from ._estimator.parameters import (
    check_choice,
    check_number,
    check_parameter,
    check_switch,
    check_whole,
    draw_seed,
    plain_parameters,
)
from ._estimator.regressor import DistributionRegressor

if typing.TYPE_CHECKING:
    from ._core.batch import Reader
    from ._estimator.mixture import StudentMixture  # imports river.proba, which takes a second

__all__ = ["DynamicTreeClassifier", "DynamicTreeRegressor"]

# Weight of the leaves' prior in samples.
PRIOR_WEIGHT = 0.3
# The same for a regression whose memories compete: with a short memory, leaves hold few samples.
COMPETING_PRIOR_WEIGHT = 0.1
# Added to the log prior of a tree for each of its leaves, besides the terms of alpha and beta.
LEAF_BONUS = {"linear": 6.0, "constant": 0.0}
# Default `beta` of a classifier, and its default with `reference`. The default of 40 trees is more
# accurate with the former than 100 trees are with the latter.
BETA, PAPER_BETA = 0.5, 2.0
# Memories, in samples, whose forgetting factors compete with `forgetting_factor="auto"`.
MEMORIES = {
    "regression": (math.inf, 500.0, 250.0, 120.0, 60.0, 30.0),
    "classification": (math.inf, 500.0, 120.0, 30.0),
}
# "alm" computes variances with at least 2 + LEAST_DF degrees of freedom, as discarding does.
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


class _DynamicTree(TreeLearner):
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
    warm_up: int = 0  # of classifiers
    reference: bool
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
        check_whole("warm_up", self.warm_up, 0)
        check_switch("reference", self.reference)
        automatic = self.forgetting_factor == "auto"
        check_parameter(
            not (automatic and self.reference),
            "reference",
            True,
            "False when forgetting_factor is 'auto'",
        )
        memories = MEMORIES["classification" if classifier else "regression"]
        lighter = automatic and not classifier
        factors = [1.0 - 1.0 / memory for memory in memories[: self.n_particles]]
        self._core = ParticleFilter(
            n_particles=self.n_particles,
            window=self.window,
            classifier=classifier,
            linear=linear,
            min_samples_leaf=self.min_samples_leaf or min_samples_leaf,
            alpha=self.alpha,
            beta=self.beta if self.beta is not None else PAPER_BETA if self.reference else BETA,
            leaf_bonus=0.0 if self.reference else leaf_bonus,
            decays=factors if automatic else [float(self.forgetting_factor)],
            prior_weight=COMPETING_PRIOR_WEIGHT if lighter else PRIOR_WEIGHT,
            reference=self.reference,
            seed=draw_seed(self.seed),
            warm_up=self.warm_up,
        )

    def learn_one(self, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        self._rejuvenate_after(self._core.learn(x, y, w, self.discard))

    learn_one.__doc__ = TreeLearner.learn_one.__doc__

    def _learn_rows(self, reader: Reader) -> None:
        while reader.row < reader.n:
            self._rejuvenate_after(self._core.go_on(reader, self.discard, self.rejuvenate_every))

    def _rejuvenate_after(self, number: int | None) -> None:
        """Rejuvenate the particles if the sample with this number ends an interval."""
        if number and self.rejuvenate_every and number % self.rejuvenate_every == 0:
            self._core.rejuvenate()

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
        core = self._core
        samples = []
        for row, values, _, _ in core.active_points():
            x = {
                core.schema.names[column]: core.schema.value_of(column, number)
                for column, number in enumerate(row)
                if not math.isnan(number)
            }
            samples.append((x, self._target_of(values[-1])))
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
        return self._by_feature(self._core.relevance())

    def split_shares(self) -> dict[typing.Any, float]:
        """Return the share of each feature in the splits of a tree, averaged over trees."""
        return self._by_feature(self._core.split_shares())

    def _by_feature(self, rows: list[list[float]]) -> dict[typing.Any, float]:
        """Average numbers per particle and column into one number per feature."""
        sums: dict[typing.Any, float] = {}
        shares = self._core.shares()
        for column, name in enumerate(self._core.schema.names):
            if rows and column < len(rows[0]):
                mean = sum(row[column] * share for row, share in zip(rows, shares, strict=True))
                sums[name] = sums.get(name, 0.0) + mean
        return sums


class DynamicTreeRegressor(_DynamicTree, DistributionRegressor):
    """Dynamic trees for regression: Bayesian trees that every sample grows or prunes.

    A particle filter[^2] keeps many trees. Each sample weighs the trees by how well they predicted
    it, the trees are resampled, and every tree stays, grows or prunes at the leaf of the sample.
    Samples that leave the window retire into the conjugate prior of their leaf: predictions do not
    change, but splits can no longer be placed between these samples.[^1] Choose it for few or
    expensive data, for predictive intervals, or for streams that drift.

    Parameters
    ----------
    n_particles
        Number of trees. The paper uses 1000; time and memory grow with it.
    leaf
        `"linear"` for a linear model of the numeric features in each leaf, or `"constant"`.
    window
        Number of active samples. New splits are placed between active samples only.
    discard
        Which active sample retires when the window is full: `"oldest"`; `"random"`; `"alc"`, the
        one that reduces the predictive variance least; `"alm"`, the one with the most certain
        prediction. The last two are for streams without drift. `mutate` can change it.
    forgetting_factor
        Factor in (0, 1] by which each new sample multiplies the weights of the earlier ones. With
        `"auto"`, trees with a memory of all samples and of about 500, 250, 120, 60 and 30 samples
        compete. After every sample, the evidence decides the weight of each memory and its number
        of trees.
    rejuvenate_every
        Interval in samples. After each interval, `n_particles` new trees are grown on the window
        and compete with the old ones; half of the new trees inherit the retired samples. `None`:
        never. `mutate` can change it.
    alpha
        Prior probability that the root is split, in [0, 1).
    beta
        A node at depth D is split with prior probability `alpha * (1 + D) ** -beta`.
    min_samples_leaf
        Smallest number of active samples on either side of a split. `None`: 4; with linear leaves
        two more than the number of coefficients, but at most an eighth of the window; with linear
        leaves and `reference`, 4 plus two per feature.
    reference
        Behave like the R package dynaTree 1.2-17: flat priors; its scores of moves, which have
        2 / pi instead of 2 pi and treat retired samples differently; one cut per tree and step,
        uniform over the range of a feature; residual resampling; and forgetting that acts on the
        retired samples of a leaf at each retirement. The `forgetting_factor` must be a number.
    seed
        Random seed; `None` draws one.

    Notes
    -----
    The prior of a leaf weighs as much as 0.3 samples (0.1 where memories compete), distributed like
    all samples of the stream, and has one degree of freedom. A leaf with few samples therefore
    predicts like the global linear fit, and features and targets may have any scale. A linear leaf
    drops the slope of a feature whose distance from zero exceeds about 10,000 times its spread,
    such as seconds since 1970 within one hour; subtract an origin from such a feature.

    Where memories compete, 90 % intervals cover about 94 % on a stream that does not change. During
    the first samples, about three per coefficient, intervals are too narrow.

    The prior favours large trees beyond `alpha` and `beta`: each linear leaf multiplies the prior
    of its tree by e per coefficient, at most by exp(6). Both numbers and `min_samples_leaf` were
    chosen on Friedman's function and on the first 2,000 samples of the ten regression streams of
    `examples/benchmarks/dynamic/defaults.py`, so the scores there are not on unseen data. Retired
    samples count in the evidence of a tree like active ones. A retirement without forgetting
    therefore changes neither predictions nor the odds of staying and pruning.

    Linear leaves use the first 64 numeric features and replace a missing value by the mean of its
    feature. At a split, missing values go to the side that was drawn for them. Nominal features are
    split one value against the rest. Predictions stay within the range of the targets. New features
    may appear at any time, up to 16,384 columns.

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
    MAE: 0.311871

    The prediction can be a whole distribution:

    >>> x, y = next(iter(dataset))
    >>> prediction = model.predict_one(x, with_dist=True)
    >>> low, high = prediction.interval(0.9)
    >>> low < prediction.mean < high
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
        """Predict the target of a sample; 0 before the first sample is learned.

        Parameters
        ----------
        x
            Features.
        with_dist
            Return the whole predictive distribution instead of its mean. With a seed, its draws
            are determined by the seed, the learned samples and x.

        Returns
        -------
        The mean, or a distribution with `mean`, `interval(level)`, `quantile(p)`, `cdf(y)` and
        `sample()`.
        """
        if with_dist:
            from ._estimator.mixture import StudentMixture, seed_of

            components = self._core.mixture(x)
            return StudentMixture(components, seed=seed_of(components, self.seed))
        return self._core.predict_number(x)

    def acquisition_one(self, x: Sample, criterion: str = "alc") -> float:
        """Return the value of learning the target of a sample; higher is more valuable.

        Parameters
        ----------
        x
            Features.
        criterion
            `"alc"`: reduction of the predictive variance, averaged over the space of the features.
            `"alm"`: the predictive variance at x, with at least 2.1 degrees of freedom (with 2 or
            fewer the variance is infinite). Infinite before the first samples.
            `"ei"`: expected improvement below the lowest target so far.

        Raises
        ------
        ValueError
            If there is no such criterion.
        """
        check_choice("criterion", criterion, "alc", "alm", "ei")
        if criterion == "alc":
            return self._core.alc_at(x)
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
            slopes = node["coefficients"]
            node["coefficients"] = {
                self._schema.names[column]: slope for column, slope in slopes.items()
            }
            # In words, the part of the prediction that the mean of the node does not contain.
            node["linear_model"] = "linear model" if slopes and node["weight"] > 0.0 else ""
        return nodes

    def _describe(self, node: dict[str, typing.Any]) -> str:
        """Return the mean of the targets in a node, and the linear model with its deviation."""
        if not node["linear_model"] or not node["coefficients"]:
            return describe_number(node)
        noise = node["residual_variance"] ** 0.5
        return f"{node['values'][0]:.6g} (sd {noise:.3g} about the fit) + linear model"

    def _describe_answer(self, leaf: dict[str, typing.Any], tree: int, x: Sample) -> str:
        if not leaf["linear_model"]:
            return self._describe(leaf)
        return f"{self._describe(leaf)} = {self._core.number_of_tree(tree, x):.6g}"


class DynamicTreeClassifier(_DynamicTree, TreeClassifier):
    """Dynamic trees for classification: Bayesian trees that every sample grows or prunes.

    A particle filter[^2] keeps many trees. Each sample weighs the trees by the probability that
    they gave to its label, the trees are resampled, and every tree stays, grows or prunes at the
    leaf of the sample. Samples that leave the window retire into the Dirichlet prior of their
    leaf: no split can be placed between them, but they continue to count in predictions.[^1]
    Choose it for calibrated probabilities, for few data, or for streams that drift.

    Parameters
    ----------
    n_particles
        Number of trees. The paper uses 1000; time and memory grow with it.
    leaf
        `"multinomial"` for one set of class probabilities per leaf, or `"logistic"` for a logistic
        regression on the numeric features in each leaf: linear boundaries, at a higher cost.
    window
        Number of active samples. New splits are placed between active samples only.
    discard
        Which active sample retires when the window is full: `"oldest"`; `"random"`; `"entropy"`,
        the one whose predicted label has the smallest entropy (for streams without drift). `mutate`
        can change it.
    forgetting_factor
        Factor in (0, 1] by which each new sample multiplies the weights of the earlier ones. With
        `"auto"`, trees with a memory of all samples and of about 500, 120 and 30 samples compete.
        After every sample, the evidence decides the weight of each memory and its number of trees.
    rejuvenate_every
        Interval in samples. After each interval, `n_particles` new trees are grown on the window
        and compete with the old ones; half of the new trees inherit the retired samples. `None`:
        never. It pays off on streams that drift fast. `mutate` can change it.
    alpha
        Prior probability that the root is split, in [0, 1).
    beta
        A node at depth D is split with prior probability `alpha * (1 + D) ** -beta`. `None`: 0.5,
        or with `reference` 2 as in the paper.
    min_samples_leaf
        Smallest number of active samples on either side of a split; `None`: 1.
    warm_up
        Number of samples at the start during which predictions also draw on naive Bayes and on the
        latest classes. With 0, and with `reference`, the trees always predict alone.
    reference
        Behave like the R package dynaTree 1.2-17: one cut per tree and step, uniform over the range
        of a feature, and forgetting that acts on the retired samples of a leaf at each retirement.
        The `forgetting_factor` must be a number.
    seed
        Random seed; `None` draws one.

    Notes
    -----
    The prior of the class probabilities in a leaf is Dirichlet(1/K, ..., 1/K) for the K labels seen
    so far. At a split, missing values go to the side that was drawn for them; nominal features are
    split one value against the rest. New features and new labels may appear at any time, up to
    16,384 columns and 1,024 labels.

    Logistic leaves split and merge like multinomial ones, but a logistic regression on the active
    samples of the leaf makes the predictions and the weights of the trees. Its prior is a normal
    distribution around the regression on the whole window, from which the leaf takes one step of
    Newton's method; a small leaf therefore predicts like the window. The regression uses the first
    64 numeric features, scaled over the window; with more than two classes there is one regression
    for each class against the rest. Retired samples influence the trees but not the slopes. Gains
    and costs are in `docs/results/findings/dynamic_trees_extras.md`.

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
    Accuracy: 89.11%
    """

    @plain_parameters
    def __init__(
        self,
        n_particles: int = 40,
        leaf: str = "multinomial",
        window: int = 500,
        discard: str = "oldest",
        forgetting_factor: float | str = "auto",
        rejuvenate_every: int | None = None,
        alpha: float = 0.95,
        beta: float | None = None,
        min_samples_leaf: int | None = None,
        warm_up: int = 500,
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
        self.warm_up = warm_up
        self.reference = reference
        self.seed = seed
        check_choice("leaf", leaf, "multinomial", "logistic")
        check_switch("reference", reference)
        check_parameter(
            not (reference and leaf == "logistic"), "reference", True, "False with logistic leaves"
        )
        self._begin(True, leaf == "logistic", 1, 0.0)

    def acquisition_one(self, x: Sample, criterion: str = "entropy") -> float:
        """Return the value of learning the label of a sample; higher is more valuable.

        `river.active.EntropySampler` uses the same measure.

        Parameters
        ----------
        x
            Features.
        criterion
            `"entropy"`: the entropy of the mean class probabilities, in nats. It includes the
            uncertainty of the leaves and the disagreement of the trees.

        Raises
        ------
        ValueError
            If there is no such criterion.
        """
        check_choice("criterion", criterion, "entropy")
        probabilities = self.predict_proba_one(x).values()
        return -sum(p * math.log(p) for p in probabilities if p > 0.0)

    def _describe_answer(self, leaf: dict[str, typing.Any], tree: int, x: Sample) -> str:
        if self.leaf == "multinomial" or leaf["weight"] <= 0.0:
            return self._describe(leaf)
        chances = self._core.chances_of_tree(tree, x)
        answer = describe_classes({"weight": sum(chances), "values": chances}, self._labels())
        return f"{self._describe(leaf)}, by its logistic model {answer}"

    def _target_of(self, number: float) -> typing.Any:
        return self._core.labels.labels[int(number)]
