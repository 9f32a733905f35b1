"""One forest whose trees live in several processes, and answer as in one."""

from __future__ import annotations

import abc
import shutil
import typing
import uuid
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

from river import base
from river.utils import dataframe

from river_extra_trees._estimator.parameters import (check_parameter, check_whole)
from river_extra_trees._estimator.frames import PredictsMany, PredictsProbaMany
from river_extra_trees._estimator.inspection import Sample
from river_extra_trees.distributed.blocks import Block
from river_extra_trees.distributed.parts import Ballots, Splits, merge
from river_extra_trees.stream_forest import (
    StreamDecisionForestClassifier,
    StreamDecisionForestRegressor,
)

from .workers import Call, Worker

__all__ = ["DistributedClassifier", "DistributedRegressor"]

SMALL = 4_096  # numbers in a block that costs less in each message than once in shared memory


class _Distributed(PredictsMany, base.Estimator):
    """The blocks of both learners: gathered, sent, learned and answered."""

    def __init__(
        self,
        model: Splits,
        n_workers: int = 2,
        block_size: int = 500,
        folder: str | Path | None = None,
        checkpoint_every: int = 10_000,
    ) -> None:
        self.model = model
        self.n_workers = n_workers
        self.block_size = block_size
        self.folder = folder
        self.checkpoint_every = checkpoint_every
        self._begin()

    def _begin(self) -> None:
        check_parameter(
            isinstance(self.model, Splits),
            "model",
            self.model,
            "a stream or forgetful forest, or dynamic trees",
        )
        check_whole("n_workers", self.n_workers, 1)
        for name in ("block_size", "checkpoint_every"):
            check_whole(name, getattr(self, name), 1)
        self._workers: list[Worker] = []
        self._gathered: list[tuple[Sample, typing.Any, float]] = []  # not sent yet
        self._coming: set[Hashable] = set()  # the labels of those
        self._calls: list[Call] = []  # the last ones to learn, not answered yet
        self._reports_due = False  # whether their answers are reports of a full batch
        # Sees all samples, and so knows what is valid, which labels there are, and counts votes.
        self._front = self.model._front()
        self._parts = list(self.model.split(self.n_workers))  # of the model as it is now
        self._place: Path | None = None

    def _started(self) -> list[Worker]:
        """The workers, which begin when they are needed first."""
        if not self._workers:
            if self.folder is not None:
                self._place = Path(self.folder).absolute() / uuid.uuid4().hex
            self._workers = [
                Worker(
                    part,
                    None if self._place is None else self._place / f"part{i}.pickle",
                    self.checkpoint_every,
                )
                for i, part in enumerate(self._parts)
            ]
            self._parts = []
        return self._workers

    # ------------------------------------------------------------------ learning

    def learn_one(self, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        """Learn a sample. It is sent to the workers with others, `block_size` at a time.

        Parameters
        ----------
        x
            Features, as the model takes them.
        y
            The target.
        w
            Weight of the sample; 0 learns nothing.

        Raises
        ------
        ValueError, TypeError
            What the model would raise. Nothing is learned then.
        """
        self._front.validate(x, y, w, self._coming)
        self._gathered.append((dict(x.items()), y, w))
        if len(self._gathered) >= self.block_size:
            self._send_gathered()

    def learn_many(self, X: typing.Any, y: typing.Any, w: typing.Any = None) -> None:
        """Learn the rows of a data frame, one after the other.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows (pandas, polars, pyarrow, ...).
        y
            A series of targets, as long as the frame.
        w
            One weight for all rows, a series of weights, or `None` for 1.

        Raises
        ------
        ValueError, TypeError
            If the lengths differ, or a row is refused; the message names the row. Nothing of the
            frame is learned then.
        """
        block = Block.from_frame(dataframe.into_frame(X), y, w)
        self._send_gathered()
        coming: set[Hashable] = set()
        for i, (x, target, weight) in enumerate(block.samples()):
            try:
                self._front.validate(x, target, weight, coming)
            except (TypeError, ValueError) as error:
                raise type(error)(f"row {i}: {error}") from None
        self._learn(block)

    def _send_gathered(self) -> None:
        if self._gathered:
            rows, targets, weights = zip(*self._gathered, strict=True)
            self._gathered, self._coming = [], set()
            self._learn(Block(rows, targets, weights))

    def _learn(self, block: Block) -> None:
        """Let all parts learn a block: one message for every batch, and its answer.

        The answers to the last message are left for later, so that this process can see to the next
        block while the workers learn.
        """
        workers = self._started()
        start, given = 0, self._share(block)
        while start < len(block):
            combined = self._combined()
            self._calls = [worker.tell("go_on", combined, given, start) for worker in workers]
            given = None  # they have it now
            start, report = self._front.go_on(combined, block, start)
            self._reports_due = report is not None

    def _combined(self) -> typing.Any:
        """What all parts need to know of the last batch, if they have yet to grow on it."""
        if not self._calls:
            return None
        reports = [report for _, report in self._results(self._calls)]
        self._calls = []
        return self._front.combine(reports) if self._reports_due else None

    def _finish(self) -> None:
        """Send what is gathered, and let the parts grow on a batch that is full."""
        self._send_gathered()
        combined = self._combined()
        if combined is not None:
            for worker in self._started():
                worker.tell("grow", combined)
            self._front.grow(combined)

    def _share(self, block: Block) -> typing.Any:
        """What to send for a block: itself, or if it is large, where all workers can read it."""
        if block.numbers.size <= SMALL:
            return block
        return self._started()[0].share(block)

    def _results(self, calls: Sequence[Call]) -> list[typing.Any]:
        pairs = zip(self._workers, calls, strict=True)
        return [worker.result(call) for worker, call in pairs]

    # ------------------------------------------------------------------ answers

    def _ballots(self, block: Block) -> list[Ballots]:
        """What the trees of all workers say."""
        self._front.ballots(block)  # of no trees: raises what the forest would, and costs little
        self._finish()
        given = self._share(block)
        return self._results([worker.ask("ballots", given) for worker in self._started()])

    @abc.abstractmethod
    def _predict(self, block: Block) -> list[typing.Any]:
        """What the whole answers to the samples of a block."""

    def _predict_frame(self, frame: typing.Any) -> list[typing.Any]:
        return self._predict(Block.from_frame(frame))

    # ------------------------------------------------------------------ the whole

    @property
    def n_samples_seen(self) -> int:
        """Number of samples learned, those of weight zero not counted."""
        self._send_gathered()
        return self._front.n_samples_seen

    @property
    def n_restarts(self) -> int:
        """How often a worker was brought back to life."""
        return sum(worker.n_restarts for worker in self._workers)

    def processes(self) -> list[int]:
        """The process number of each worker."""
        return [worker.process() for worker in self._started()]

    def counters(self) -> list[tuple[int, int]]:
        """For each worker: samples its trees have seen, and those that its checkpoint covers."""
        self._finish()
        return [worker.counters() for worker in self._started()]

    def gather(self) -> typing.Any:
        """Fetch the trees of all workers and make one forest of them, in this process.

        It answers and goes on as this one does, and is what to save, to look at, or to take a
        snapshot of. The workers go on, too.

        Raises
        ------
        TypeError
            If the workers hold clouds of dynamic trees, which stay apart.
        """
        self._finish()
        return merge(self._results([worker.ask("copy") for worker in self._started()]))

    def close(self) -> None:
        """End the workers; what they have learned is lost, with their checkpoints."""
        for worker in self._workers:
            worker.close()
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)
        self._begin()

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _unit_test_skips(self) -> set[str]:
        """The checks that pickle the model: its workers are processes (see `gather`)."""
        return {
            "check_clone_is_independent",
            "check_no_state_aliasing_with_input",
            "check_pickling",
            "check_pickling_supports_roundtrip",
            "check_shuffle_features_no_impact",
        }

    def __reduce__(self) -> typing.Any:
        raise TypeError("the workers cannot be pickled: pickle what gather() returns")


