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
    """

    _core: Forest | MemoryForest
    _splitters: list[Splitter]  # one per thread
    _sizes = {"n_models": "n_trees", "batch_size": "batch_size"}  # noqa: RUF012
