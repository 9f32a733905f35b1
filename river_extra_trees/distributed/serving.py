"""A model served to many readers while it learns."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Hashable

from river_extra_trees._base import check_whole
from river_extra_trees._frames import PredictsProbaMany
from river_extra_trees._inspection import Sample, import_extra
from river_extra_trees.blocks import Block

__all__ = ["SnapshotServer"]


class Reader:
    """A process that answers with the snapshot published last."""

    def __init__(self, snapshot: typing.Any) -> None:
        self.snapshot = snapshot

    def publish(self, snapshot: typing.Any) -> None:
        """Answer with this snapshot from now on."""
        self.snapshot = snapshot

    def answers(self, method: str, block: Block) -> list[typing.Any]:
        """Call a method of the snapshot for every sample of a block."""
        answer = getattr(self.snapshot, method)
        return [answer(x) for x in block.rows()]

    def n_samples_seen(self) -> int:
        """Samples that the model had seen when the snapshot was taken."""
        return int(self.snapshot.n_samples_seen)


class SnapshotServer(PredictsProbaMany):
    """Several processes that answer with snapshots of a model, while the model learns elsewhere.

    Whoever trains the model publishes a snapshot now and then: it goes once to the memory that the
    processes of a machine share, and each reader goes over to it between two answers. An answer is
    always that of one whole snapshot. The server can be handed to any task or actor of Ray[^1], so
    that any number of clients can ask.

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
    """

    def __init__(self, snapshot: typing.Any, n_readers: int = 2) -> None:
        check_whole("n_readers", n_readers, 1)
        self._ray = import_extra("ray", "ray")
        shared = self._ray.put(snapshot)
        actor = self._ray.remote(Reader)
        self._readers = [actor.remote(shared) for _ in range(n_readers)]
        self._turns = itertools.cycle(range(n_readers))

    def publish(self, snapshot: typing.Any) -> None:
        """Let all readers go over to a snapshot; do not wait for it.

        Parameters
        ----------
        snapshot
            What `snapshot()` of a learner returns.
        """
        shared = self._ray.put(snapshot)
        for reader in self._readers:
            reader.publish.remote(shared)

    def _answers(self, method: str, block: Block) -> list[typing.Any]:
        """What the next reader says of the samples of a block."""
        reader = self._readers[next(self._turns)]
        return self._ray.get(reader.answers.remote(method, block))

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

    def n_samples_seen(self) -> list[int]:
        """For each reader: samples that the model had seen when its snapshot was taken."""
        return self._ray.get([reader.n_samples_seen.remote() for reader in self._readers])

    def close(self) -> None:
        """End the readers."""
        for reader in self._readers:
            self._ray.kill(reader)

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
