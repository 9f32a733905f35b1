"""Dynamic trees: Bayesian trees that every sample grows or prunes.

The learners of this module follow Anagnostopoulos and Gramacy (2013). Many trees, the particles,
approximate the posterior over trees. Each sample weighs the particles by how well they predicted
it, the particles are resampled, and every particle stays, grows or prunes at the leaf of the
sample. Splits are placed between the active samples of a window. A sample that leaves the window
retires: the conjugate prior of its leaf keeps its statistics, but no longer its position.
"""

from __future__ import annotations

import math
import typing

from ._estimator.classifier import TreeClassifier
from ._estimator.frames import Sample
from ._estimator.inspection import Node, describe_number
from ._estimator.parameters import check_choice, plain_parameters
from ._estimator.regressor import DistributionRegressor
from .dynamic_learner import DynamicTreeLearner

__all__ = ["DynamicTreeClassifier", "DynamicTreeRegressor"]

# Added to the log prior of a tree for each of its leaves, besides the terms of alpha and beta.
LEAF_BONUS = {"linear": 6.0, "constant": 0.0}
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


class DynamicTreeRegressor(DynamicTreeLearner, DistributionRegressor):
    r"""Dynamic trees for regression: Bayesian trees that every sample grows or prunes.

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
        Largest number of active samples. New splits are placed between active samples only. A
        memory of m samples, with the forgetting factor 1 - 1 / m, has at most 3 m of them; with
        `published`, as many as the others.
    discard
        Which active sample retires when the window is full: `"oldest"`; `"random"`; `"alc"`, the
        one that reduces the predictive variance least; `"alm"`, the one with the most certain
        prediction. The last two are for streams without drift; `"alm"` is not one of `published`.
        `mutate` can change it.
    forgetting_factor
        Factor in (0, 1] by which each new sample multiplies the weights of the earlier ones. With
        `"auto"`, trees with a memory of all samples and of about 500, 250, 120, 60 and 30 samples
        compete. After every sample, the evidence decides the weight of each memory and its number
        of trees. With `published`, `"auto"` is 1, as in the published program.
    rejuvenate_every
        Interval in samples. After each interval, `n_particles` new trees are grown on the window
        and compete with the old ones; half of the new trees inherit the retired samples, with
        `published` none. `None`: never. `mutate` can change it.
    alpha
        Prior probability that the root is split, in [0, 1).
    beta
        A node at depth D is split with prior probability `alpha * (1 + D) ** -beta`.
    min_samples_leaf
        Smallest number of active samples on either side of a split. `None`: 4; with linear leaves
        two more than the number of coefficients, but at most an eighth of the window; with linear
        leaves and `published`, 4 plus two per feature.
    published
        Behave as the published program does, the R package dynaTree 1.2-17: flat priors; its scores
        of moves, which have 2 / pi instead of 2 pi and treat retired samples differently; one cut
        per tree and step, uniform over the range of a feature; residual resampling; predictions
        that may leave the range of the targets; and forgetting that acts on the retired samples of
        a leaf at each retirement. [The page](../algorithms/dynamic_trees.md) lists what differs.
    seed
        Random seed; `None` draws one.

    Notes
    -----
    A node at depth $D$ is split with the prior probability

    $$p_{\mathrm{split}}(D) = \alpha \, (1 + D)^{-\beta}.$$

    A sample gives particle $i$, the tree $T_i$, the weight $w_i \propto p(y \mid x, T_i)$, the
    predictive density of its leaf.

    The prior of a leaf weighs as much as 0.3 samples, distributed like those of the
    last 5,000 or ten windows, and has one degree of freedom. Where memories compete, it weighs 0.01
    samples per coefficient, but at least 0.1 and at most 0.3. A leaf with few samples therefore
    predicts like the global linear fit, and features and targets may have any scale. A linear leaf
    drops the slope of a feature whose distance from zero exceeds about 10,000 times its spread,
    such as seconds since 1970 within one hour; subtract an origin from such a feature.

    Where memories compete, 90 % intervals cover 91 to 94 % on a stream that does not change. During
    the first samples, about three per coefficient, intervals are too narrow.

    The prior favours large trees beyond `alpha` and `beta`: each linear leaf multiplies the prior
    of its tree by e per coefficient, at most by exp(6). Both numbers and `min_samples_leaf` were
    chosen on Friedman's function and on the first 2,000 samples of the ten regression streams of
    `examples/benchmarks/studies/forgetting.py`, so the scores there are not on unseen data. Retired
    samples count in the evidence of a tree like active ones. A retirement therefore changes neither
    predictions nor the odds of staying and pruning, but with `published` the odds.

    Linear leaves use the first 64 numeric features that one in eight active samples has, until only
    one in sixteen has them, and replace a missing value by the mean of its feature. At a split,
    missing values go to the side that was drawn for them. Nominal features are split by sets of
    values, or one against the rest where a leaf has up to three; see
    [the page](../algorithms/dynamic_trees.md#one-sample). The number that `predict_one` returns
    stays within the range of the targets; the distribution is that of the leaves, which
    extrapolate. New features may appear at any time, up to 16,384 columns.

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
    MAE: 0.298052

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
        window: int = 2000,
        discard: str = "oldest",
        forgetting_factor: float | str = "auto",
        rejuvenate_every: int | None = None,
        alpha: float = 0.95,
        beta: float = 2.0,
        min_samples_leaf: int | None = None,
        published: bool = False,
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
        self.published = published
        self.seed = seed
        check_choice("leaf", leaf, "linear", "constant")
        self._begin(False, leaf == "linear", 0, LEAF_BONUS[leaf])

    def _mixture(self, x: Sample) -> list[tuple[float, float, float, float]]:
        return self._core.mixture(x)

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
        from ._estimator.mixture import StudentMixture  # imports scipy.special

        return StudentMixture(components).expected_improvement(self._core.lowest)

    def _target_of(self, number: float) -> typing.Any:
        return number

    _more_columns: typing.ClassVar[tuple[str, ...]] = (
        *DynamicTreeLearner._more_columns,
        "degrees_of_freedom",
        "residual_variance",
        "intercept",
        "coefficients",
    )

    def _linear_model_of(self, node: Node, tree: int) -> str:
        return "linear model" if node["weight"] > 0.0 else ""

    def _describe(self, node: Node) -> str:
        """Return the mean of the targets in a node, and the linear model with its deviation."""
        if not node["linear_model"] or not node["coefficients"]:
            return describe_number(node)
        noise = node["residual_variance"] ** 0.5
        return f"{node['values'][0]:.6g} (sd {noise:.3g} about the fit) + linear model"


class DynamicTreeClassifier(DynamicTreeLearner, TreeClassifier):
    r"""Dynamic trees for classification: Bayesian trees that every sample grows or prunes.

    A particle filter[^2] keeps many trees. Each sample weighs the trees by the probability that
    they gave to its label, the trees are resampled, and every tree stays, grows or prunes at the
    leaf of the sample. Samples that leave the window retire into the Dirichlet prior of their
    leaf: no split can be placed between them, but they continue to count in predictions.[^1]
    Choose it for calibrated probabilities, for few data, or for streams that drift.

    Parameters
    ----------
    n_particles
        Number of trees. The paper uses 1000; time and memory grow with it.
    window
        Number of active samples. New splits are placed between active samples only. With hundreds
        of values in a nominal feature, a larger window is more accurate.
    discard
        Which active sample retires when the window is full: `"oldest"`; `"random"`; `"entropy"`,
        the one whose predicted label has the smallest entropy (for streams without drift). `mutate`
        can change it.
    forgetting_factor
        Factor in (0, 1] by which each new sample multiplies the weights of the earlier ones. With
        `"auto"`, trees with a memory of all samples and of about 500, 120 and 30 samples compete.
        After every sample, the evidence decides the weight of each memory and its number of trees.
        With `published`, `"auto"` is 1, as in the published program.
    rejuvenate_every
        Interval in samples. After each interval, `n_particles` new trees are grown on the window
        and compete with the old ones; half of the new trees inherit the retired samples, with
        `published` none. `None`: never. It pays off on streams that drift fast. `mutate` can change
        it.
    alpha
        Prior probability that the root is split, in [0, 1).
    beta
        A node at depth D is split with prior probability `alpha * (1 + D) ** -beta`. `None`: 0.5,
        or with `published` 2 as in the paper.
    min_samples_leaf
        Smallest number of active samples on either side of a split; `None`: 1.
    published
        Behave as the published program does, the R package dynaTree 1.2-17: one cut per tree and
        step, uniform over the range of a feature, and forgetting that acts on the retired samples
        of a leaf at each retirement.
    seed
        Random seed; `None` draws one.

    Notes
    -----
    A node at depth $D$ is split with the prior probability

    $$p_{\mathrm{split}}(D) = \alpha \, (1 + D)^{-\beta}.$$

    A sample gives particle $i$, the tree $T_i$, the weight $w_i \propto p(y \mid x, T_i)$, the
    predictive density of its leaf. With $c_k$ samples of class $k$ among the $n$ of a leaf, and $K$
    classes,

    $$p(k \mid x) = \frac{c_k + 1 / K}{n + 1}.$$

    The prior of the class probabilities in a leaf is Dirichlet(1/K, ..., 1/K) for the K
    labels seen so far. At a split, missing values go to the side that was drawn for them, or apart
    from all others; nominal features are split by sets of values, or one against the rest where a
    leaf has up to three. New features and new labels may appear at any time, up to 16,384 columns
    and 1,024 labels at a time.

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
    Accuracy: 87.99%
    """

    @plain_parameters
    def __init__(
        self,
        n_particles: int = 40,
        window: int = 500,
        discard: str = "oldest",
        forgetting_factor: float | str = "auto",
        rejuvenate_every: int | None = None,
        alpha: float = 0.95,
        beta: float | None = None,
        min_samples_leaf: int | None = None,
        published: bool = False,
        seed: int | None = None,
    ) -> None:
        self.n_particles = n_particles
        self.window = window
        self.discard = discard
        self.forgetting_factor = forgetting_factor
        self.rejuvenate_every = rejuvenate_every
        self.alpha = alpha
        self.beta = beta
        self.min_samples_leaf = min_samples_leaf
        self.published = published
        self.seed = seed
        self._begin(True, False, 1, 0.0)

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

    def _target_of(self, number: float) -> typing.Any:
        return self._core.labels.labels[int(number)]
