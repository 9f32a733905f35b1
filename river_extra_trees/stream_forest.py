"""Stream decision forests: CART trees that keep growing with each batch, and are regrown in turn.

The learners of this module follow Xu, Dey, Panda and Vogelstein (2022). Each tree grows as in
`stream_tree`, on bootstraps of the batch; it tries some of the features per split, and new trees
replace the worst. Beyond the paper, the trees are regrown in turn on windows of the latest samples,
and the forest learns a weight for each window size.
"""

from __future__ import annotations

import typing

import numpy as np
import numpy.typing as npt

from ._core.cart.splitter import Splitter
from ._core.forests.memories import MemoryForest
from ._core.forests.stream import StreamForest
from ._estimator.batch_forest import BatchForest
from ._estimator.classifier import TreeClassifier
from ._estimator.frames import Sample
from ._estimator.inspection import describe_number
from ._estimator.parameters import (
    LARGEST,
    MaxFeatures,
    check_choice,
    check_max_features,
    check_number,
    check_parameter,
    check_switch,
    check_whole,
    draw_seed,
    is_whole,
    n_features_visited,
    plain_parameters,
)
from ._estimator.regressor import DistributionRegressor

if typing.TYPE_CHECKING:
    from ._estimator.mixture import StudentMixture

__all__ = ["StreamDecisionForestClassifier", "StreamDecisionForestRegressor"]

Losses = npt.NDArray[np.float64]

# Nodes of a tree that have a linear model; the regressor has trees of all three kinds.
LINEAR_MODELS = ("none", "leaves", "root")


