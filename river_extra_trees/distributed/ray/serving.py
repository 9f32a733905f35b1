"""A model served to many readers while it learns."""

from __future__ import annotations

import os
import typing
from collections.abc import Hashable

import numpy as np

from ..._estimator.frames import (
    PredictsLabels,
    Sample,
    coded,
    into_frame,
    series_of_numbers,
    shares_of,
)
from ..._estimator.parameters import check_parameter, check_whole
from ..blocks import Block
from .workers import ATTEMPTS, connected

__all__ = ["SnapshotServer"]


class Reader:
    """A process that answers with the latest snapshot.

    If it dies, Ray restarts it without a snapshot.
    """

    def __init__(self) -> None:
        self.snapshot: typing.Any = None
        self.number = 0  # of the snapshot

    def publish(self, snapshot: typing.Any, number: int) -> None:
        """Answer with this snapshot from now on, unless a later one has arrived."""
        if number > self.number:
            self.snapshot, self.number = snapshot, number

    def answers(self, number: int, method: str, block: Block) -> list[typing.Any] | None:
        """Call a method of the snapshot for each sample of a block; `None` if it is outdated."""
        if number > self.number:
            return None
        answer = getattr(self.snapshot, method)
        return [answer(x) for x in block.rows()]

    def process(self) -> int:
        """The id of this process."""
        return os.getpid()

    def n_samples_seen(self, number: int) -> int | None:
        """Samples that the model had learned for the snapshot; `None` if it is outdated."""
        return None if number > self.number else int(self.snapshot.n_samples_seen)


class SnapshotServer(PredictsLabels):
    """Several processes that answer with snapshots of a model while the model learns elsewhere.

    The process that trains the model publishes snapshots. A snapshot is copied once to the shared
    memory of each machine, and each reader switches to it between two answers, so that every answer
    comes from one whole snapshot. The server can be passed to any task or actor of Ray[^1], so that
    any number of clients can ask. A reader that dies is restarted, and answers with the latest
    snapshot known to the client that asks it.

    Parameters
    ----------
    snapshot
        The first snapshot, as `snapshot()` of a learner returns it.
    n_readers
        Number of processes.

    References
    ----------
    [^1]: Moritz, P. et al., 2018. Ray: A Distributed Framework for Emerging AI Applications.
        13th USENIX Symposium on Operating Systems Design and Implementation, pp. 561-577.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees.distributed import SnapshotServer

    >>> model = ret.StreamDecisionForestClassifier(seed=42)
    >>> with SnapshotServer(model.snapshot()) as server:  # doctest: +SKIP
    ...     for x, y in datasets.Phishing():
    ...         model.learn_one(x, y)
    ...     server.publish(model.snapshot())
    ...     server.predict_one(x), server.n_samples_seen()
    (False, [1250, 1250])
    """

    def __init__(self, snapshot: typing.Any, n_readers: int = 2) -> None:
        check_whole("n_readers", n_readers, 1)
        check_snapshot(snapshot)
        self._ray = connected()
        options = {"scheduling_strategy": "SPREAD", "max_restarts": -1, "max_task_retries": -1}
        actor = self._ray.remote(**options)(Reader)
        self._readers = [actor.remote() for _ in range(n_readers)]
        self._n_asked = 0  # number of questions so far: readers take turns
        self._number = 0  # of the latest snapshot
        self.publish(snapshot)

    def publish(self, snapshot: typing.Any) -> None:
        """Send a snapshot to all readers, without waiting for them.

        Parameters
        ----------
        snapshot
            A snapshot, as `snapshot()` of a learner returns it.
        """
        check_snapshot(snapshot)
        self._shared, self._number = self._ray.put(snapshot), self._number + 1
        self._has_labels = hasattr(snapshot, "predict_proba_one")
        for reader in self._readers:
            self._update(reader)

    def _update(self, reader: typing.Any) -> None:
        """Send the latest snapshot to a reader, without waiting for it."""
        reader.publish.remote(self._shared, self._number)

    def _ask(self, reader: typing.Any, method: str, *arguments: typing.Any) -> typing.Any:
        """The answer of a reader, which gets the latest snapshot again if it has died."""
        for _ in range(ATTEMPTS):
            try:
                answer = self._ray.get(getattr(reader, method).remote(self._number, *arguments))
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause from error
            if answer is not None:
                return answer
            self._update(reader)
        raise RuntimeError(f"a reader died {ATTEMPTS} times in a row before it answered")

    def _answers(self, method: str, block: Block) -> list[typing.Any]:
        """The answers of the next reader to the samples of a block."""
        self._n_asked += 1
        reader = self._readers[self._n_asked % len(self._readers)]
        return self._ask(reader, "answers", method, block)

    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the target of a sample.

        Parameters
        ----------
        x
            Features.
        """
        return self._answers("predict_one", Block([x]))[0]

    def predict_proba_one(self, x: Sample) -> dict[Hashable, float]:
        """Predict the probabilities of the labels of a sample.

        Parameters
        ----------
        x
            Features.
        """
        answer: dict[Hashable, float] = self._answers("predict_proba_one", Block([x]))[0]
        return answer

    def _predict_frame(self, frame: typing.Any) -> tuple[typing.Any, list[typing.Any]]:
        return coded(self._answers("predict_one", Block.from_frame(frame)), self._labels())

    def _predict_proba_frame(self, frame: typing.Any) -> tuple[typing.Any, list[typing.Any]]:
        answers = self._answers("predict_proba_one", Block.from_frame(frame))
        return shares_of(answers, self._labels())

    def predict_many(self, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame, as the model does.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows.
        """
        if self._has_labels:
            return super().predict_many(X)
        frame = into_frame(X)
        answers = self._answers("predict_one", Block.from_frame(frame))
        return series_of_numbers(np.array(answers, dtype=float), frame)

    def n_samples_seen(self) -> list[int]:
        """For each reader, the samples that the model had learned when its snapshot was taken."""
        return [self._ask(reader, "n_samples_seen") for reader in self._readers]

    def processes(self) -> list[int]:
        """The process id of each reader."""
        return self._ray.get([reader.process.remote() for reader in self._readers])

    def close(self) -> None:
        """Stop the readers."""
        for reader in self._readers:
            self._ray.kill(reader)

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_snapshot(snapshot: typing.Any) -> None:
    """Raise a ValueError unless this is a snapshot."""
    check_parameter(
        hasattr(snapshot, "predict_one") and hasattr(snapshot, "n_samples_seen"),
        "snapshot",
        snapshot,
        "a snapshot, as snapshot() of a learner returns it",
    )
