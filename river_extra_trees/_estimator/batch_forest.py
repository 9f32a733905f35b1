"""The base class of the forests that grow batch by batch: stream and forgetful forests."""

from __future__ import annotations

import typing

from .._core.cart.splitter import Splitter
from .._core.forests.forest import Forest
from .frames import Sample
from .learner import TreeLearner
from .parameters import n_threads_of
from .summed_trees import SummedTrees

if typing.TYPE_CHECKING:
    from .._core.table import RowReader

__all__ = ["BatchForest"]

USUAL_STEPS = 5  # in which the trees grow on a batch
# Samples times columns on which trees grow in one step, unless there would be too many steps: some
# milliseconds.
CELLS_PER_STEP = 40_000
# And the number from which on there are more steps, up to half of a batch: some 10 milliseconds.
LARGE_STEP = 400_000


class BatchForest(SummedTrees):
    """A forest that collects samples, and grows its trees when a batch is full.

    `learn` of the core returns true when a batch is full. `_grow` then makes a plan; it changes
    nothing, so it may be interrupted. The core carries out the whole plan, or nothing if another
    thread has grown the trees on this batch meanwhile.

    A growth that was interrupted or ran out of memory is due. Access to `_core` carries it out
    first, so that predictions, copies, files and inspection never see a model between a sample and
    its growth. `_forest` is the core object without this step, for the growth itself.

    The working memory of growth is allocated for each call that learns and freed afterwards,
    because it is many times the size of a young tree.
    """

    _forest: Forest
    _sizes = {"n_models": "n_trees", "batch_size": "batch_size"}  # noqa: RUF012

    @property
    def _core(self) -> Forest:
        forest = self._forest
        if forest.growth_is_due:
            self._grow()
        return forest

    @_core.setter
    def _core(self, forest: Forest) -> None:
        self._forest = forest

    def __getstate__(self) -> dict[str, typing.Any]:
        return {**self.__dict__, "_forest": self._core}

    def mutate(self, new_attrs: dict[str, typing.Any]) -> None:
        _ = self._core  # a growth that is due uses the old parameters
        super().mutate(new_attrs)

    mutate.__doc__ = TreeLearner.mutate.__doc__

    def learn_one(self, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        while (is_full := self._forest.learn(x, y, w)) is None:
            self._grow()  # the growth on the last batch ran out of memory or was interrupted
        if is_full:
            self._grow()

    def _read_rows(self, reader: RowReader) -> None:
        splitters: list[Splitter] | None = None  # for all growths of this call
        with self._team() as team:
            while reader.row < reader.n:
                if self._forest.read_stretch(reader, team):
                    splitters = splitters or self._new_splitters()
                    self._grow(splitters)

    def _grow(self, splitters: list[Splitter] | None = None) -> None:
        """Plan the growth on the full batch, and let the core carry it out.

        Without `splitters`, new ones are made. After a failure the batch is kept, and the next call
        tries again.
        """
        raise NotImplementedError

    def _trees_per_step(self, n_samples: int) -> int:
        """Return how many trees grow after a sample: all on a small batch, a fifth on a large one.

        A tree that waits is out of date for predictions, so no tree waits without need. Where a
        fifth would take much longer than a sample may, fewer grow, at least one.

        Parameters
        ----------
        n_samples
            Sum over the trees of the numbers of samples on which they grow.
        """
        forest = self._forest
        if forest.published:
            return forest.n_trees
        n_trees, n_ahead = forest.n_trees, forest.n_ahead
        n_cells = n_samples * forest.n_offered
        n_steps = max(USUAL_STEPS, min(n_cells // LARGE_STEP, n_ahead // 2))
        n_steps = min(n_steps, n_ahead)
        n_in_time = n_trees * CELLS_PER_STEP // max(1, n_cells)
        return min(n_trees, max(-(-n_trees // n_steps), n_in_time))

    def _new_splitter(self) -> Splitter:
        """Create the splitter of one thread: the rules of growth, and working memory."""
        raise NotImplementedError

    def _new_splitters(self) -> list[Splitter]:
        """Create one splitter per thread."""
        n_jobs = getattr(self, "n_jobs", 1)  # a single tree has no such parameter
        n_threads = n_threads_of(n_jobs, self._forest.n_trees)
        return [self._new_splitter() for _ in range(n_threads)]
