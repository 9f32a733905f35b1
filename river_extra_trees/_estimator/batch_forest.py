"""What the forests that learn in batches have in common: stream and forgetful ones."""

from __future__ import annotations

import typing

from .._core.cart.splitter import Splitter
from .._core.forests.forest import Forest
from .._core.forests.memories import MemoryForest
from .frames import Sample
from .learner import TreeLearner

if typing.TYPE_CHECKING:
    from .._core.batch import Reader

__all__ = ["BatchForest"]


class BatchForest(TreeLearner):
    """A forest whose samples are gathered, and whose trees grow when a batch is full.

    The core's `learn` says that a batch is full. `_grow` then plans the growth: it changes nothing,
    and may be interrupted. The core carries the plan out as a whole, unless the batch that it was
    made for is grown on already.

    The memory that only a growth needs is taken for the growth and given back: it is many times
    that of a young tree.
    """

    _core: Forest | MemoryForest
    _sizes = {"n_models": "n_trees", "batch_size": "batch_size"}  # noqa: RUF012

    def learn_one(self, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        while (is_full := self._core.learn(x, y, w)) is None:
            self._grow()  # on the batch before: there was no memory for it, or a signal broke in
        if is_full:
            self._grow()

    learn_one.__doc__ = TreeLearner.learn_one.__doc__

    def _learn_rows(self, reader: Reader) -> None:
        while reader.row < reader.n:
            if self._core.go_on(reader):
                self._grow()

    def _grow(self) -> None:
        """Plan the growth on the batch that is full, and let the core carry it out.

        A failure leaves the batch as it is; the next call that learns tries again.
        """
        raise NotImplementedError

    def _new_splitter(self) -> Splitter:
        """The rules of growth, and the memory of one thread that grows trees."""
        raise NotImplementedError

    def _new_splitters(self) -> list[Splitter]:
        """One per thread."""
        n_jobs = getattr(self, "n_jobs", 1)  # a single tree has no such parameter
        return [self._new_splitter() for _ in range(min(n_jobs, self._n_trees))]
