"""Forgetful decision trees and forests: CART trees on the newest samples that still help.

The learners of this module follow Yuan, Sun and Shasha (2023). After each batch, CART grows each
tree anew on the samples that it retains. Their number rises and falls with the accuracy of the
tree, so that it forgets the old concept soon after a drift. The trees of a forest use subsets of
the features and forget at random; the worst of them are discarded when the forest becomes less
accurate. Beyond the paper, leaves learn every sample immediately instead of when its batch is
complete; there are regressors; and features may be missing, nominal or new.
"""

from __future__ import annotations

import math
import typing

import numpy as np
import numpy.typing as npt

from ._core.cart.splitter import Splitter
from ._core.forests.forgetful import ForgetfulForest
from ._core.state import State, require
from ._estimator.batch_forest import BatchForest
from ._estimator.classifier import TreeClassifier
from ._estimator.parameters import (
    LARGEST,
    check_choice,
    check_number,
    check_parameter,
    check_switch,
    check_whole,
    draw_seed,
    plain_parameters,
)
from ._estimator.regressor import TreeRegressor
from .forgetting import AdaptParameters, BatchPlan, DriftTest, max_height

MAX_COLUMNS = 2**14  # that the core can number

__all__ = [
    "ForgetfulDecisionTreeClassifier",
    "ForgetfulDecisionTreeRegressor",
    "ForgetfulRandomForestClassifier",
    "ForgetfulRandomForestRegressor",
]

Losses = npt.NDArray[np.float64]


