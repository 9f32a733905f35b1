"""Forests whose trees are distributed over several processes."""

from __future__ import annotations

import abc
import shutil
import typing
import uuid
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

import numpy as np
from river import base

from ..._estimator.answers import PredictsLabels, PredictsNumbers, coded, shares_of
from ..._estimator.frames import Sample
from ..._estimator.parameters import check_parameter, check_whole
from ...extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from ..blocks import Block
from ..parts import Votes
from ..splitting import coordinator, is_splittable, merge, split
from ..travel import check_travels
from .workers import Call, Worker

__all__ = ["DistributedClassifier", "DistributedRegressor"]

SMALL = 4_096  # blocks of up to so many numbers are sent in messages, not by shared memory


class _Distributed(base.Estimator):
    """Base class: collects samples into blocks, sends them and combines the predictions."""

    def __init__(
        self,
        model: base.Estimator,
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
            is_splittable(self.model),
            "model",
            self.model,
            "a stream decision forest, a forgetful random forest or dynamic trees",
        )
        check_whole("n_workers", self.n_workers, 1)
        for name in ("block_size", "checkpoint_every"):
            check_whole(name, getattr(self, name), 1)
        self._workers: list[Worker] = []
        self._gathered: list[tuple[Sample, typing.Any, float]] = []  # samples not sent yet
        self._coming: set[Hashable] = set()  # their labels
        self._calls: list[Call] = []  # the last calls to learn, whose results are not read yet
        self._reports_due = False  # whether their results are reports of a full batch
        # It learns all samples, so that it can validate the next ones and combine votes.
        self._coordinator = coordinator(self.model)
        self._parts = split(self.model, self.n_workers)  # of the model as it is now
        self._place: Path | None = None

    def _started(self) -> list[Worker]:
        """Return the workers; the first call starts them."""
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
        """Learn a sample. Samples are sent to the workers in blocks of `block_size`.

        Parameters
        ----------
        x
            Features, as for the model.
        y
            The target.
        w
            Weight of the sample; a sample of weight 0 is not learned.

        Raises
        ------
        ValueError, TypeError
            As from the model. Then the sample is not learned.
        """
        check_travels("the target", [y])
        self._coordinator.validate(x, y, w, self._coming)
        self._gathered.append((dict(x.items()), y, w))
        if len(self._gathered) >= self.block_size:
            self._send_gathered()

    def learn_many(self, X: typing.Any, y: typing.Any, w: typing.Any = None) -> None:
        """Learn the rows of a data frame, one after the other.

        Parameters
        ----------
        X
            A data frame of any library that narwhals supports (pandas, polars, pyarrow, ...).
        y
            A series or another sequence with the target of each row.
        w
            One weight for all rows, a sequence with the weight of each row, or `None` for 1.

        Raises
        ------
        ValueError, TypeError
            If the lengths differ, or if a row is invalid; the message names the row. Then nothing
            is learned.
        """
        block = Block.from_frame(X, y, w)
        if isinstance(block.targets, list):
            check_travels("the target", block.targets)
        self._send_gathered()
        self._coordinator.validate_block(block)
        self._learn(block)

    def _send_gathered(self) -> None:
        if self._gathered:
            rows, targets, weights = zip(*self._gathered, strict=True)
            self._gathered, self._coming = [], set()
            self._learn(Block(rows, targets, weights))

    def _learn(self, block: Block) -> None:
        """Learn a block with all parts: one message and one result per batch and worker.

        The results of the last message are read later, so that this process can prepare and
        validate the next block while the workers learn.
        """
        workers = self._started()
        start, given = 0, self._share(block)
        while start < len(block):
            combined = self._combined()
            sent = self._shared(combined)
            self._calls = [worker.apply("step", sent, given, start) for worker in workers]
            given = None  # the workers keep the block
            start, report = self._coordinator.step(combined, block, start)
            self._reports_due = report is not None

    def _combined(self) -> typing.Any:
        """Argument of `grow`, if a batch is full and the parts have not grown on it; else None."""
        if not self._calls:
            return None
        reports = [report for _, report in self._results(self._calls)]
        self._calls = []
        return self._coordinator.combine(reports) if self._reports_due else None

    def _finish(self) -> None:
        """Send the collected samples, and let the parts grow if the batch is full."""
        self._send_gathered()
        combined = self._combined()
        if combined is not None:
            sent = self._shared(combined)
            for worker in self._started():
                worker.apply("grow", sent)
            self._coordinator.grow(combined)

    def _share(self, block: Block) -> typing.Any:
        """Return a small block itself, and a reference to shared memory for a large one."""
        is_small = len(block) * len(block.columns) <= SMALL
        return block if is_small else self._started()[0].share(block)

    def _shared(self, combined: typing.Any) -> typing.Any:
        """Return small reports themselves, and a reference to shared memory for large ones."""
        arrays = combined if isinstance(combined, tuple) else (combined,)
        is_small = sum(map(np.size, arrays)) <= SMALL
        return combined if is_small else self._started()[0].share(combined)

    def _results(self, calls: Sequence[Call]) -> list[typing.Any]:
        pairs = zip(self._workers, calls, strict=True)
        return [worker.result(call) for worker, call in pairs]

    # ------------------------------------------------------------------ answers

    def _votes(self, block: Block) -> list[Votes]:
        """Votes of the trees of all workers."""
        self._coordinator.votes(block)  # cheap without trees; raises if a sample is invalid
        self._finish()
        given = self._share(block)
        return self._results([worker.ask("votes", given) for worker in self._started()])

    def _block_of(self, x: Sample) -> Block:
        """Make a block of one sample. An error for an invalid sample does not name a row."""
        self._coordinator._model._core.row_of(x)
        return Block([x])

    @abc.abstractmethod
    def _predict(self, block: Block) -> list[typing.Any]:
        """Predict the samples of a block with the whole model."""

    # ------------------------------------------------------------------ the whole

    @property
    def n_samples_seen(self) -> int:
        """Number of samples learned, without those of weight zero."""
        self._send_gathered()
        return self._coordinator.n_samples_seen

    @property
    def n_restarts(self) -> int:
        """Number of restarts of workers."""
        return sum(worker.n_restarts for worker in self._workers)

    def processes(self) -> list[int]:
        """Return the process id of each worker."""
        return [worker.process() for worker in self._started()]

    def counters(self) -> list[tuple[int, int]]:
        """Return for each worker the numbers of samples learned and saved in its checkpoint."""
        self._finish()
        return [worker.counters() for worker in self._started()]

    def gather(self) -> typing.Any:
        """Copy the trees of all workers into one forest in this process.

        The forest predicts and continues learning as this model does. Save it, inspect it, or take
        a snapshot of it. The workers continue.

        Returns
        -------
        The forest.

        Raises
        ------
        TypeError
            If the workers have independent filters of dynamic trees, which cannot be merged.
        """
        self._finish()
        return merge(self._results([worker.ask("copy") for worker in self._started()]))

    def close(self) -> None:
        """Stop the workers and remove their checkpoints. All that they have learned is lost."""
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
        """Names of river's checks that pickle the model, which is not possible (see `gather`)."""
        return {
            "check_clone_is_independent",
            "check_no_state_aliasing_with_input",
            "check_pickling",
            "check_pickling_supports_roundtrip",
            "check_shuffle_features_no_impact",
        }

    def __reduce__(self) -> typing.Any:
        raise TypeError("worker processes cannot be pickled: pickle the forest of gather()")


