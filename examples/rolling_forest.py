"""A learner of some fifty lines: a forest whose trees are replaced in turn.

It shows what a learner consists of: parameters, a compiled object of the core, and a policy in
Python. CONTRIBUTING.md explains them.
"""

from __future__ import annotations

from river import datasets, evaluate, metrics

from river_extra_trees._core.cart.splitter import Splitter
from river_extra_trees._core.forests.stream import StreamForest
from river_extra_trees._core.max_features import n_features_tried
from river_extra_trees._estimator.batch_forest import BatchForest
from river_extra_trees._estimator.classifier import TreeClassifier
from river_extra_trees._estimator.parameters import (
    LARGEST,
    check_whole,
    draw_seed,
    plain_parameters,
)


class RollingForestClassifier(BatchForest, TreeClassifier):
    """A forest of CART trees, the oldest of which is replaced after each batch.

    All trees grow on each batch. Thus a tree contains at most the latest `n_models` batches, and
    the forest follows concept drift without a detector.

    Parameters
    ----------
    n_models
        Number of trees.
    batch_size
        Number of samples after which the trees grow.
    seed
        Random seed; `None` draws one.

    Examples
    --------
    >>> model = RollingForestClassifier(seed=1)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 90.07%
    """

    @plain_parameters
    def __init__(self, n_models: int = 10, batch_size: int = 100, seed: int | None = None) -> None:
        check_whole("n_models", n_models, 1)
        check_whole("batch_size", batch_size, 1)
        self.n_models = n_models
        self.batch_size = batch_size
        self.seed = seed
        self._core = StreamForest(
            n_trees=n_models,
            regression=False,
            batch_size=batch_size,
            published=False,
            seed=draw_seed(seed),
            bagging=True,
            fading=1.0,
        )

    def _new_splitter(self) -> Splitter:
        return Splitter("gini")

    def _grow(self, splitters: list[Splitter] | None = None) -> None:
        """Grow the trees on the batch, and replace the oldest."""
        forest: StreamForest = self._forest
        n_features = n_features_tried("sqrt", forest.n_offered)
        if forest.n_in_batch < self.batch_size:  # during the first batch
            forest.begin_early(LARGEST, n_features, self.n_models)
        else:
            oldest = forest.n_batches % self.n_models
            forest.begin_growth(forest.n_batches, [oldest], LARGEST, n_features, self.n_models)
        forest.grow(splitters or self._new_splitters(), LARGEST)


if __name__ == "__main__":
    print(evaluate.progressive_val_score(
        datasets.ImageSegments(), RollingForestClassifier(seed=1), metrics.Accuracy()
    ))  # fmt: skip
