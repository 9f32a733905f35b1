"""A model served to many readers while it learns."""

from __future__ import annotations

import os
import typing
from collections.abc import Hashable

from river_extra_trees._estimator.parameters import (check_parameter, check_whole)
from river_extra_trees._estimator.frames import PredictsMany, PredictsProbaMany
from river_extra_trees._estimator.inspection import Sample, import_extra
from river_extra_trees.distributed.blocks import Block

from .workers import PATIENCE

__all__ = ["SnapshotServer"]


class Reader:
    """A process that answers with the snapshot published last.

    If it dies, Ray begins it again, without any.
    """

    def __init__(self) -> None:
        self.snapshot: typing.Any = None
        self.number = 0  # of the snapshot

    def publish(self, snapshot: typing.Any, number: int) -> None:
        """Answer with this snapshot from now on, unless there is a later one."""
        if number > self.number:
            self.snapshot, self.number = snapshot, number

    def answers(self, number: int, method: str, block: Block) -> list[typing.Any] | None:
        """Call a method of the snapshot for every sample of a block; `None` if it is too old."""
        if number > self.number:
            return None
        answer = getattr(self.snapshot, method)
        return [answer(x) for x in block.rows()]

    def process(self) -> int:
        """The number of this process."""
        return os.getpid()

    def n_samples_seen(self, number: int) -> int | None:
        """Samples that the model had seen for the snapshot; `None` if it is too old."""
        return None if number > self.number else int(self.snapshot.n_samples_seen)


class SnapshotServer(PredictsProbaMany):
    """Several processes that answer with snapshots of a model, while the model learns elsewhere.

    Whoever trains the model publishes a snapshot now and then: it goes once to the memory that the
    processes of a machine share, and each reader goes over to it between two answers. An answer is
    always that of one whole snapshot. The server can be handed to any task or actor of Ray[^1], so
    that any number of clients can ask. A reader that dies comes back, and answers with the latest
    snapshot that whoever asks it knows of.

    Parameters
    ----------
    snapshot
        The first snapshot: what `snapshot()` of any learner returns.
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
        self._ray = import_extra("ray", "ray")
        options = {"scheduling_strategy": "SPREAD", "max_restarts": -1, "max_task_retries": -1}
        actor = self._ray.remote(**options)(Reader)
        self._readers = [actor.remote() for _ in range(n_readers)]
        self._n_asked = 0  # times that a reader was asked, which they are in turn
        self._number = 0  # of the latest snapshot
        self.publish(snapshot)

    def publish(self, snapshot: typing.Any) -> None:
        """Let all readers go over to a snapshot; do not wait for it.

        Parameters
        ----------
        snapshot
            What `snapshot()` of a learner returns.
        """
        check_snapshot(snapshot)
        self._shared, self._number = self._ray.put(snapshot), self._number + 1
        self._has_labels = hasattr(snapshot, "predict_proba_one")
        for reader in self._readers:
            self._bring_up(reader)

    def _bring_up(self, reader: typing.Any) -> None:
        """Tell a reader the latest snapshot; do not wait for it."""
        reader.publish.remote(self._shared, self._number)

    def _ask(self, reader: typing.Any, method: str, *arguments: typing.Any) -> typing.Any:
        """What a reader says with the latest snapshot, which it is told again if it has died."""
        for _ in range(PATIENCE + 1):
            try:
                said = self._ray.get(getattr(reader, method).remote(self._number, *arguments))
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause from error
            if said is not None:
                return said
            self._bring_up(reader)
        raise RuntimeError(f"a reader took no snapshot in {PATIENCE + 1} attempts")

    def _answers(self, method: str, block: Block) -> list[typing.Any]:
        """What the next reader says of the samples of a block."""
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

    def _predict_frame(self, frame: typing.Any) -> list[typing.Any]:
        return self._answers("predict_one", Block.from_frame(frame))

    def _predict_proba_frame(self, frame: typing.Any) -> list[dict[Hashable, float]]:
        return self._answers("predict_proba_one", Block.from_frame(frame))

    def _series_of(self, answers: list[typing.Any], frame: typing.Any) -> typing.Any:
        kind = PredictsProbaMany if self._has_labels else PredictsMany
        return kind._series_of(self, answers, frame)

    def n_samples_seen(self) -> list[int]:
        """For each reader: samples that the model had seen when its snapshot was taken."""
        return [self._ask(reader, "n_samples_seen") for reader in self._readers]

    def processes(self) -> list[int]:
        """The process number of each reader."""
        return self._ray.get([reader.process.remote() for reader in self._readers])

    def close(self) -> None:
        """End the readers."""
        for reader in self._readers:
            self._ray.kill(reader)

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_snapshot(snapshot: typing.Any) -> None:
    """Raise a ValueError unless this answers, and knows how much it has seen."""
    check_parameter(
        hasattr(snapshot, "predict_one") and hasattr(snapshot, "n_samples_seen"),
        "snapshot",
        snapshot,
        "what snapshot() of a learner returns",
    )