class DistributedClassifier(_Distributed, PredictsLabels, base.MiniBatchClassifier):
    """A classification forest in several processes that predicts bit for bit as in one.

    Ray[^1] runs the processes, on this or other machines. Each process has some of the trees and
    learns every sample. After each batch the processes exchange the losses of the trees, which
    determine the trees to replace or discard; with `swap_rule="rotation"`, they exchange the
    predictions of the trees after each block of samples, for the weights of the window sizes.
    Choose it for forests of many trees on fast streams: it pays off if learning a block takes much
    longer than sending it.

    Parameters
    ----------
    model
        A `ExtraTreesClassifier` or `ForgetfulRandomForestClassifier`; or a
        `DynamicTreeClassifier`: then each worker has an independent particle filter, and their
        predictions are averaged (see `split`). The workers start with what the model has learned.
        The model itself is not changed.
    n_workers
        Number of processes, at most the number of trees.
    block_size
        Number of samples that `learn_one` collects before it sends them. A prediction sends them,
        too.
    folder
        Folder for the checkpoints of the workers, on a disk that all machines share, or `None`.
        With a folder, a worker that dies is restarted without loss. Without a folder, the next
        prediction raises `RuntimeError`, or the second block that is learned. `close` removes the
        checkpoints; a process that ends without `close` leaves them.
    checkpoint_every
        Number of samples after which a worker writes a checkpoint. The blocks since the last
        checkpoint stay in memory.

    References
    ----------
    [^1]: Moritz, P. et al., 2018. Ray: A Distributed Framework for Emerging AI Applications.
        13th USENIX Symposium on Operating Systems Design and Implementation, pp. 561-577.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees.distributed import DistributedClassifier

    >>> forest = ret.ExtraTreesClassifier(n_models=100, seed=42)
    >>> with DistributedClassifier(forest, n_workers=2) as model:  # doctest: +SKIP
    ...     for x, y in datasets.Phishing():
    ...         model.learn_one(x, y)
    ...     model.predict_one(x)
    False
    """

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {"model": ExtraTreesClassifier(n_models=4, seed=1)}

    @property
    def _multiclass(self) -> bool:
        return True

    def _predict(self, block: Block) -> list[typing.Any]:
        return self._coordinator.predict_labels(self._votes(block))

    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the label of a sample.

        Parameters
        ----------
        x
            Features.

        Returns
        -------
        The most probable label, or `None` before the first sample is learned.
        """
        return self._predict(self._block_of(x))[0]

    def predict_proba_one(self, x: Sample) -> dict[Hashable, float]:
        """Predict the probability of each label learned so far.

        Parameters
        ----------
        x
            Features.

        Returns
        -------
        Probabilities by label; empty before the first sample is learned.
        """
        return self._coordinator.predict_probabilities(self._votes(self._block_of(x)))[0]

    def _predict_frame(self, frame: typing.Any) -> tuple[typing.Any, list[typing.Any]]:
        return coded(self._predict(Block.from_frame(frame)), self._labels())

    def _predict_proba_frame(self, frame: typing.Any) -> tuple[typing.Any, list[typing.Any]]:
        answers = self._coordinator.predict_probabilities(self._votes(Block.from_frame(frame)))
        return shares_of(answers, self._labels())


class DistributedRegressor(_Distributed, PredictsNumbers, base.MiniBatchRegressor):
    """A regression forest in several processes that predicts bit for bit as in one.

    Ray[^1] runs the processes, on this or other machines. Each process has some of the trees and
    learns every sample. After each batch the processes exchange the losses of the trees, which
    determine the trees to replace or discard; with `swap_rule="rotation"`, they exchange the
    predictions of the trees after each block of samples, for the weights of the window sizes.
    Choose it for forests of many trees on fast streams: it pays off if learning a block takes much
    longer than sending it.

    Parameters
    ----------
    model
        A `ExtraTreesRegressor` or `ForgetfulRandomForestRegressor`; or a
        `DynamicTreeRegressor`: then each worker has an independent particle filter, and their
        predictions are averaged (see `split`). The workers start with what the model has learned.
        The model itself is not changed.
    n_workers
        Number of processes, at most the number of trees.
    block_size
        Number of samples that `learn_one` collects before it sends them. A prediction sends them,
        too.
    folder
        Folder for the checkpoints of the workers, on a disk that all machines share, or `None`.
        With a folder, a worker that dies is restarted without loss. Without a folder, the next
        prediction raises `RuntimeError`, or the second block that is learned. `close` removes the
        checkpoints; a process that ends without `close` leaves them.
    checkpoint_every
        Number of samples after which a worker writes a checkpoint. The blocks since the last
        checkpoint stay in memory.

    References
    ----------
    [^1]: Moritz, P. et al., 2018. Ray: A Distributed Framework for Emerging AI Applications.
        13th USENIX Symposium on Operating Systems Design and Implementation, pp. 561-577.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees.distributed import DistributedRegressor

    >>> forest = ret.ExtraTreesRegressor(n_models=100, seed=42)
    >>> with DistributedRegressor(forest, n_workers=2) as model:  # doctest: +SKIP
    ...     for x, y in datasets.TrumpApproval():
    ...         model.learn_one(x, y)
    ...     round(model.predict_one(x), 2)
    41.79
    """

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, typing.Any]]:
        yield {"model": ExtraTreesRegressor(n_models=4, seed=1)}

    def _predict(self, block: Block) -> list[typing.Any]:
        return self._coordinator.predict_numbers(self._votes(block))

    def predict_one(self, x: Sample) -> float:
        """Predict the target of a sample.

        Parameters
        ----------
        x
            Features.

        Returns
        -------
        The predicted target; 0 before the first sample is learned.
        """
        return float(self._predict(self._block_of(x))[0])

    def _predict_frame(self, frame: typing.Any) -> typing.Any:
        return np.array(self._predict(Block.from_frame(frame)), dtype=float)