class DistributedClassifier(_Distributed, PredictsProbaMany, base.MiniBatchClassifier):
    """A classifying forest in several processes that answers bit for bit as in one.

    Ray[^1] runs the processes, here or on other machines: each holds some of the trees and learns
    every sample. They exchange a message per batch, in which the trees' losses decide which of them
    are swapped or discarded. Choose it for forests of many trees on fast streams; it pays where
    the trees take much longer to learn a block than the block takes to travel.

    Parameters
    ----------
    model
        A `StreamDecisionForestClassifier` or `ForgetfulRandomForestClassifier`; or a
        `DynamicTreeClassifier`, of which each worker gets a cloud of its own, and the answers are
        averaged (see its `split`). It stays as it is; what it has learned is where the workers
        begin.
    n_workers
        Number of processes, at most that of the trees.
    block_size
        Number of samples that `learn_one` gathers before it sends them. An answer sends them, too.
    folder
        Folder for the checkpoints of the workers, on a disk that all machines share; `None` for
        none. With it, a worker that dies is brought back and loses nothing; without, its death is
        an error of a call that waits for it: an answer, or learning within two blocks. `close`
        removes the checkpoints; a process that ends without it leaves them.
    checkpoint_every
        Number of samples after which a worker writes a checkpoint. Until then, the blocks stay in
        memory.

    References
    ----------
    [^1]: Moritz, P. et al., 2018. Ray: A Distributed Framework for Emerging AI Applications.
        13th USENIX Symposium on Operating Systems Design and Implementation, pp. 561-577.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees.distributed import DistributedClassifier

    >>> forest = ret.StreamDecisionForestClassifier(n_models=100, seed=42)
    >>> with DistributedClassifier(forest, n_workers=2) as model:  # doctest: +SKIP
    ...     for x, y in datasets.Phishing():
    ...         model.learn_one(x, y)
    ...     model.predict_one(x)
    False
    """

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {"model": StreamDecisionForestClassifier(n_models=3, seed=1)}

    @property
    def _multiclass(self) -> bool:
        return True

    def _predict(self, block: Block) -> list[typing.Any]:
        return self._front.predict_labels(self._ballots(block))

    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the label of a sample: `None` before the first sample was learned.

        Parameters
        ----------
        x
            Features.
        """
        return self._predict(Block([x]))[0]

    def predict_proba_one(self, x: Sample) -> dict[Hashable, float]:
        """Predict the probability of every label learned so far.

        Parameters
        ----------
        x
            Features.
        """
        return self._front.predict_probabilities(self._ballots(Block([x])))[0]

    def _predict_proba_frame(self, frame: typing.Any) -> list[dict[Hashable, float]]:
        return self._front.predict_probabilities(self._ballots(Block.from_frame(frame)))


class DistributedRegressor(_Distributed, base.MiniBatchRegressor):
    """A regressing forest in several processes that answers bit for bit as in one.

    Ray[^1] runs the processes, here or on other machines: each holds some of the trees and learns
    every sample. They exchange a message per batch, in which the trees' losses decide which of them
    are swapped or discarded. Choose it for forests of many trees on fast streams; it pays where
    the trees take much longer to learn a block than the block takes to travel.

    Parameters
    ----------
    model
        A `StreamDecisionForestRegressor` or `ForgetfulRandomForestRegressor`; or a
        `DynamicTreeRegressor`, of which each worker gets a cloud of its own, and the answers are
        averaged (see its `split`). It stays as it is; what it has learned is where the workers
        begin.
    n_workers
        Number of processes, at most that of the trees.
    block_size
        Number of samples that `learn_one` gathers before it sends them. An answer sends them, too.
    folder
        Folder for the checkpoints of the workers, on a disk that all machines share; `None` for
        none. With it, a worker that dies is brought back and loses nothing; without, its death is
        an error of a call that waits for it: an answer, or learning within two blocks. `close`
        removes the checkpoints; a process that ends without it leaves them.
    checkpoint_every
        Number of samples after which a worker writes a checkpoint. Until then, the blocks stay in
        memory.

    References
    ----------
    [^1]: Moritz, P. et al., 2018. Ray: A Distributed Framework for Emerging AI Applications.
        13th USENIX Symposium on Operating Systems Design and Implementation, pp. 561-577.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees.distributed import DistributedRegressor

    >>> forest = ret.StreamDecisionForestRegressor(n_models=100, seed=42)
    >>> with DistributedRegressor(forest, n_workers=2) as model:  # doctest: +SKIP
    ...     for x, y in datasets.TrumpApproval():
    ...         model.learn_one(x, y)
    ...     round(model.predict_one(x), 2)
    41.8
    """

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {"model": StreamDecisionForestRegressor(n_models=3, seed=1)}

    def _predict(self, block: Block) -> list[typing.Any]:
        return self._front.predict_numbers(self._ballots(block))

    def predict_one(self, x: Sample) -> float:
        """Predict the target of a sample: 0 before the first sample was learned.

        Parameters
        ----------
        x
            Features.
        """
        return float(self._predict(Block([x]))[0])
