"""Forgetful decision trees and forests: CART trees on the newest samples that still help.

The learners of this module follow Yuan, Sun and Shasha (2023). After each batch, CART grows each
tree anew on the samples that it retains. Their number rises and falls with the accuracy of the
tree, so that it forgets the old concept soon after a drift. The trees of a forest use subsets of
the features and forget at random; the worst of them are discarded when the forest becomes less
accurate. Beyond the paper, leaves learn every sample immediately instead of when its batch is
complete; there are regressors; and features may be missing, nominal or new.
"""

from __future__ import annotations

from ._estimator.classifier import TreeClassifier
from ._estimator.parameters import check_choice, plain_parameters
from ._estimator.regressor import TreeRegressor
from .forgetful_learner import ForgetfulLearner

__all__ = [
    "ForgetfulDecisionTreeClassifier",
    "ForgetfulDecisionTreeRegressor",
    "ForgetfulRandomForestClassifier",
    "ForgetfulRandomForestRegressor",
]


class ForgetfulDecisionTreeClassifier(ForgetfulLearner, TreeClassifier):
    r"""Forgetful decision tree: CART on the newest samples that still help.

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
        Largest number of columns at a time, at most 16,384. A new feature takes the place of one
        that no sample and no split holds; if there is none, it is ignored.
    published
        Behave as the published program does: the retained size may exceed the number of samples,
        samples are learned when their batch is complete, and a threshold is the largest value on
        its left side. `warm_size`, `max_depth`, `max_retained` and `max_columns` keep their
        defaults; the last two bound nothing.
    seed
        Random seed; `None` draws one.

    Attributes
    ----------
    retained_sizes
        Number of samples that each tree retains.

    Notes
    -----
    Let $a$ be the accuracy of a tree on a batch before it learns it, $\ell$ that on the batch
    before, and $g$ that of guessing, which is one over the number of classes. If $a$ and $\ell$
    exceed $g$, the tree retains $r$ samples after a batch of $n$, at the rate $\iota$, where
    $u = (a - g) / (\ell - g)$:

    $$\iota \leftarrow \frac{\iota}{u}, \qquad
    r \leftarrow \min\bigl(\theta\, r + \iota\, n,\; r + n\bigr), \qquad
    \theta = \begin{cases} u^{2} & u \ge 1 \\ u^{3 - u} & u < 1 \end{cases}$$

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
    Accuracy: 88.79%
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
        published: bool = False,
        seed: int | None = None,
    ) -> None:
        self.batch_size = batch_size
        self.criterion = criterion
        self.warm_size = warm_size
        self.initial_rate = initial_rate
        self.max_depth = max_depth
        self.max_retained = max_retained
        self.max_columns = max_columns
        self.published = published
        self.seed = seed
        check_choice("criterion", criterion, "entropy", "gini")
        self._begin(criterion)


class ForgetfulDecisionTreeRegressor(ForgetfulLearner, TreeRegressor):
    r"""Forgetful decision tree: CART on the newest samples that still help.

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
        Largest number of columns at a time, at most 16,384. A new feature takes the place of one
        that no sample and no split holds; if there is none, it is ignored.
    seed
        Random seed; `None` draws one.

    Attributes
    ----------
    retained_sizes
        Number of samples that each tree retains.

    Notes
    -----
    Let $a$ be the share of the squared error of the running mean that a tree avoids on a batch
    before it learns it, $\ell$ that on the batch before, and $g = 0$. If $a$ and $\ell$ exceed $g$,
    the tree retains $r$ samples after a batch of $n$, at the rate $\iota$, where
    $u = (a - g) / (\ell - g)$:

    $$\iota \leftarrow \frac{\iota}{u}, \qquad
    r \leftarrow \min\bigl(\theta\, r + \iota\, n,\; r + n\bigr), \qquad
    \theta = \begin{cases} u^{2} & u \ge 1 \\ u^{3 - u} & u < 1 \end{cases}$$

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
        seed: int | None = None,
    ) -> None:
        self.batch_size = batch_size
        self.warm_size = warm_size
        self.initial_rate = initial_rate
        self.max_depth = max_depth
        self.max_retained = max_retained
        self.max_columns = max_columns
        self.seed = seed
        self._begin("variance")