class StreamLearner(BatchForest):
    """Base of all four learners. Subclasses set their parameters and call `_begin`."""

    _core: StreamForest | MemoryForest

    batch_size: int
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    max_features: MaxFeatures
    max_nodes: int
    leaf_memory: float | None
    splitter: str
    reference: bool
    seed: int | None

    # Only classifiers have the first two, and only forests the others.
    criterion: str
    warm_up: int = 0
    n_swaps: int = 0
    swap_rule: str = "published"

    _mutable = frozenset({"max_features", "max_nodes"})

    @property
    def _mutable_attributes(self) -> set[str]:
        # With rotation, unfinished trees have been started with the present values.
        return set() if isinstance(self._core, MemoryForest) else set(self._mutable)

    def _begin(
        self,
        criterion: str,
        n_models: int = 1,
        n_swaps: int = 0,
        swap_rule: str = "published",
        window_size: int | tuple[int, ...] = 0,
        n_jobs: int = 1,
        bootstrap: bool = False,
    ) -> None:
        check_whole("max_depth", self.max_depth, 0, optional=True)
        for name in ("batch_size", "min_samples_split", "min_samples_leaf", "max_nodes"):
            check_whole(name, getattr(self, name), 1)
        check_choice("splitter", self.splitter, "best", "random")
        check_number("leaf_memory", self.leaf_memory, 1, words=(None,))
        check_switch("reference", self.reference)
        check_whole("n_models", n_models, 1)
        check_whole("n_swaps", n_swaps, 0)
        check_whole("warm_up", self.warm_up, 0)
        check_whole("n_jobs", n_jobs, 1)
        check_max_features(self.max_features)
        if swap_rule == "rotation":
            self._core = self._rotating(criterion, n_models, window_size)
            return
        check_whole("window_size", window_size, 0)
        window_size = typing.cast(int, window_size)
        self._core = StreamForest(
            n_trees=n_models,
            regression=criterion == "variance",
            batch_size=self.batch_size,
            reference=self.reference,
            warm_up=self.warm_up,
            seed=draw_seed(self.seed),
            bootstrap=bootstrap,
            fading=1.0 if self.leaf_memory is None else 1.0 - 1.0 / self.leaf_memory,
            n_latest=window_size if n_swaps > 0 and not self.reference else 0,
        )

    def _new_splitter(self) -> Splitter:
        return Splitter(
            "variance" if self._core.regression else self.criterion,
            self.max_depth,
            self.min_samples_split,
            self.min_samples_leaf,
            self.splitter,
            shuffled=self.reference,
            program="stream" if self.reference else None,
        )

    def _rotating(self, criterion: str, n_models: int, window_size: typing.Any) -> MemoryForest:
        """Make a forest whose trees are regrown in turn, on windows of several sizes."""
        check_parameter(
            isinstance(window_size, tuple)
            and len(window_size) > 0
            and all(is_whole(size) and 1 <= size <= LARGEST // 4 for size in window_size)
            and len(set(window_size)) == len(window_size),
            "window_size",
            window_size,
            f"a tuple of different numbers of samples, from 1 to {LARGEST // 4}, when swap_rule is "
            "'rotation'",
        )
        for name, value in (("splitter", "random"), ("reference", False)):
            check_parameter(
                getattr(self, name) == value,
                name,
                getattr(self, name),
                f"{value!r} when swap_rule is 'rotation'",
            )
        check_parameter(
            self.batch_size <= LARGEST // 4,
            "batch_size",
            self.batch_size,
            f"at most {LARGEST // 4} when swap_rule is 'rotation'",
        )
        kinds = LINEAR_MODELS if criterion == "variance" else LINEAR_MODELS[:1]
        groups = [(int(size), kind) for kind in kinds for size in window_size]
        least, more = divmod(n_models, len(groups))
        n_trees = [least + (i < more) for i in range(len(groups)) if least or i < more]
        return MemoryForest(
            regression=criterion == "variance",
            memories=[(size, n) for (size, _), n in zip(groups, n_trees, strict=False)],
            linear=[kind for (_, kind), _ in zip(groups, n_trees, strict=False)],
            batch_size=self.batch_size,
            fading=1.0 if self.leaf_memory is None else 1.0 - 1.0 / self.leaf_memory,
            max_features=self.max_features,
            max_nodes=self.max_nodes,
            rules={
                "criterion": criterion,
                "max_depth": LARGEST if self.max_depth is None else self.max_depth,
                "min_samples_split": self.min_samples_split,
                "min_samples_leaf": self.min_samples_leaf,
            },
            seed=draw_seed(self.seed),
        )

    def _more_summary(self) -> dict[str, str]:
        if not isinstance(self._core, MemoryForest):
            return {}
        weights = self._core.memory_weights()
        texts = (f"{memory:,} samples {weight:.0%}" for memory, weight in weights)
        return {"memory_weights": "; ".join(texts)}

    def _grow(self, losses: Losses | None = None) -> None:
        """Grow the trees on a batch, and replace some of them.

        `losses` are those of all trees of the forest, if other parts of it hold some of them.
        """
        forest = typing.cast(StreamForest, self._core)
        batch = forest.n_batches
        n_features = n_features_visited(self.max_features, len(forest.schema.names))
        if forest.n_in_batch < self.batch_size:
            depth = LARGEST if self.max_depth is None else self.max_depth
            forest.grow_early(self._new_splitters(), n_features, depth, self.max_nodes)
            return
        if losses is None:
            losses = forest.tree_losses()
        always = self.swap_rule == "always" and not self.reference
        forest.grow(
            batch,
            self._new_splitters(),
            forest.trees_to_replace(losses, self.n_swaps, always),
            n_features,
            self.max_nodes,
        )


class StreamDecisionForestClassifier(StreamLearner, TreeClassifier):
    """Stream decision forest: trees with several memories, and learned weights of the memories.

    This is the first choice for classification. The trees keep growing with each batch, as in the
    paper[^1]. Beyond the paper, the trees are regrown in turn on windows of the latest samples, as
    extremely randomised trees[^2]. The windows have several sizes, and the forest learns a weight
    for each size. So it follows gradual, abrupt and recurring drift without a detector and without
    a parameter to tune. `memory_weights` shows how fast the stream changes.

    The trees of one window size k predict the mean of the class frequencies in their leaves, q_k.
    These predictions are mixed with weights w_k. After each sample the fixed share[^3] updates the
    weights: w_k becomes .995 w_k q_k(y)^.5 / sum + .005 / K. The forest predicts a logarithmic
    opinion pool[^4] of the q_k, of their mixture, and of a naive Bayes classifier that forgets with
    a memory of 1,000 samples. After each sample the exponents of the pool take a gradient step on
    the log loss. A known class never has probability zero.

    The work of regrowing a tree is spread over the samples until the next tree is due, so that the
    cost of a sample depends neither on the window sizes nor on the length of the stream.

    With `swap_rule="published", window_size=0, n_models=10, batch_size=100, splitter="best"` this
    is the forest of the paper: votes of trees on bootstraps of each batch (Algorithm 2).

    Parameters
    ----------
    n_models
        Number of trees.
    batch_size
        Number of samples after which leaves are split. Class weights and means in the leaves are
        up to date after every sample.
    criterion
        Impurity that splits reduce: `"gini"` or `"entropy"`.
    max_depth
        Largest depth of a tree; `None` sets no limit.
    min_samples_split
        Smallest number of samples of a batch in a leaf that is split. Copies in the bootstrap
        count.
    min_samples_leaf
        Smallest number of samples of a batch on either side of a split. Copies in the bootstrap
        count.
    max_features
        Features to try per split: `None` (all), `"sqrt"`, `"log2"`, a number, or a share. `mutate`
        can change it unless `swap_rule="rotation"`.
    max_nodes
        Largest number of nodes of each tree. Beyond it, those of the lowest splits that samples
        have reached least recently become leaves again. `mutate` can change it unless
        `swap_rule="rotation"`.
    leaf_memory
        Number of samples that a leaf remembers: each sample multiplies the weights of the earlier
        ones in its leaf by 1 - 1 / leaf_memory, so that leaves follow drift. `None` keeps all
        weights.
    splitter
        `"best"`, or `"random"` for one uniformly drawn threshold per feature.
    n_swaps
        Largest number of trees to replace after a batch: those that predicted it worst. 0 replaces
        none. Not used with `swap_rule="rotation"`.
    swap_rule
        When trees are replaced: `"rotation"`, each tree in turn, once per length of its window;
        `"always"`, the worst trees after every batch in which they made an error; or `"published"`,
        the worst trees after batch b > 1 with probability 1 / b, so rarely on a long stream. With
        `"always"` and `"published"`, the prediction averages the class frequencies of all trees.
    window_size
        Number of latest samples on which trees are regrown. With `swap_rule="rotation"`, a tuple of
        sizes, each with equally many trees; if there are fewer trees than sizes, the first sizes
        have one tree each. Otherwise one number; 0 regrows trees on the current batch only, as
        published.
    n_jobs
        Number of threads that grow trees. It does not change the predictions. With
        `swap_rule="rotation"` one thread is used, because growth is cheap for each sample.
    reference
        Behave like the published implementation: a leaf holds only the last batch that reached it,
        learns it when the batch is complete, and is split even if its samples are pure.
    seed
        Random seed; `None` draws one.

    Notes
    -----
    At a split, missing values go to the side that fits them better, or to the heavier child.
    New features and new classes may appear at any time.

    The defaults were chosen by accuracy and log loss on the first 5,000 samples of 21 streams.

    References
    ----------
    [^1]: Xu, H., Dey, J., Panda, S. and Vogelstein, J.T., 2022. Simplest Streaming Trees.
        arXiv:2110.08483.
    [^2]: Geurts, P., Ernst, D. and Wehenkel, L., 2006. Extremely randomized trees. Machine
        Learning, 63(1), pp. 3-42.
    [^3]: Herbster, M. and Warmuth, M.K., 1998. Tracking the Best Expert. Machine Learning, 32(2),
        pp. 151-178.
    [^4]: Genest, C. and Zidek, J.V., 1986. Combining Probability Distributions: A Critique and an
        Annotated Bibliography. Statistical Science, 1(1), pp. 114-135.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets, evaluate, metrics

    >>> dataset = datasets.Phishing()
    >>> model = ret.StreamDecisionForestClassifier(seed=42)
    >>> metric = metrics.Accuracy()
    >>> evaluate.progressive_val_score(dataset, model, metric)
    Accuracy: 91.19%
    """

    @plain_parameters
    def __init__(
        self,
        n_models: int = 100,
        batch_size: int = 20,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: MaxFeatures = "sqrt",
        max_nodes: int = 10_000,
        leaf_memory: float | None = 10.0,
        splitter: str = "random",
        n_swaps: int = 1,
        swap_rule: str = "rotation",
        window_size: int | tuple[int, ...] = (30, 200, 1200, 8000),
        n_jobs: int = 1,
        reference: bool = False,
        seed: int | None = None,
    ) -> None:
        self.n_models = n_models
        self.batch_size = batch_size
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_nodes = max_nodes
        self.leaf_memory = leaf_memory
        self.splitter = splitter
        self.n_swaps = n_swaps
        self.swap_rule = swap_rule
        self.window_size = window_size
        self.n_jobs = n_jobs
        self.reference = reference
        self.seed = seed
        check_choice("criterion", criterion, "gini", "entropy")
        check_choice("swap_rule", swap_rule, "rotation", "always", "published")
        self._begin(criterion, n_models, n_swaps, swap_rule, window_size, n_jobs, bootstrap=True)

    @property
    def memory_weights(self) -> dict[int, float]:
        """Weight of each window size, by how well its trees predict at present; they sum to one.

        Raises
        ------
        AttributeError
            If `swap_rule` is not `"rotation"`.
        """
        if not isinstance(self._core, MemoryForest):
            raise AttributeError("only a forest with swap_rule='rotation' weighs its memories")
        return dict(self._core.memory_weights())


class StreamDecisionForestRegressor(StreamLearner, DistributionRegressor):
    """Stream decision forest: trees with several memories, and learned weights of the memories.

    The trees keep growing with each batch, as in the paper[^1]. Beyond the paper, the trees are
    regrown in turn on windows of the latest samples, as extremely randomised trees[^2]. The windows
    have several sizes, and the forest learns a weight for each size. So it follows gradual, abrupt
    and recurring drift without a detector and without a parameter to tune. `memory_weights` shows
    how fast the stream changes.

    There are three kinds of trees. The first has a mean in each leaf. The second is a model
    tree[^3], with a linear model in each leaf, and at least ten samples and three per coefficient.
    The third has one linear model of the whole window and learns its residuals. The models are
    ridge regressions on the first 64 numeric features.

    The trees of one kind and window size predict their mean, m_k. A ridge regression of the targets
    on the m_k, with a memory of 1,000 samples, adds a stacked prediction[^4]. The forest predicts
    the weighted mean of all of these. After each sample the fixed share[^5] updates the weights:
    w_k becomes .98 w_k p_k(y)^.5 / sum + .02 / K, where p_k is a normal density around m_k whose
    variance is a running mean of the squared errors. Predictions stay within the range of the
    targets. The variance of `predict_one(x, with_dist=True)` is the mean of two terms: the running
    mean of the squared errors; and the variance in the leaves and among the trees at x, rescaled to
    match the errors.

    The work of regrowing a tree is spread over the samples until the next tree is due, so that the
    cost of a sample depends neither on the window sizes nor on the length of the stream.

    With `swap_rule="published", window_size=0, n_models=10, batch_size=100, splitter="best"` this
    is the forest of the paper: trees on bootstraps of each batch (Algorithm 2).

    Parameters
    ----------
    n_models
        Number of trees.
    batch_size
        Number of samples after which leaves are split. Class weights and means in the leaves are
        up to date after every sample.
    max_depth
        Largest depth of a tree; `None` sets no limit.
    min_samples_split
        Smallest number of samples of a batch in a leaf that is split. Copies in the bootstrap
        count.
    min_samples_leaf
        Smallest number of samples of a batch on either side of a split. Copies in the bootstrap
        count.
    max_features
        Features to try per split: `None` (all), `"sqrt"`, `"log2"`, a number, or a share. `mutate`
        can change it unless `swap_rule="rotation"`.
    max_nodes
        Largest number of nodes of each tree. Beyond it, those of the lowest splits that samples
        have reached least recently become leaves again. `mutate` can change it unless
        `swap_rule="rotation"`.
    leaf_memory
        Number of samples that a leaf remembers: each sample multiplies the weights of the earlier
        ones in its leaf by 1 - 1 / leaf_memory, so that leaves follow drift. `None` keeps all
        weights.
    splitter
        `"best"`, or `"random"` for one uniformly drawn threshold per feature.
    n_swaps
        Largest number of trees to replace after a batch: those that predicted it worst. 0 replaces
        none. Not used with `swap_rule="rotation"`.
    swap_rule
        When trees are replaced: `"rotation"`, each tree in turn, once per length of its window;
        `"always"`, the worst trees after every batch in which they made an error; or `"published"`,
        the worst trees after batch b > 1 with probability 1 / b, so rarely on a long stream. With
        `"always"` and `"published"`, the prediction is the mean of all trees.
    window_size
        Number of latest samples on which trees are regrown. With `swap_rule="rotation"`, a tuple of
        sizes, each with equally many trees of each kind; if there are too few trees, kinds without
        linear models come first, and earlier sizes before later ones. Otherwise one number; 0
        regrows trees on the current batch only, as published.
    n_jobs
        Number of threads that grow trees. It does not change the predictions. With
        `swap_rule="rotation"` one thread is used, because growth is cheap for each sample.
    reference
        Behave like the published implementation: a leaf holds only the last batch that reached it,
        learns it when the batch is complete, and is split even if its samples are pure.
    seed
        Random seed; `None` draws one.

    Notes
    -----
    At a split, missing values go to the side that fits them better, or to the heavier child.
    New features may appear at any time.

    The defaults were chosen by R2 on the first 4,000 samples of 12 streams.

    References
    ----------
    [^1]: Xu, H., Dey, J., Panda, S. and Vogelstein, J.T., 2022. Simplest Streaming Trees.
        arXiv:2110.08483.
    [^2]: Geurts, P., Ernst, D. and Wehenkel, L., 2006. Extremely randomized trees. Machine
        Learning, 63(1), pp. 3-42.
    [^3]: Quinlan, J.R., 1992. Learning with Continuous Classes. Proceedings of the 5th Australian
        Joint Conference on Artificial Intelligence, pp. 343-348.
    [^4]: Breiman, L., 1996. Stacked regressions. Machine Learning, 24(1), pp. 49-64.
    [^5]: Herbster, M. and Warmuth, M.K., 1998. Tracking the Best Expert. Machine Learning, 32(2),
        pp. 151-178.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets, evaluate, metrics

    >>> dataset = datasets.TrumpApproval()
    >>> model = ret.StreamDecisionForestRegressor(seed=42)
    >>> metric = metrics.MAE()
    >>> evaluate.progressive_val_score(dataset, model, metric)
    MAE: 0.310103

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
        n_models: int = 45,
        batch_size: int = 20,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: MaxFeatures = 0.5,
        max_nodes: int = 10_000,
        leaf_memory: float | None = 10.0,
        splitter: str = "random",
        n_swaps: int = 1,
        swap_rule: str = "rotation",
        window_size: int | tuple[int, ...] = (15, 60, 250, 1000, 4000),
        n_jobs: int = 1,
        reference: bool = False,
        seed: int | None = None,
    ) -> None:
        self.n_models = n_models
        self.batch_size = batch_size
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_nodes = max_nodes
        self.leaf_memory = leaf_memory
        self.splitter = splitter
        self.n_swaps = n_swaps
        self.swap_rule = swap_rule
        self.window_size = window_size
        self.n_jobs = n_jobs
        self.reference = reference
        self.seed = seed
        check_choice("swap_rule", swap_rule, "rotation", "always", "published")
        self._begin("variance", n_models, n_swaps, swap_rule, window_size, n_jobs, bootstrap=True)

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

        Raises
        ------
        ValueError
            If `with_dist` is true and `swap_rule` is not `"rotation"`.
        """
        if with_dist:
            from ._estimator.mixture import StudentMixture, seed_of

            if not isinstance(self._core, MemoryForest):
                raise ValueError("only a forest with swap_rule='rotation' predicts distributions")
            components = [(*self._core.predict_spread(x), 1.0)]
            return StudentMixture(components, seed=seed_of(components, self.seed))
        return self._core.predict_number(x)

    @property
    def memory_weights(self) -> dict[int, float]:
        """Weight of each window size, by how well its trees predict at present; they sum to one.

        Raises
        ------
        AttributeError
            If `swap_rule` is not `"rotation"`.
        """
        if not isinstance(self._core, MemoryForest):
            raise AttributeError("only a forest with swap_rule='rotation' weighs its memories")
        return dict(self._core.memory_weights())

    _more_columns: typing.ClassVar[tuple[str, ...]] = ("coefficients",)

    def _nodes(self, tree: int) -> list[dict[str, typing.Any]]:
        nodes = super()._nodes(tree)
        for node in nodes:
            slopes = node.get("coefficients", {})
            node["coefficients"] = {
                self._schema.names[column]: slope for column, slope in slopes.items()
            }
            # In words, the part of the prediction that the mean of the node does not contain.
            node["linear_model"] = self._linear_model_of(tree) if slopes else ""
        return nodes

    def _linear_model_of(self, tree: int) -> str:
        """Say in words what a tree adds to the means of its leaves."""
        core = typing.cast(MemoryForest, self._core)
        in_root = core.models[tree].kind == LINEAR_MODELS.index("root")
        return "model of the root" if in_root else "linear model"

    def _describe(self, node: dict[str, typing.Any]) -> str:
        """Return the mean of a node, and the model that its tree adds to the mean."""
        model = node["linear_model"]
        return describe_number(node) + (f" + {model}" if model else "")

    def _describe_answer(self, leaf: dict[str, typing.Any], tree: int, x: Sample) -> str:
        if not leaf["linear_model"]:
            return self._describe(leaf)
        core = typing.cast(MemoryForest, self._core)
        return f"{self._describe(leaf)} = {core.number_of_tree(tree, x):.6g}"
