"""Feeders of distributed keyed models: they send the samples of a partition of the stream."""

from __future__ import annotations

import collections
import typing
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from .._estimator.frames import Sample
from ..keyed import Key, KeyedBlock
from ..keyed.answers import frame_of_probabilities, series_of_answers
from ..keyed.keys import plain_key, shard_of
from ..keyed.turn import Turn
from .cluster import connected

__all__ = ["Feeder"]

Rows = npt.NDArray[np.intp]

IN_FLIGHT = 4  # frames that are sent before the first one is learned
REMEMBERED = 2_000_000  # keys whose workers a feeder remembers


class Feeder:
    """Sends the samples of one partition of a stream to the workers of keyed models.

    `DistributedKeyedModels.feeder` makes it. It can be passed to a task or an actor of Ray. A
    stream may have any number of partitions, each with one feeder. All samples of a key should be
    in one partition, because the order of samples from different feeders is undefined.

    A feeder numbers its samples. Read the partition from `position` on, also after an error. Each
    sample is learned once, because workers skip samples that they have learned already.

    A call that comes while another one runs, from a second thread say, raises `RuntimeError` and
    changes nothing.

    Parameters
    ----------
    model
        Model to clone for each key.
    workers
        The workers.
    partition
        Name of the partition: a string or an integer.
    """

    def __init__(self, model: typing.Any, workers: list[typing.Any], partition: Hashable) -> None:
        self.partition = partition
        self._model, self._workers = model, workers
        self._turn = Turn("the feeder is")
        self._shards: dict[Key, int] = {}
        self._position: int | None = None  # unknown before the first call, and after an error
        self._in_flight: collections.deque[list[typing.Any]] = collections.deque()

    def __reduce__(self) -> typing.Any:
        return Feeder, (self._model, self._workers, self.partition)

    # ------------------------------------------------------------------ learning

    @property
    def position(self) -> int:
        """Number of the next sample to send. Read the partition from here on."""
        with self._turn():
            return self._begin()

    def _begin(self) -> int:
        """Return the position; ask the workers if it is unknown."""
        if not self._workers:
            raise RuntimeError("the keyed models are closed: make them again with the same folder")
        if self._position is None:
            self._in_flight.clear()
            found = self._asked([each.position.remote(self.partition) for each in self._workers])
            self._position = min(found)
        return self._position

    def learn_many(
        self,
        keys: typing.Any,
        X: typing.Any,
        y: typing.Any,
        w: typing.Any = 1.0,
        numbers: Sequence[int] | None = None,
    ) -> None:
        """Learn the rows of a data frame.

        The call returns before the workers have learned the rows. An error is raised by a later
        call. Frames should have thousands of rows, because a message takes about a millisecond.

        Parameters
        ----------
        keys
            A series or another sequence with the key of each row.
        X
            A data frame of any library that narwhals supports (pandas, polars, pyarrow, ...), or a
            two-dimensional array.
        y
            A series or another sequence with the target of each row.
        w
            One weight for all rows, or a series or another sequence with the weight of each row.
        numbers
            Ascending numbers of the samples in the partition, such as Kafka offsets; `None` numbers
            them consecutively.

        Raises
        ------
        TypeError, ValueError
            If a key is not a string, bytes or an integer, if the lengths differ, or if a value
            cannot be pickled. Then nothing is learned.
        """
        with self._turn():
            self._send(keys, X, y, w, numbers, asks=False)
            self._drain(IN_FLIGHT)

    def predict_learn_many(
        self,
        keys: typing.Any,
        X: typing.Any,
        y: typing.Any,
        w: typing.Any = 1.0,
        numbers: Sequence[int] | None = None,
    ) -> typing.Any:
        """Predict each row of a data frame, then learn it: test-then-train in one call.

        Parameters
        ----------
        keys, X, y, w, numbers
            As for `learn_many`.

        Returns
        -------
        A series of the library of X, in the order of the rows. The prediction is missing for the
        first sample of a key, for a sample that is invalid for its model, and for a sample that has
        been learned already, if the partition is sent again.

        Raises
        ------
        TypeError, ValueError
            As `learn_many`.
        """
        with self._turn():
            rows, references = self._send(keys, X, y, w, numbers, asks=True)
            self._drain(1)
            self._in_flight.clear()
            answers = self._gathered(rows, references)
        return series_of_answers(answers, X)

    def _send(
        self,
        keys: typing.Any,
        X: typing.Any,
        y: typing.Any,
        w: typing.Any,
        numbers: Sequence[int] | None,
        asks: bool,
    ) -> tuple[list[Rows], list[typing.Any]]:
        """Send each worker its rows of a frame, and all workers the position after it."""
        block = KeyedBlock.from_frame(self._model, keys, X, y, w)
        block.check_learnable(self._model)
        start = self._begin()
        given = self._numbered(numbers, len(block), start)
        stop = int(given[-1]) + 1 if len(given) else start
        rows = self._rows_by_worker(block)
        ray = connected()  # `put` raises what cannot be pickled before anything is sent
        parts = [ray.put((given[each], block.take(each))) for each in rows]
        self._position = None  # until all is sent
        references = [
            worker.learn.remote(self.partition, start, stop, part, asks)
            for worker, part in zip(self._workers, parts, strict=True)
        ]
        self._in_flight.append(references)
        self._position = stop
        return rows, references

    def _numbered(self, numbers: Sequence[int] | None, n: int, start: int) -> npt.NDArray[np.int64]:
        """Numbers of the next n samples."""
        if numbers is None:
            return np.arange(start, start + n)
        given = np.asarray(numbers)
        if given.dtype.kind not in "iu" and len(given):
            raise TypeError(f"the numbers of samples must be whole numbers, not {given.dtype}")
        given = given.astype(np.int64)
        if len(given) != n:
            raise ValueError(f"X has {n} rows, and there are {len(given)} numbers")
        if n and (given[0] < start or (given[1:] <= given[:-1]).any()):
            raise ValueError(
                f"the numbers of samples must ascend from the position, which is {start}: "
                f"read partition {self.partition!r} from there on"
            )
        return given

    def _worker_of(self, key: Key) -> int:
        """Return the number of the worker of a key."""
        shard = self._shards.get(key)
        if shard is None:
            if len(self._shards) >= REMEMBERED:
                self._shards.clear()
            shard = self._shards[key] = shard_of(key, len(self._workers))
        return shard

    def _rows_by_worker(self, block: KeyedBlock) -> list[Rows]:
        """Return the rows of each worker, ascending."""
        owners = np.array([self._worker_of(key) for key in block.keys], dtype=np.intp)[block.codes]
        return [np.flatnonzero(owners == worker) for worker in range(len(self._workers))]

    def _drain(self, n: int) -> None:
        """Wait until at most n frames are in flight."""
        while len(self._in_flight) > n:
            self._asked(self._in_flight[0])
            self._in_flight.popleft()

    def _asked(self, references: list[typing.Any]) -> list[typing.Any]:
        """Wait for the results of messages; raise what a worker has raised."""
        ray = connected()
        try:
            found: list[typing.Any] = ray.get(references)
        except ray.exceptions.RayTaskError as error:
            self._position = None
            raise error.cause from error
        except ray.exceptions.RayError as error:
            self._position = None
            raise RuntimeError(
                "a worker has died: close the models, make them again with the same folder, and "
                "send each partition from its position"
            ) from error
        except BaseException:
            self._position = None
            raise
        return found

    def _gathered(self, rows: list[Rows], references: list[typing.Any]) -> list[typing.Any]:
        """Wait for the answers of all workers, and return them in the order of the rows."""
        answers = np.empty(sum(map(len, rows)), dtype=object)
        for own, found in zip(rows, self._asked(references), strict=True):
            answers[own] = np.fromiter(found, object, len(found))
        return list(answers)

    # ------------------------------------------------------------------ answers

    def predict_one(self, key: Key, x: Sample) -> typing.Any:
        """Predict the label or target of a sample.

        The worker first learns all earlier samples of this feeder.

        Parameters
        ----------
        key
            Key of the sample.
        x
            Features.

        Returns
        -------
        The prediction; `None` for an unknown key, unless there is a pooled model.
        """
        return self._ask_key("predict_one", key, x)

    def predict_proba_one(self, key: Key, x: Sample) -> dict[Hashable, float]:
        """Predict the probability of each label.

        Parameters
        ----------
        key
            Key of the sample.
        x
            Features.

        Returns
        -------
        Probabilities by label; empty for an unknown key, unless there is a pooled model.
        """
        return typing.cast(dict[Hashable, float], self._ask_key("predict_proba_one", key, x))

    def predict_many(self, keys: typing.Any, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        keys
            A series or another sequence with the key of each row.
        X
            A data frame, as for `learn_many`.

        Returns
        -------
        A series of the library of X, as `KeyedModels.predict_many`.
        """
        return series_of_answers(self._ask_many(keys, X, False), X)

    def predict_proba_many(self, keys: typing.Any, X: typing.Any) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame.

        Parameters
        ----------
        keys
            A series or another sequence with the key of each row.
        X
            A data frame, as for `learn_many`.

        Returns
        -------
        A data frame of the library of X, as `KeyedModels.predict_proba_many`.
        """
        return frame_of_probabilities(self._ask_many(keys, X, True), X)

    def _ask_many(self, keys: typing.Any, X: typing.Any, shares: bool) -> list[typing.Any]:
        block = KeyedBlock.from_frame(self._model, keys, X)
        with self._turn():
            self._begin()
            rows = self._rows_by_worker(block)
            references = [
                worker.ask.remote("predict_block", block.take(own), None, shares)
                for worker, own in zip(self._workers, rows, strict=True)
            ]
            return self._gathered(rows, references)

    def model_of(self, key: Key) -> typing.Any:
        """Return a copy of the model of a key.

        Parameters
        ----------
        key
            The key.

        Returns
        -------
        The copy, or `None` for an unknown key.
        """
        return self._ask_key("model_of", key)

    def forget(self, key: Key) -> bool:
        """Drop the model of a key; the next sample of the key starts a new one.

        Parameters
        ----------
        key
            The key.

        Returns
        -------
        Whether there was a model.
        """
        return bool(self._ask_key("forget", key))

    def _ask_key(self, method: str, key: Key, *arguments: typing.Any) -> typing.Any:
        """Call a method of the models of the worker of a key."""
        key = plain_key(key)
        with self._turn():
            self._begin()
            worker = self._workers[self._worker_of(key)]
            return self._asked([worker.ask.remote(method, key, *arguments)])[0]

    # ------------------------------------------------------------------ the whole

    def wait(self) -> None:
        """Wait until the workers have learned all samples of this feeder."""
        with self._turn():
            self._drain(0)

    def commit(self) -> None:
        """Wait until the workers have learned and stored all samples of this feeder.

        What they have learned from other feeders is stored with them.
        """
        with self._turn():
            self._drain(0)
            self._asked([worker.commit.remote() for worker in self._workers])