class ForgetfulRandomForestClassifier(ForgetfulLearner, TreeClassifier):
    r"""Forgetful random forest: votes of forgetful trees that differ in features and memory.

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
        Largest number of columns at a time, at most 16,384. A new feature takes the place of one
        that no sample and no split holds; if there is none, it is ignored.
    bagging
        Whether each tree learns a random number of copies of each batch (six on average, at most
        ten), drawn with replacement: more accurate on some streams, and several times slower.
    significance
        Significance level of the drift test that decides when the worst trees are discarded. 0
        never discards.
    n_jobs
        Number of threads that grow trees, read the rows of a data frame, and explain predictions;
        -1 stands for all cores. It does not change the results.
    published
        Behave as the published program does: the retained size may exceed the number of samples,
        samples are learned when their batch is complete, a threshold is the largest value on its
        left side, and the test of that implementation decides when to discard trees. `warm_size`,
        `max_depth`, `max_retained` and `max_columns` keep their defaults; the last two bound
        nothing.
    seed
        Random seed; `None` draws one.

    Attributes
    ----------
    retained_sizes
        Number of samples that each tree retains. Copies made by bagging count.

    Notes
    -----
    Let $a$ be the accuracy of a tree on a batch before it learns it, $\ell$ that on the batch
    before, and $g$ that of guessing, which is one over the number of classes. If $a$ and $\ell$
    exceed $g$, the tree retains $r$ samples after a batch of $n$, at the rate $\iota$, where
    $u = (a - g) / (\ell - g)$:

    $$\iota \leftarrow \frac{\iota}{u}, \qquad
    r \leftarrow \min\bigl(\theta\, r + \iota\, n,\; r + n\bigr), \qquad
    \theta = \begin{cases} u^{2} & u \ge 1 \\ u^{3 - u} & u < 1 \end{cases}$$

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
    Accuracy: 90.31%
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
        published: bool = False,
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
        self.published = published
        self.seed = seed
        check_choice("criterion", criterion, "entropy", "gini")
        self._begin(criterion, n_models, True, bagging, significance, n_jobs)


class ForgetfulRandomForestRegressor(ForgetfulLearner, TreeRegressor):
    r"""Forgetful random forest: means of forgetful trees that differ in features and memory.

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
        Largest number of columns at a time, at most 16,384. A new feature takes the place of one
        that no sample and no split holds; if there is none, it is ignored.
    bagging
        Whether each tree learns a random number of copies of each batch (six on average, at most
        ten), drawn with replacement: more accurate on some streams, and several times slower.
    significance
        Significance level of the drift test that decides when the worst trees are discarded. 0
        never discards.
    n_jobs
        Number of threads that grow trees, read the rows of a data frame, and explain predictions;
        -1 stands for all cores. It does not change the results.
    seed
        Random seed; `None` draws one.

    Attributes
    ----------
    retained_sizes
        Number of samples that each tree retains. Copies made by bagging count.

    Notes
    -----
    Let $a$ be the share of the squared error of the running mean that a tree avoids on a batch
    before it learns it, $\ell$ that on the batch before, and $g = 0$. If $a$ and $\ell$ exceed $g$,
    the tree retains $r$ samples after a batch of $n$, at the rate $\iota$, where
    $u = (a - g) / (\ell - g)$:

    $$\iota \leftarrow \frac{\iota}{u}, \qquad
    r \leftarrow \min\bigl(\theta\, r + \iota\, n,\; r + n\bigr), \qquad
    \theta = \begin{cases} u^{2} & u \ge 1 \\ u^{3 - u} & u < 1 \end{cases}$$

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
        self.seed = seed
        self._begin("variance", n_models, True, bagging, significance, n_jobs)