class _Forgetful(BatchForest):
    """Base of all four learners. Subclasses set their parameters and call `_begin`."""

    _core: ForgetfulForest

    batch_size: int
    warm_size: int
    initial_rate: float
    max_depth: int | None
    max_retained: int
    max_columns: int
    n_models: int
    criterion: str  # of classifiers
    warm_up: int = 0  # of classifiers
    significance: float = 0.05  # of forests
    reference: bool
    seed: int | None

    _mutable = frozenset({"max_depth", "max_retained"})

    def _begin(
        self,
        criterion: str,
        n_models: int = 1,
        is_forest: bool = False,
        bagging: bool = False,
        significance: float = 0.05,
        n_jobs: int = 1,
    ) -> None:
        for name in ("batch_size", "warm_size"):
            check_whole(name, getattr(self, name), 1)
        check_whole("warm_up", self.warm_up, 0)
        check_number("initial_rate", self.initial_rate, 0, LARGEST)
        check_whole("max_depth", self.max_depth, 1, optional=True)
        check_whole("max_retained", self.max_retained, 1)
        check_parameter(
            self.max_retained >= self.batch_size,
            "max_retained",
            self.max_retained,
            "at least batch_size",
        )
        check_whole("max_columns", self.max_columns, 1)
        check_parameter(
            self.max_columns <= MAX_COLUMNS,
            "max_columns",
            self.max_columns,
            f"at most {MAX_COLUMNS}",
        )
        check_whole("n_models", n_models, 1)
        check_number("significance", significance, 0, 1)
        check_switch("bagging", bagging)
        check_switch("reference", self.reference)
        check_whole("n_jobs", n_jobs, 1)
        self._core = ForgetfulForest(
            n_trees=n_models,
            regression=criterion == "variance",
            batch_size=self.batch_size,
            reference=self.reference,
            seed=draw_seed(self.seed),
            warm_up=self.warm_up,
            subsets=is_forest,
            bagging=bagging,
            max_columns=self.max_columns,
        )
        self._core.parameters = [self._new_parameters().state() for _ in range(n_models)]
        self._core.drift = self._new_drift_test().state() if is_forest else None

    def _new_splitter(self) -> Splitter:
        return Splitter(
            "variance" if self._core.regression else self.criterion,
            program="forgetful" if self.reference else None,
        )

    def _new_parameters(self) -> AdaptParameters:
        return AdaptParameters(
            self.initial_rate, self.warm_size, self._core.regression, self.reference
        )

    def _new_drift_test(self) -> DriftTest:
        return DriftTest(self.n_models, self.significance, self.reference)

    @property
    def _parameters(self) -> list[AdaptParameters]:
        """The parameters that decide the retained size of each tree, copied from the core."""
        return [self._new_parameters().resume(values) for values in self._core.parameters]

    def _grow(self, losses: Losses | None = None) -> None:
        """Let the trees forget samples, and grow them on a batch.

        `losses` are those of all trees of the forest, if other parts of it hold some of them.
        """
        batch, n = self._core.n_batches, self._core.n_in_batch
        if n < self.batch_size:
            depth = math.inf if self.max_depth is None else self.max_depth
            depth = int(min(max_height(n), depth))
            self._core.grow_early(self._new_splitters(), 0, depth, LARGEST)
            return
        self._core.grow(batch, self._new_splitters(), *self._plan(losses))

    def _plan(self, losses: Losses | None) -> BatchPlan:
        """Decide how many samples each tree retains, and which trees are discarded."""
        forest = self._core
        guess = 0.0 if forest.regression else 1 / max(2, len(forest.labels))
        discarded, drift = self._discarded(guess, losses)
        depth = math.inf if self.max_depth is None else self.max_depth
        adapted = self._parameters
        for tree, parameters in enumerate(adapted):
            batch, held = forest.losses(tree), forest.n_retained(tree)
            if self.reference and tree in discarded and held > 0:
                parameters = adapted[tree] = self._new_parameters()
                parameters.retained_size = held
                depth_of_successor = int(min(parameters.max_height, depth))
                batch = forest.successor_losses(tree, self._new_splitter(), depth_of_successor)
            if batch[0] > 0:
                parameters.adapt(batch, guess, held)
        for tree in discarded:
            adapted[tree].rate = self.initial_rate
        return BatchPlan(
            [min(parameters.retained_size, self.max_retained) for parameters in adapted],
            [int(min(parameters.max_height, depth)) for parameters in adapted],
            discarded,
            [parameters.state() for parameters in adapted],
            drift,
        )

    def _discarded(
        self, guess: float, losses: Losses | None
    ) -> tuple[list[int], dict[str, typing.Any] | None]:
        """Return the trees of this part to discard, worst first (appendix C, function Discard).

        They get new features and the initial rate, and retain samples by their accuracy as before.
        In the text of the paper they start cold with all old samples, which keeps the concept that
        failed, often for long. With `reference` they start cold, and the accuracy of the new tree,
        grown on the old samples, decides.
        """
        forest = self._core
        batch = forest.losses(self._n_trees, False)
        if forest.drift is None or forest.n_batches == 0 or batch[0] == 0:
            return [], forest.drift
        if losses is None:
            losses = forest.tree_losses()
        drift_test = self._new_drift_test().resume(forest.drift)
        n = drift_test.n_discarded(batch, guess)
        worst = (-losses).argsort(kind="stable")[:n] - forest.first_tree
        discarded = [tree for tree in worst.tolist() if 0 <= tree < self._n_trees]
        return discarded, drift_test.state()

    def _restore(self, state: State) -> None:
        is_forest = self._core.drift is not None
        super()._restore(state)
        for values in self._core.parameters:
            self._new_parameters().restore(values)
        require((self._core.drift is not None) == is_forest, "only a forest has a drift test")
        if is_forest:
            self._new_drift_test().restore(self._core.drift)

    @property
    def retained_sizes(self) -> list[int]:
        """Number of samples that each tree retains. Copies made by bagging count."""
        return [self._core.n_retained(tree) for tree in range(self._n_trees)]


