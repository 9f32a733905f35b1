"""The base class of the forests that grow batch by batch: stream and forgetful forests."""

from __future__ import annotations

from .._core.cart.splitter import Splitter
from .._core.forests.forest import Forest
from .._core.forests.memories import MemoryForest
from .learner import TreeLearner

__all__ = ["BatchForest"]


class BatchForest(TreeLearner):
    """A forest that collects samples, and grows its trees when a batch is full.

    `_grow` makes a plan; it changes nothing, so it may be interrupted. The core then carries out
    the whole plan, or nothing if another thread has grown the trees on this batch meanwhile.

    The working memory of growth is allocated for each growth and freed afterwards, because it is
    many times the size of a young tree.
    """

    _core: Forest | MemoryForest
    _sizes = {"n_models": "n_trees", "batch_size": "batch_size"}  # noqa: RUF012

    def _new_splitter(self) -> Splitter:
        """Make the splitter of one thread: the rules of growth, and working memory."""
        raise NotImplementedError

    def _new_splitters(self) -> list[Splitter]:
        """Make one splitter per thread."""
        n_jobs = getattr(self, "n_jobs", 1)  # a single tree has no such parameter
        return [self._new_splitter() for _ in range(min(n_jobs, self._n_trees))]
