"""What the forests that learn in batches have in common: stream and forgetful ones."""

from __future__ import annotations

from .._core.cart.splitter import Splitter
from .._core.forests.forest import Forest
from .._core.forests.memories import MemoryForest
from .learner import TreeLearner

__all__ = ["BatchForest"]


class BatchForest(TreeLearner):
    """A forest whose samples are gathered, and whose trees grow when a batch is full.

    `_grow` plans the growth: it changes nothing, and may be interrupted. The core carries the plan
    out as a whole, unless the batch that it was made for is grown on already.

    The memory that only a growth needs is taken for the growth and given back: it is many times
    that of a young tree.
    """

    _core: Forest | MemoryForest
    _sizes = {"n_models": "n_trees", "batch_size": "batch_size"}  # noqa: RUF012

    def _new_splitter(self) -> Splitter:
        """The rules of growth, and the memory of one thread that grows trees."""
        raise NotImplementedError

    def _new_splitters(self) -> list[Splitter]:
        """One per thread."""
        n_jobs = getattr(self, "n_jobs", 1)  # a single tree has no such parameter
        return [self._new_splitter() for _ in range(min(n_jobs, self._n_trees))]
