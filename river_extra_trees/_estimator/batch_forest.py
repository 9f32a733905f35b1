"""The base class of the forests that grow batch by batch: stream and forgetful forests."""

from __future__ import annotations

import typing

import numpy as np
import numpy.typing as npt

from .._core.cart.splitter import Splitter
from .._core.forests.forest import Forest
from .._core.forests.memories import MemoryForest
from .frames import Sample
from .learner import TreeLearner

if typing.TYPE_CHECKING:
    from .._core.table import Reader

__all__ = ["BatchForest", "Losses"]

Losses = npt.NDArray[np.float64]


class BatchForest(TreeLearner):
    """A forest that collects samples, and grows its trees when a batch is full.

    `learn` of the core returns true when a batch is full. `_grow` then makes a plan; it changes
    nothing, so it may be interrupted. The core carries out the whole plan, or nothing if another
    thread has grown the trees on this batch meanwhile.

    The working memory of growth is allocated for each call that learns and freed afterwards,
    because it is many times the size of a young tree.
    """

    _core: Forest | MemoryForest
    _sizes = {"n_models": "n_trees", "batch_size": "batch_size"}  # noqa: RUF012

    def learn_one(self, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        while (is_full := self._core.learn(x, y, w)) is None:
            self._grow()  # the growth on the last batch ran out of memory or was interrupted
        if is_full:
            self._grow()

    learn_one.__doc__ = TreeLearner.learn_one.__doc__

    def _learn_rows(self, reader: Reader) -> None:
        splitters: list[Splitter] | None = None  # for all growths of this call
        while reader.row < reader.n:
            if self._core.go_on(reader):
                splitters = splitters or self._new_splitters()
                self._grow(splitters=splitters)

    def _grow(self, losses: Losses | None = None, splitters: list[Splitter] | None = None) -> None:
        """Plan the growth on the full batch, and let the core carry it out.

        `losses` are those of all trees of the forest, if other parts of it hold some of them.
        Without `splitters`, new ones are made. After a failure the batch is kept, and the next call
        that learns tries again.
        """
        raise NotImplementedError

    def _new_splitter(self) -> Splitter:
        """Make the splitter of one thread: the rules of growth, and working memory."""
        raise NotImplementedError

    def _new_splitters(self) -> list[Splitter]:
        """Make one splitter per thread."""
        n_jobs = getattr(self, "n_jobs", 1)  # a single tree has no such parameter
        return [self._new_splitter() for _ in range(min(n_jobs, self._n_trees))]