class ForgetfulDecisionTreeClassifier(_Forgetful, TreeClassifier):
    """Forgetful decision tree: CART on the newest samples that still help.

    After each batch, CART grows the tree anew on the samples that it retains. Their number grows
    while the accuracy is stable and shrinks when the accuracy falls. A tree that is no better than
    guessing forgets all but the last batch.[^1] Choose it for one fast tree that can be drawn, on
    streams whose concept changes.

    Parameters
    ----------
    batch_size
        Number of samples after which the trees are regrown. Class weights and means in the leaves
        are up to date after every sample. During the first batch, trees are grown on the first 10,
        20, 30, 45 ... samples.
    criterion
        Impurity that splits reduce: `"entropy"` or `"gini"`.
    warm_size
        Number of samples to retain before a tree may forget any. It doubles until the tree is
        better than guessing.
    initial_rate
        Share of a batch by which the retained size grows while the accuracy is stable, at the
        start; the rate adapts to the stream.
    max_depth
        Largest height of a tree. It is never higher than log2 of its retained size; `None` sets no
        other limit. `mutate` can change it.
    max_retained
        Largest number of samples that a tree retains. `mutate` can change it.
    max_columns
        Largest number of columns. A feature has one column for its numbers and one for its nominal
        values; features that come later are ignored.
    warm_up
        Number of samples at the start during which predictions also draw on naive Bayes and on the
        latest classes. With 0, and with `reference`, the tree always predicts alone.
    reference
        Behave like the published implementation: the retained size may exceed the number of
        samples, samples are learned when their batch is complete, and a threshold is the largest
        value on its left side.
    seed
        Random seed; `None` draws one.

    Attributes
    ----------
    retained_sizes
        Number of samples that each tree retains.

    Notes
    -----
    Weights count in splits, leaves and predictions; the retained size counts samples. At a split,
    missing values go to the side that fits them better, or to the heavier child. New features and
    new classes may appear at any time.

    References
    ----------
    [^1]: Yuan, Z., Sun, Y. and Shasha, D., 2023. Forgetful Forests: Data Structures for Machine
        Learning on Streaming Data under Concept Drift. Algorithms, 16(6), 278.

    Examples
    --------

    >>> import river_extra_trees as ret
    >>> from river import datasets, evaluate, metrics

    >>> dataset = datasets.Phishing()
    >>> model = ret.ForgetfulDecisionTreeClassifier(seed=42)
    >>> metric = metrics.Accuracy()
    >>> evaluate.progressive_val_score(dataset, model, metric)
    Accuracy: 89.27%
    """

    @plain_parameters
    def __init__(
        self,
        batch_size: int = 100,
        criterion: str = "entropy",
        warm_size: int = 64,
        initial_rate: float = 0.3,
        max_depth: int | None = None,
        max_retained: int = 10_000,
        max_columns: int = 2_000,
        warm_up: int = 500,
        reference: bool = False,
        seed: int | None = None,
    ) -> None:
        self.batch_size = batch_size
        self.criterion = criterion
        self.warm_size = warm_size
        self.initial_rate = initial_rate
        self.max_depth = max_depth
        self.max_retained = max_retained
        self.max_columns = max_columns
        self.warm_up = warm_up
        self.reference = reference
        self.seed = seed
        check_choice("criterion", criterion, "entropy", "gini")
        self._begin(criterion)


class ForgetfulDecisionTreeRegressor(_Forgetful, TreeRegressor):
    """Forgetful decision tree: CART on the newest samples that still help.

    After each batch, CART grows the tree anew on the samples that it retains. Their number grows
    while the skill of the tree is stable and shrinks when the skill falls; the skill is
    1 - (squared error of the tree) / (squared error of the running mean). A tree that is no better
    than the running mean forgets all but the last batch. (The paper[^1] has classifiers only.)
    Leaves predict the mean of their targets.

    Parameters
    ----------
    batch_size
        Number of samples after which the trees are regrown. Class weights and means in the leaves
        are up to date after every sample. During the first batch, trees are grown on the first 10,
        20, 30, 45 ... samples.
    warm_size
        Number of samples to retain before a tree may forget any. It doubles until the tree is
        better than the running mean.
    initial_rate
        Share of a batch by which the retained size grows while the accuracy is stable, at the
        start; the rate adapts to the stream.
    max_depth
        Largest height of a tree. It is never higher than log2 of its retained size; `None` sets no
        other limit. `mutate` can change it.
    max_retained
        Largest number of samples that a tree retains. `mutate` can change it.
    max_columns
        Largest number of columns. A feature has one column for its numbers and one for its nominal
        values; features that come later are ignored.
    reference
        Behave like the published implementation: the retained size may exceed the number of
        samples, samples are learned when their batch is complete, and a threshold is the largest
        value on its left side.
    seed
        Random seed; `None` draws one.

    Attributes
    ----------
    retained_sizes
        Number of samples that each tree retains.

    Notes
    -----
    Weights count in splits, leaves and predictions; the retained size counts samples. At a split,
    missing values go to the side that fits them better, or to the heavier child. New features may
    appear at any time.

    References
    ----------
    [^1]: Yuan, Z., Sun, Y. and Shasha, D., 2023. Forgetful Forests: Data Structures for Machine
        Learning on Streaming Data under Concept Drift. Algorithms, 16(6), 278.

    Examples
    --------

    >>> import river_extra_trees as ret
    >>> from river import datasets, evaluate, metrics

    >>> dataset = datasets.TrumpApproval()
    >>> model = ret.ForgetfulDecisionTreeRegressor(seed=42)
    >>> metric = metrics.MAE()
    >>> evaluate.progressive_val_score(dataset, model, metric)
    MAE: 0.533392
    """

    @plain_parameters
    def __init__(
        self,
        batch_size: int = 100,
        warm_size: int = 64,
        initial_rate: float = 0.3,
        max_depth: int | None = None,
        max_retained: int = 10_000,
        max_columns: int = 2_000,
        reference: bool = False,
        seed: int | None = None,
    ) -> None:
        self.batch_size = batch_size
        self.warm_size = warm_size
        self.initial_rate = initial_rate
        self.max_depth = max_depth
        self.max_retained = max_retained
        self.max_columns = max_columns
        self.reference = reference
        self.seed = seed
        self._begin("variance")


