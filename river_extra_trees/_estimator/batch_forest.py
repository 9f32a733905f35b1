"""What the forests that learn in batches have in common: stream and forgetful ones."""

from __future__ import annotations

import typing

from .._core.forests.forest import Forest
from .._core.cart import Splitter
from .inspection import TreeLearner, named_nodes

__all__ = ["BatchForest"]


class BatchForest(TreeLearner):
    """A forest whose samples are gathered, and whose trees grow when a batch is full."""

    _core: Forest
    _splitters: list[Splitter]  # one per thread
    _sizes = {"n_models": "n_trees", "batch_size": "batch_size"}  # noqa: RUF012

    def _grow(self) -> None:
        self._core.learn_batch(self, self._plan_batch)

    @property
    def _n_trees(self) -> int:
        return len(self._core.trees)

    def _nodes(self, tree: int) -> list[dict[str, typing.Any]]:
        return named_nodes(self._core.trees[tree], self._core.schema)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return sum(trees.n_nodes for trees in self._core.trees)

    @property
    def height(self) -> int:
        """Number of splits on the longest way from a root to a leaf."""
        return max(trees.height for trees in self._core.trees)
