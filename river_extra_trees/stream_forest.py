"""Stream decision forests: CART trees that keep growing with each batch, and take turns.

The learners of this module follow Xu, Dey, Panda and Vogelstein (2022). Each tree grows as in
`stream_tree`, on bootstraps of the batch; it tries some of the features per split, and new trees
take the place of the worst. Beyond the paper, every tree is in turn grown anew on a window of the
latest samples, and the forest learns how much each size of window is worth.
"""

from __future__ import annotations

import typing

import numpy as np
import numpy.typing as npt

from ._core.cart.splitter import Splitter
from ._core.forests.batch_growth import grow_early
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

# Of a regression: the nodes of a tree that have a linear model.
LINEAR_MODELS = ("none", "leaves", "root")


class StreamLearner(BatchForest):
    """The batches of all four learners. Subclasses set their parameters and call `_begin`."""

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

    # Of classifiers, and of forests.
    criterion: str
    warm_up: int = 0
    n_swaps: int = 0
    swap_rule: str = "published"

    _mutable = frozenset({"max_features", "max_nodes"})

    @property
    def _mutable_attributes(self) -> set[str]:
        # With rotation, trees that are still growing were begun with these parameters.
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
        """Make a forest whose trees are grown anew in turn, on windows of several sizes."""
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
        """Grow the trees on a batch, and swap some of them.

        The losses are of all trees of the forest, of which others may be elsewhere.
        """
        forest = typing.cast(StreamForest, self._core)
        batch = forest.n_batches
        n_features = n_features_visited(self.max_features, len(forest.schema.names))
        if forest.n_in_batch < self.batch_size:
            depth = LARGEST if self.max_depth is None else self.max_depth
            grow_early(forest, self._new_splitters(), n_features, depth, self.max_nodes)
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

    The first choice for classification. The trees keep growing with each batch, as in the
    paper[^1]. Beyond the paper, every tree is in turn grown anew on a window of the latest samples,
    as an extremely randomised tree[^2]. The windows have several sizes, and the forest learns how
    much each size is worth: it follows gradual, abrupt and recurring drift without a detector and
    without a parameter to tune. `memory_weights` tells how fast the stream changes.

    The trees with one window size answer with the mean of the class frequencies in their leaves,
    q_k. These answers are mixed with weights that follow the fixed share[^3], w_k becoming
    .995 w_k q_k(y)^.5 / sum + .005 / K after each sample. The answer is a logarithmic opinion
    pool[^4] of the q_k, of their mixture, and of a naive Bayes classifier that fades over 1,000
    samples; its exponents take a step down the gradient of the log loss after each sample. A known
    class never has probability zero.

    Growing a tree anew is spread over the samples until the next tree has its turn, so that the
    cost of a sample depends neither on the sizes of the windows nor on the time.

    With `swap_rule="published", window_size=0, n_models=10, batch_size=100, splitter="best"` the
    forest is that of the paper: votes of trees on bootstraps of each batch (Algorithm 2).

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
        Smallest number of samples of a batch with which a leaf is split. Copies in the bootstrap
        count.
    min_samples_leaf
        Smallest number of samples of a batch on either side of a split. Copies in the bootstrap
        count.
    max_features
        Features to try per split: `None` (all), `"sqrt"`, `"log2"`, a number, or a share. `mutate`
        can change it unless `swap_rule="rotation"`.
    max_nodes
        Largest number of nodes of each tree. Beyond it, the lowest splits that were visited least
        recently become leaves again. `mutate` can change it unless `swap_rule="rotation"`.
    leaf_memory
        Number of samples that a leaf remembers: each sample takes a share of 1 / leaf_memory from
        the weight of the earlier ones, so that leaves follow drift. `None` keeps all of it.
    splitter
        `"best"`, or `"random"` for one uniformly drawn threshold per feature.
    n_swaps
        Largest number of trees to replace after a batch: those that predicted it worst. 0 replaces
        none. Not used with `swap_rule="rotation"`.
    swap_rule
        When trees are replaced: `"rotation"`, each in turn, once while its window passes;
        `"always"`, the worst after every batch in which they made an error; or `"published"`, the
        worst in batch b > 1 with probability 1 / b, so rarely on a long stream. With `"always"` and
        `"published"` the prediction averages the class frequencies of all trees.
    window_size
        Size of the window of latest samples on which trees are regrown. With
        `swap_rule="rotation"`, a tuple of sizes, each with equally many trees; with fewer trees
        than sizes, the first sizes have a tree each. Otherwise one number, 0 for the current batch
        only, as published.
    n_jobs
        Number of threads that grow trees. It does not change the predictions. With
        `swap_rule="rotation"` growth per sample is so cheap that one thread is always used.
    reference
        Behave like the published implementation: a leaf holds only the last batch that reached it,
        learned when the batch is complete, and is split even if its samples are pure.
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
        """Weight of each window size: how well its trees predict at present, summing to one.

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

    The trees keep growing with each batch, as in the paper[^1]. Beyond the paper, every tree is in
    turn grown anew on a window of the latest samples, as an extremely randomised tree[^2]. The
    windows have several sizes, and the forest learns how much each size is worth: it follows
    gradual, abrupt and recurring drift without a detector and without a parameter to tune.
    `memory_weights` tells how fast the stream changes.

    There are three kinds of trees: with a mean in each leaf; with a linear model in each leaf, as
    model trees[^3], and at least ten samples and three per coefficient; and with one linear model
    of the whole window, whose residuals the tree learns. The models are ridge regressions on the
    first 64 numeric features.

    The trees of one kind and window size answer with their mean, m_k. A ridge regression of the
    targets on the m_k, which fades over 1,000 samples, stacks them[^4] to one more answer. The
    prediction is the mean of all these by weights that follow the fixed share[^5]: after each
    sample w_k becomes .98 w_k p_k(y)^.5 / sum + .02 / K, where p_k is a normal density about m_k
    whose variance is a running mean of the squared errors. Predictions stay within the range of the
    targets. `predict_one(x, with_dist=True)` has their spread: half the running mean of the squared
    errors, and half the variances in the leaves and among the trees at x, rescaled to match the
    errors.

    Growing a tree anew is spread over the samples until the next tree has its turn, so that the
    cost of a sample depends neither on the sizes of the windows nor on the time.

    With `swap_rule="published", window_size=0, n_models=10, batch_size=100, splitter="best"` the
    forest is that of the paper: trees on bootstraps of each batch (Algorithm 2).

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
        Smallest number of samples of a batch with which a leaf is split. Copies in the bootstrap
        count.
    min_samples_leaf
        Smallest number of samples of a batch on either side of a split. Copies in the bootstrap
        count.
    max_features
        Features to try per split: `None` (all), `"sqrt"`, `"log2"`, a number, or a share. `mutate`
        can change it unless `swap_rule="rotation"`.
    max_nodes
        Largest number of nodes of each tree. Beyond it, the lowest splits that were visited least
        recently become leaves again. `mutate` can change it unless `swap_rule="rotation"`.
    leaf_memory
        Number of samples that a leaf remembers: each sample takes a share of 1 / leaf_memory from
        the weight of the earlier ones, so that leaves follow drift. `None` keeps all of it.
    splitter
        `"best"`, or `"random"` for one uniformly drawn threshold per feature.
    n_swaps
        Largest number of trees to replace after a batch: those that predicted it worst. 0 replaces
        none. Not used with `swap_rule="rotation"`.
    swap_rule
        When trees are replaced: `"rotation"`, each in turn, once while its window passes;
        `"always"`, the worst after every batch in which they made an error; or `"published"`, the
        worst in batch b > 1 with probability 1 / b, so rarely on a long stream. With `"always"` and
        `"published"` the prediction is the mean of all trees.
    window_size
        Size of the window of latest samples on which trees are regrown. With
        `swap_rule="rotation"`, a tuple of sizes, each with equally many trees of each kind; with
        fewer trees than sizes and kinds, trees with means come before trees with linear models, and
        sizes in their order. Otherwise one number, 0 for the current batch only, as published.
    n_jobs
        Number of threads that grow trees. It does not change the predictions. With
        `swap_rule="rotation"` growth per sample is so cheap that one thread is always used.
    reference
        Behave like the published implementation: a leaf holds only the last batch that reached it,
        learned when the batch is complete, and is split even if its samples are pure.
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
        """Predict the target of a sample; 0 before the first sample was learned.

        Parameters
        ----------
        x
            Features.
        with_dist
            Return the whole predictive distribution instead of its mean. With a seed, its draws
            are determined by the seed, the learned samples and x.

        Raises
        ------
        ValueError
            If a distribution is wanted and `swap_rule` is not `"rotation"`.
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
        """Weight of each window size: how well its trees predict at present, summing to one.

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
            # What the mean of the node is without.
            node["linear_model"] = self._linear_model_of(tree) if slopes else ""
        return nodes

    def _linear_model_of(self, tree: int) -> str:
        """What a tree adds to the means of its leaves, in words."""
        core = typing.cast(MemoryForest, self._core)
        in_root = core.models[tree].kind == LINEAR_MODELS.index("root")
        return "model of the root" if in_root else "linear model"

    def _describe(self, node: dict[str, typing.Any]) -> str:
        """Return the mean of what a node has learned, and the model that its tree adds to it."""
        model = node["linear_model"]
        return describe_number(node) + (f" + {model}" if model else "")

    def _describe_answer(self, leaf: dict[str, typing.Any], tree: int, x: Sample) -> str:
        if not leaf["linear_model"]:
            return self._describe(leaf)
        core = typing.cast(MemoryForest, self._core)
        return f"{self._describe(leaf)} = {core.number_of_tree(tree, x):.6g}"
