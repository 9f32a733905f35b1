"""Extra trees for streams: extremely randomised trees on windows of several sizes.

Each tree is regrown in turn on the latest samples of its window, as in Geurts, Ernst and Wehenkel
(2006). The forest learns how much weight the trees of each window size deserve.
"""

from __future__ import annotations

import typing

from ._estimator.classifier import TreeClassifier
from ._estimator.frames import Sample
from ._estimator.inspection import Node, describe_number
from ._estimator.parameters import MaxFeatures, check_choice, plain_parameters
from ._estimator.regressor import DistributionRegressor
from .extra_trees_learner import LINEAR_MODELS, ExtraTreesLearner

__all__ = ["ExtraTreesClassifier", "ExtraTreesRegressor"]


class ExtraTreesClassifier(ExtraTreesLearner, TreeClassifier):
    r"""Extremely randomised trees on windows of several sizes, with learned weights.

    This is the first choice for classification. Each tree is regrown in turn on a window of the
    latest samples, as an extremely randomised tree[^1]; in between, its leaves learn every sample.
    The windows have several sizes, and the forest learns a weight for each size. So it follows
    gradual, abrupt and recurring drift without a detector and without a parameter to tune.
    `window_weights` shows how fast the stream changes.

    The trees of one window size $k$ of $K$ predict the mean of the class frequencies in their
    leaves, $q_k$. These predictions are mixed with weights $w_k$. After each sample the fixed
    share[^2] updates the weights:

    $$w_k \leftarrow 0.995 \frac{w_k \sqrt{q_k(y)}}{\sum_j w_j \sqrt{q_j(y)}} + \frac{0.005}{K}$$

    The forest predicts a logarithmic opinion pool[^3] of the $q_k$, of their mixture, of a table
    that counts which label followed which, and of a logistic regression that AdaGrad[^4] learns.
    After each sample the exponents of the pool take a gradient step on the log loss. A known class
    never has probability zero. If one class has more than nine tenths of the samples, its samples
    count less, as if it had nine tenths; the probabilities stay those of the whole stream.

    The work of regrowing a tree is spread over the samples until the next tree is due, so that the
    cost of a sample depends neither on the window sizes nor on the length of the stream.

    Parameters
    ----------
    n_models
        Number of trees.
    window_sizes
        Numbers of latest samples on which trees are regrown. Each size has equally many trees; if
        there are fewer trees than sizes, the first sizes have one tree each.
    batch_size
        Number of samples after which leaves are split. Class weights in the leaves are up to date
        after every sample.
    criterion
        Impurity that splits reduce: `"gini"` or `"entropy"`.
    max_depth
        Largest depth of a tree; `None` sets no limit.
    min_samples_split
        Smallest number of samples in a leaf that is split.
    min_samples_leaf
        Smallest number of samples on either side of a split.
    max_features
        Features to try per split: `None` (all), `"sqrt"`, `"log2"`, a number, or a share, which
        stands for 100 at most, or for 12 where most features are absent in most samples. All are
        those with a value among the samples on which a tree, or a leaf, is grown.
    max_nodes
        Largest number of nodes of each tree. Beyond it, those of the lowest splits that samples
        have reached least recently become leaves again.
    leaf_memory
        Number of samples that a leaf remembers: each sample multiplies the weights of the earlier
        ones in its leaf by 1 - 1 / leaf_memory, so that leaves follow drift. `None` keeps all
        weights.
    n_jobs
        Number of threads that learn and predict the rows of a data frame, or explain predictions,
        each with a part of the trees; -1 stands for all cores. It does not change the results.
        `learn_one` and `predict_one` use one thread. `mutate` can change it.
    seed
        Random seed; `None` draws one.

    Notes
    -----
    At a split, missing values go to the side that fits them better, or to the heavier child.
    New features and new classes may appear at any time.

    A tree holds the samples of about two windows at most, and a leaf stores only the classes of
    samples that reached it. So memory grows with the window sizes, and slowly with the number of
    classes.

    The defaults were chosen by accuracy and log loss on the first 2,000 to 20,000 samples of 15
    real streams, and on synthetic streams with irrelevant features.

    References
    ----------
    [^1]: Geurts, P., Ernst, D. and Wehenkel, L., 2006. Extremely randomized trees. Machine
        Learning, 63(1), pp. 3-42.
    [^2]: Herbster, M. and Warmuth, M.K., 1998. Tracking the Best Expert. Machine Learning, 32(2),
        pp. 151-178.
    [^3]: Genest, C. and Zidek, J.V., 1986. Combining Probability Distributions: A Critique and an
        Annotated Bibliography. Statistical Science, 1(1), pp. 114-135.
    [^4]: Duchi, J., Hazan, E. and Singer, Y., 2011. Adaptive Subgradient Methods for Online
        Learning and Stochastic Optimization. Journal of Machine Learning Research, 12,
        pp. 2121-2159.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets, evaluate, metrics

    >>> dataset = datasets.Phishing()
    >>> model = ret.ExtraTreesClassifier(seed=42)
    >>> metric = metrics.Accuracy()
    >>> evaluate.progressive_val_score(dataset, model, metric)
    Accuracy: 91.11%
    """

    @plain_parameters
    def __init__(
        self,
        n_models: int = 100,
        window_sizes: tuple[int, ...] = (30, 200, 1200, 5000, 16000),
        batch_size: int = 20,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: MaxFeatures = 0.7,
        max_nodes: int = 10_000,
        leaf_memory: float | None = 10.0,
        n_jobs: int = 1,
        seed: int | None = None,
    ) -> None:
        self.n_models = n_models
        self.window_sizes = window_sizes
        self.batch_size = batch_size
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_nodes = max_nodes
        self.leaf_memory = leaf_memory
        self.n_jobs = n_jobs
        self.seed = seed
        check_choice("criterion", criterion, "gini", "entropy")
        self._begin(criterion)


