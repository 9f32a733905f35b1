"""Base class of the stream decision trees and forests: parameters and growth."""

from __future__ import annotations

import typing

from ._core.cart.splitter import Splitter
from ._core.forests.stream import StreamForest
from ._core.max_features import n_features_tried
from ._estimator.batch_forest import BatchForest
from ._estimator.parameters import (
    LARGEST,
    MaxFeatures,
    check_jobs,
    check_max_features,
    check_number,
    check_published,
    check_whole,
    decay_factor,
    draw_seed,
)

__all__ = ["StreamLearner"]


class StreamLearner(BatchForest):
    """Base of all four learners. Trees call `_begin`, forests call `_begin_forest`."""

    batch_size: int
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    max_features: MaxFeatures
    max_nodes: int
    leaf_memory: float | None
    published: bool = False  # of classifiers
    seed: int | None
    criterion: str  # of classifiers

    # Of forests.
    n_models: int
    n_swaps: int | float = 0
    n_jobs: int

    _mutable = frozenset({"max_features", "max_nodes"})

    def _begin(self, criterion: str) -> None:
        """Check the parameters, and make the core object."""
        self._check_parameters()
        self._core = self._new_forest(criterion)

    def _begin_forest(self, criterion: str) -> None:
        """Check the parameters of a forest, and make the core object."""
        check_whole("n_models", self.n_models, 1)
        check_jobs(self.n_jobs)
        if isinstance(self.n_swaps, float):
            check_number("n_swaps", self.n_swaps, 0, 1, "(]")
        else:
            check_whole("n_swaps", self.n_swaps, 0)
        self._check_parameters()
        self._core = self._new_forest(criterion, self.n_models, bagging=True)

    def _check_parameters(self) -> None:
        check_whole("max_depth", self.max_depth, 0, optional=True)
        for name in ("batch_size", "min_samples_split", "min_samples_leaf", "max_nodes"):
            check_whole(name, getattr(self, name), 1)
        check_max_features(self.max_features)

    def _new_forest(self, criterion: str, n_models: int = 1, bagging: bool = False) -> StreamForest:
        """Make a forest whose trees all grow on each batch."""
        fading = decay_factor("leaf_memory", self.leaf_memory)
        check_published(self, "stream")
        return StreamForest(
            n_trees=n_models,
            regression=criterion == "variance",
            batch_size=self.batch_size,
            published=self.published,
            seed=draw_seed(self.seed),
            bagging=bagging,
            fading=1.0 if self.published else fading,
        )

    def _new_splitter(self) -> Splitter:
        return Splitter(
            "variance" if self._forest.regression else self.criterion,
            self.max_depth,
            self.min_samples_split,
            self.min_samples_leaf,
            shuffled=self.published,
            published="stream" if self.published else None,
        )

    def _grow(self, splitters: list[Splitter] | None = None) -> None:
        """Grow those trees on a batch that have to grow now, and replace some of them."""
        forest = self._forest
        splitters = splitters or self._new_splitters()
        if forest.n_waiting == 0:
            self._begin_growth(forest)
        forest.grow(splitters, LARGEST if self.published else self.max_nodes)

    def _begin_growth(self, forest: typing.Any) -> None:
        """Plan the growth on a full batch, or of early trees on a part of the first one."""
        batch, n = forest.n_batches, forest.n_in_batch
        depth = LARGEST if self.max_depth is None else self.max_depth
        n_features = n_features_tried(self.max_features, forest.n_offered)
        n_per_step = self._trees_per_step(forest.n_trees * n)
        if n < self.batch_size:
            forest.begin_early(depth, n_features, n_per_step)
            return
        replaced: list[int] = []
        if self.n_swaps > 0:
            is_share = isinstance(self.n_swaps, float)
            n_swaps = max(1, int(self.n_swaps * self.n_models)) if is_share else self.n_swaps
            replaced = forest.trees_to_replace(n_swaps)
        forest.begin_growth(batch, replaced, depth, n_features, n_per_step)