class ForgetfulRandomForestClassifier(_Forgetful, TreeClassifier):
    """Forgetful random forest: votes of forgetful trees that differ in features and memory.

    Every tree uses a random subset of the features and forgets random samples; its accuracy
    determines how many. When the accuracy of the forest falls significantly, its worst trees get
    new features.[^1] The prediction averages the class frequencies in the leaves. Choose it for
    streams that drift often or abruptly, if the cost per sample matters.

    Parameters
    ----------
    n_models
        Number of trees.
    batch_size
        Number of samples after which the trees are regrown. Class weights and means in the leaves
        are up to date after every sample. During the first batch, trees are grown on the first 10,
        20, 30, 45 ... samples.
    criterion
        Impurity that splits reduce: `"entropy"` or `"gini"`.
    warm_size
        Number of samples to retain before a tree may forget any. It doubles until the tree is
        better than guessing.
    initial_rate
        Share of a batch by which the retained size grows while the accuracy is stable, at the
        start; the rate adapts to the stream.
    max_depth
        Largest height of a tree. It is never higher than log2 of its retained size; `None` sets no
        other limit. `mutate` can change it.
    max_retained
        Largest number of samples that a tree retains. Copies made by bagging count. `mutate` can
        change it.
    max_columns
        Largest number of columns. A feature has one column for its numbers and one for its nominal
        values; features that come later are ignored.
    bagging
        Whether each tree learns a random number of copies of each batch (six on average, at most
        ten), drawn with replacement: more accurate on some streams, and several times slower.
    significance
        Significance level of the drift test that decides when the worst trees are discarded. 0
        never discards.
    n_jobs
        Number of threads that grow trees. It does not change the predictions.
    warm_up
        Number of samples at the start during which predictions also draw on naive Bayes and on the
        latest classes. With 0, and with `reference`, the trees always predict alone.
    reference
        Behave like the published implementation: the retained size may exceed the number of
        samples, samples are learned when their batch is complete, a threshold is the largest value
        on its left side, and the test of that implementation decides when to discard trees.
    seed
        Random seed; `None` draws one.

    Attributes
    ----------
    retained_sizes
        Number of samples that each tree retains. Copies made by bagging count.

    Notes
    -----
    Weights count in splits, leaves and predictions; the retained size counts samples. At a split,
    missing values go to the side that fits them better, or to the heavier child. New features and
    new classes may appear at any time.

    References
    ----------
    [^1]: Yuan, Z., Sun, Y. and Shasha, D., 2023. Forgetful Forests: Data Structures for Machine
        Learning on Streaming Data under Concept Drift. Algorithms, 16(6), 278.

    Examples
    --------

    >>> import river_extra_trees as ret
    >>> from river import datasets, evaluate, metrics

    >>> dataset = datasets.Phishing()
    >>> model = ret.ForgetfulRandomForestClassifier(seed=42)
    >>> metric = metrics.Accuracy()
    >>> evaluate.progressive_val_score(dataset, model, metric)
    Accuracy: 91.03%
    """

    @plain_parameters
    def __init__(
        self,
        n_models: int = 20,
        batch_size: int = 100,
        criterion: str = "entropy",
        warm_size: int = 64,
        initial_rate: float = 0.3,
        max_depth: int | None = None,
        max_retained: int = 10_000,
        max_columns: int = 2_000,
        bagging: bool = False,
        significance: float = 0.05,
        n_jobs: int = 1,
        warm_up: int = 500,
        reference: bool = False,
        seed: int | None = None,
    ) -> None:
        self.n_models = n_models
        self.batch_size = batch_size
        self.criterion = criterion
        self.warm_size = warm_size
        self.initial_rate = initial_rate
        self.max_depth = max_depth
        self.max_retained = max_retained
        self.max_columns = max_columns
        self.bagging = bagging
        self.significance = significance
        self.n_jobs = n_jobs
        self.warm_up = warm_up
        self.reference = reference
        self.seed = seed
        check_choice("criterion", criterion, "entropy", "gini")
        self._begin(criterion, n_models, True, bagging, significance, n_jobs)


