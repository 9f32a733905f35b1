"""Base class of the stream decision trees and forests: parameters and growth."""

from __future__ import annotations

import typing

from ._core.cart.splitter import Splitter
from ._core.forests.batch_growth import grow_early
from ._core.forests.memories import MemoryForest
from ._core.forests.stream import StreamForest
from ._estimator.batch_forest import BatchForest
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
)

__all__ = ["LINEAR_MODELS", "StreamLearner"]

# Nodes of a tree that have a linear model; the regressor has trees of all three kinds.
LINEAR_MODELS = ("none", "leaves", "root")

# What the split of one of many nominal values must achieve per level, see `Splitter`. A tree on
# columns of 1,000 values that say nothing about the target then has fewer than 60 levels instead of
# 1,500.
SUPPORT = 0.1


class StreamLearner(BatchForest):
    """Base of all four learners. Trees call `_begin`, forests call `_begin_forest`."""

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
    criterion: str  # of classifiers
    warm_up: int = 0  # of classifiers that are trees

    # Of forests.
    n_models: int
    n_swaps: int = 0
    swap_rule: str = "published"
    window_size: int | tuple[int, ...]
    n_jobs: int

    _mutable = frozenset({"max_features", "max_nodes"})

    @property
    def _mutable_attributes(self) -> set[str]:
        # With rotation, unfinished trees have been started with the present values.
        return set() if isinstance(self._core, MemoryForest) else set(self._mutable)

    def _begin(self, criterion: str) -> None:
        """Check the parameters, and make the core object."""
        self._check_parameters()
        self._core = self._new_forest(criterion)

    def _begin_forest(self, criterion: str) -> None:
        """Check the parameters of a forest, and make the core object."""
        self._check_parameters()
        check_choice("swap_rule", self.swap_rule, "rotation", "always", "published")
        check_whole("n_models", self.n_models, 1)
        check_whole("n_swaps", self.n_swaps, 0)
        check_whole("n_jobs", self.n_jobs, 1)
        if self.swap_rule == "rotation":
            self._check_rotation()
            self._core = self._new_rotation(criterion)
            return
        check_whole("window_size", self.window_size, 0)
        regrows = self.n_swaps > 0 and not self.reference
        n_latest = typing.cast(int, self.window_size) if regrows else 0
        self._core = self._new_forest(criterion, self.n_models, n_latest, bootstrap=True)

    def _check_parameters(self) -> None:
        check_whole("max_depth", self.max_depth, 0, optional=True)
        for name in ("batch_size", "min_samples_split", "min_samples_leaf", "max_nodes"):
            check_whole(name, getattr(self, name), 1)
        check_choice("splitter", self.splitter, "best", "random")
        check_number("leaf_memory", self.leaf_memory, 1, words=(None,))
        check_switch("reference", self.reference)
        check_whole("warm_up", self.warm_up, 0)
        check_max_features(self.max_features)

    @property
    def _fading(self) -> float:
        """Factor by which each sample multiplies the weights of the earlier ones in its leaf."""
        return 1.0 if self.leaf_memory is None else 1.0 - 1.0 / self.leaf_memory

    def _new_forest(
        self, criterion: str, n_models: int = 1, n_latest: int = 0, bootstrap: bool = False
    ) -> StreamForest:
        """Make a forest that keeps `n_latest` samples, and whose trees all grow on each batch."""
        return StreamForest(
            n_trees=n_models,
            regression=criterion == "variance",
            batch_size=self.batch_size,
            reference=self.reference,
            warm_up=self.warm_up,
            seed=draw_seed(self.seed),
            bootstrap=bootstrap,
            fading=self._fading,
            n_latest=n_latest,
        )

    def _check_rotation(self) -> None:
        sizes = self.window_size
        check_parameter(
            isinstance(sizes, tuple)
            and len(sizes) > 0
            and all(is_whole(size) and 1 <= size <= LARGEST // 4 for size in sizes)
            and len(set(sizes)) == len(sizes),
            "window_size",
            sizes,
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

    def _new_rotation(self, criterion: str) -> MemoryForest:
        """Make a forest whose trees are regrown in turn, on windows of several sizes."""
        kinds = LINEAR_MODELS if criterion == "variance" else LINEAR_MODELS[:1]
        sizes = typing.cast(tuple[int, ...], self.window_size)
        groups = [(int(size), kind) for kind in kinds for size in sizes]
        least, more = divmod(self.n_models, len(groups))
        n_trees = [least + (i < more) for i in range(len(groups)) if least or i < more]
        return MemoryForest(
            regression=criterion == "variance",
            memories=[(size, n) for (size, _), n in zip(groups, n_trees, strict=False)],
            linear=[kind for (_, kind), _ in zip(groups, n_trees, strict=False)],
            batch_size=self.batch_size,
            fading=self._fading,
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

    def _new_splitter(self) -> Splitter:
        return Splitter(
            "variance" if self._core.regression else self.criterion,
            self.max_depth,
            self.min_samples_split,
            self.min_samples_leaf,
            self.splitter,
            shuffled=self.reference,
            program="stream" if self.reference else None,
            support=0.0 if self.reference else SUPPORT,
        )

    def _grow(self, splitters: list[Splitter] | None = None) -> None:
        """Grow the trees on a batch, and replace some of them."""
        forest: typing.Any = self._core
        batch = forest.n_batches
        splitters = splitters or self._new_splitters()
        n_features = n_features_visited(self.max_features, len(forest.schema.names))
        if forest.n_in_batch < self.batch_size:
            depth = LARGEST if self.max_depth is None else self.max_depth
            grow_early(forest, splitters, n_features, depth, self.max_nodes)
            return
        replaced: list[int] = []
        if self.n_swaps > 0:
            always = self.swap_rule == "always" and not self.reference
            replaced = forest.trees_to_replace(self.n_swaps, always)
        forest.grow(batch, splitters, replaced, n_features, self.max_nodes)

    def _more_summary(self) -> dict[str, str]:
        if not isinstance(self._core, MemoryForest):
            return {}
        weights = self._core.memory_weights()
        texts = (f"{memory:,} samples {weight:.0%}" for memory, weight in weights)
        return {"memory_weights": "; ".join(texts)}