class ExtraTreesRegressor(ExtraTreesLearner, DistributionRegressor):
    r"""Extremely randomised trees on windows of several sizes, with learned weights.

    This is the first choice for regression. Each tree is regrown in turn on a window of the latest
    samples, as an extremely randomised tree[^1]; in between, its leaves learn every sample. The
    windows have several sizes, and the forest learns a weight for each size. So it follows gradual,
    abrupt and recurring drift without a detector and without a parameter to tune. `window_weights`
    shows how fast the stream changes.

    There are three kinds of trees. The first has a mean in each leaf. The second is a model
    tree[^2], with a linear model in each leaf, and at least ten samples and three per coefficient.
    The third has one linear model of the whole window, which does not extrapolate, and learns its
    residuals. The models are ridge regressions on the first 64 numeric features.

    The trees of one kind and window size predict their mean, $m_k$. A ridge regression of the
    targets on the $m_k$, with a memory of 1,000 samples, adds a stacked prediction[^3]. The forest
    predicts the weighted mean of all $K$ of these, plus what a regression on its last two errors
    adds, weighed in the same way. After each sample the fixed share[^4] updates the weights, where
    $p_k$ is a normal density around $m_k$ whose variance is a running mean of the squared errors,
    and $u_k$ the mean of the last 1,000 $w_k$: members that had weight get most of the share[^5].

    $$w_k \leftarrow 0.95 \frac{w_k \sqrt{p_k(y)}}{\sum_j w_j \sqrt{p_j(y)}}
        + 0.05 \left(\frac{0.3}{K} + 0.7 \, u_k\right)$$

    Predictions stay within the range of the targets. `predict_one(x, with_dist=True)` is a
    t-distribution. Its scale at x follows from the last errors, from the variance in the leaves and
    among the trees at x, and from the numeric features, as far as these told the size of errors;
    its degrees of freedom from the 50 and 90 % quantiles of the last errors around that scale.

    The work of regrowing a tree is spread over the samples until the next tree is due, so that the
    cost of a sample depends neither on the window sizes nor on the length of the stream.

    Parameters
    ----------
    n_models
        Number of trees.
    window_sizes
        Numbers of latest samples on which trees are regrown. Each size has equally many trees of
        each kind; if there are too few trees, kinds without linear models come first, and earlier
        sizes before later ones.
    batch_size
        Number of samples after which leaves are split. Means in the leaves are up to date after
        every sample.
    max_depth
        Largest depth of a tree; `None` sets no limit.
    min_samples_split
        Smallest number of samples in a leaf that is split.
    min_samples_leaf
        Smallest number of samples on either side of a split.
    max_features
        Features to try per split: `None` (all), `"sqrt"`, `"log2"`, a number, or a share, which
        stands for 100 at most, or for 12 where most features are absent in most samples. All are
        those with a value among the samples on which a tree, or a leaf, is grown.
    max_nodes
        Largest number of nodes of each tree. Beyond it, those of the lowest splits that samples
        have reached least recently become leaves again.
    leaf_memory
        Number of samples that a leaf remembers: each sample multiplies the weights of the earlier
        ones in its leaf by 1 - 1 / leaf_memory, so that leaves follow drift. `None` keeps all
        weights.
    n_jobs
        Number of threads that learn and predict the rows of a data frame, or explain predictions,
        each with a part of the trees; -1 stands for all cores. It does not change the results.
        `learn_one` and `predict_one` use one thread. `mutate` can change it.
    seed
        Random seed; `None` draws one.

    Notes
    -----
    At a split, missing values go to the side that fits them better, or to the heavier child.
    New features may appear at any time.

    The defaults were chosen by R2 on the first 3,000 to 17,000 samples of 16 streams.

    References
    ----------
    [^1]: Geurts, P., Ernst, D. and Wehenkel, L., 2006. Extremely randomized trees. Machine
        Learning, 63(1), pp. 3-42.
    [^2]: Quinlan, J.R., 1992. Learning with Continuous Classes. Proceedings of the 5th Australian
        Joint Conference on Artificial Intelligence, pp. 343-348.
    [^3]: Breiman, L., 1996. Stacked regressions. Machine Learning, 24(1), pp. 49-64.
    [^4]: Herbster, M. and Warmuth, M.K., 1998. Tracking the Best Expert. Machine Learning, 32(2),
        pp. 151-178.
    [^5]: Bousquet, O. and Warmuth, M.K., 2002. Tracking a Small Set of Experts by Mixing Past
        Posteriors. Journal of Machine Learning Research, 3, pp. 363-396.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets, evaluate, metrics

    >>> dataset = datasets.TrumpApproval()
    >>> model = ret.ExtraTreesRegressor(seed=42)
    >>> metric = metrics.MAE()
    >>> evaluate.progressive_val_score(dataset, model, metric)
    MAE: 0.198379

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
        n_models: int = 72,
        window_sizes: tuple[int, ...] = (15, 60, 250, 1000, 4000, 16000),
        batch_size: int = 20,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: MaxFeatures = 1.0,
        max_nodes: int = 10_000,
        leaf_memory: float | None = 10.0,
        n_jobs: int = 1,
        seed: int | None = None,
    ) -> None:
        self.n_models = n_models
        self.window_sizes = window_sizes
        self.batch_size = batch_size
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_nodes = max_nodes
        self.leaf_memory = leaf_memory
        self.n_jobs = n_jobs
        self.seed = seed
        self._begin("variance", LINEAR_MODELS)

    _more_columns: typing.ClassVar[tuple[str, ...]] = ("coefficients",)

    def _mixture(self, x: Sample) -> list[tuple[float, float, float, float]]:
        from ._estimator.mixture import tails_of

        mean, variance, half, most, n_errors = self._core.predict_spread(x)
        df, scale = tails_of(half, most)
        return [(mean, variance * scale * scale, min(df, n_errors), 1.0)]

    def _linear_model_of(self, node: Node, tree: int) -> str:
        in_root = self._core.models[tree].kind == LINEAR_MODELS.index("root")
        return "model of the root" if in_root else "linear model"

    def _describe(self, node: Node) -> str:
        """Return the mean of a node, and the model that its tree adds to the mean."""
        model = node["linear_model"]
        return describe_number(node) + (f" + {model}" if model else "")