class ForgetfulRandomForestRegressor(_Forgetful, TreeRegressor):
    """Forgetful random forest: means of forgetful trees that differ in features and memory.

    Every tree uses a random subset of the features and forgets random samples; its squared error,
    compared with that of the running mean, determines how many. When the squared error of the
    forest rises significantly, its worst trees get new features.[^1] The prediction is the mean of
    the leaf means, so it stays within the range of the retained targets.

    Parameters
    ----------
    n_models
        Number of trees.
    batch_size
        Number of samples after which the trees are regrown. Class weights and means in the leaves
        are up to date after every sample. During the first batch, trees are grown on the first 10,
        20, 30, 45 ... samples.
    warm_size
        Number of samples to retain before a tree may forget any. It doubles until the tree is
        better than the running mean.
    initial_rate
        Share of a batch by which the retained size grows while the accuracy is stable, at the
        start; the rate adapts to the stream.
    max_depth
        Largest height of a tree. It is never higher than log2 of its retained size; `None` sets no
        other limit. `mutate` can change it.
    max_retained
        Largest number of samples that a tree retains. Copies made by bagging count. `mutate` can
        change it.
    max_columns
        Largest number of columns. A feature has one column for its numbers and one for its nominal
        values; features that come later are ignored.
    bagging
        Whether each tree learns a random number of copies of each batch (six on average, at most
        ten), drawn with replacement: more accurate on some streams, and several times slower.
    significance
        Significance level of the drift test that decides when the worst trees are discarded. 0
        never discards.
    n_jobs
        Number of threads that grow trees. It does not change the predictions.
    reference
        Behave like the published implementation: the retained size may exceed the number of
        samples, samples are learned when their batch is complete, a threshold is the largest value
        on its left side, and the test of that implementation decides when to discard trees.
    seed
        Random seed; `None` draws one.

    Attributes
    ----------
    retained_sizes
        Number of samples that each tree retains. Copies made by bagging count.

    Notes
    -----
    Weights count in splits, leaves and predictions; the retained size counts samples. At a split,
    missing values go to the side that fits them better, or to the heavier child. New features may
    appear at any time.

    References
    ----------
    [^1]: Yuan, Z., Sun, Y. and Shasha, D., 2023. Forgetful Forests: Data Structures for Machine
        Learning on Streaming Data under Concept Drift. Algorithms, 16(6), 278.

    Examples
    --------

    >>> import river_extra_trees as ret
    >>> from river import datasets, evaluate, metrics

    >>> dataset = datasets.TrumpApproval()
    >>> model = ret.ForgetfulRandomForestRegressor(seed=42)
    >>> metric = metrics.MAE()
    >>> evaluate.progressive_val_score(dataset, model, metric)
    MAE: 0.512126
    """

    @plain_parameters
    def __init__(
        self,
        n_models: int = 20,
        batch_size: int = 100,
        warm_size: int = 64,
        initial_rate: float = 0.3,
        max_depth: int | None = None,
        max_retained: int = 10_000,
        max_columns: int = 2_000,
        bagging: bool = False,
        significance: float = 0.05,
        n_jobs: int = 1,
        reference: bool = False,
        seed: int | None = None,
    ) -> None:
        self.n_models = n_models
        self.batch_size = batch_size
        self.warm_size = warm_size
        self.initial_rate = initial_rate
        self.max_depth = max_depth
        self.max_retained = max_retained
        self.max_columns = max_columns
        self.bagging = bagging
        self.significance = significance
        self.n_jobs = n_jobs
        self.reference = reference
        self.seed = seed
        self._begin("variance", n_models, True, bagging, significance, n_jobs)
