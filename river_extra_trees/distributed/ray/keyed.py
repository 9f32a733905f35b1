"""Thousands of models, one per key, in several processes."""

from __future__ import annotations

import collections
import functools
import typing
from collections.abc import Hashable, Sequence
from pathlib import Path

from river import base

from ..._estimator.frames import Sample, into_frame, series_of_labels, values_of
from ..._estimator.parameters import check_parameter, check_whole
from ..blocks import Block, check_sample
from ..shard import Counts, Shard, description, shard_of
from .workers import Call, Worker

__all__ = ["KeyedModels"]

IN_FLIGHT = 4  # blocks that may be on their way to a worker


class KeyedModels:
    """One model per key, held by several processes that own ranges of the keys' hashes.

    Each key gets a clone of the model when its first sample arrives. Choose it for many small
    streams in one: sensors, customers, shops. Ray[^1] runs the processes, on this or other
    machines.

    With a folder, each worker writes checkpoints. A worker that dies is restarted from its last
    checkpoint and is sent the later samples again, so that nothing is lost. If this process dies
    as well, start again with the same folder: `position` is then the number of the sample from
    which to repeat the stream, at most `checkpoint_every` samples of each worker and the blocks on
    their way back. A worker skips the samples that it has already learned, so that every sample
    counts once.

    Parameters
    ----------
    model
        Model to clone for each key: any classifier or regressor of river.
    n_workers
        Number of processes. The checkpoints in a folder are for one number of workers.
    block_size
        Number of samples that `learn_one` gathers before it sends them. A prediction sends them
        first.
    folder
        Folder for the checkpoints, on a disk that all machines share, or `None`. Checkpoints are
        pickles: nobody else may be able to write to the folder. Without a folder, the next blocking
        call after the death of a worker raises `RuntimeError`: a prediction, or learning within
        five blocks.
    checkpoint_every
        Number of samples after which a worker writes a checkpoint of all its models.

    References
    ----------
    [^1]: Moritz, P. et al., 2018. Ray: A Distributed Framework for Emerging AI Applications.
        13th USENIX Symposium on Operating Systems Design and Implementation, pp. 561-577.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river_extra_trees.distributed import KeyedModels

    >>> base = ret.StreamDecisionTreeRegressor(leaf_memory=None, seed=42)
    >>> with KeyedModels(base) as model:  # doctest: +SKIP
    ...     for key, y in [("Ann", 1.0), ("Bob", 10.0), ("Ann", 2.0)]:
    ...         model.learn_one(key, {"x": 0.0}, y)
    ...     [model.predict_one(key, {"x": 0.0}) for key in ("Ann", "Bob", "Eve")]
    [1.5, 10.0, None]
    """

    def __init__(
        self,
        model: base.Estimator,
        n_workers: int = 2,
        block_size: int = 500,
        folder: str | Path | None = None,
        checkpoint_every: int = 100_000,
    ) -> None:
        for name, value in (
            ("n_workers", n_workers),
            ("block_size", block_size),
            ("checkpoint_every", checkpoint_every),
        ):
            check_whole(name, value, 1)
        check_parameter(
            isinstance(model, base.Estimator) and hasattr(model, "predict_one"),
            "model",
            model,
            "a classifier or a regressor",
        )
        self.block_size = block_size
        self._gathered: list[tuple[Hashable, Sample, typing.Any, float]] = []  # not sent yet
        self._shard_of = functools.lru_cache(1_000_000)(functools.partial(shard_of, n=n_workers))
        self._workers = [
            Worker(Shard(model), path, checkpoint_every) for path in paths_of(folder, n_workers)
        ]
        self._in_flight: list[collections.deque[Call]] = [
            collections.deque() for _ in self._workers
        ]
        try:
            self._catch_up(description(model), folder)
        except BaseException:
            self._end()
            raise

    def _catch_up(self, wanted: str, folder: str | Path | None) -> None:
        """Continue from the checkpoints, unless they hold other models."""
        for worker in self._workers:
            worker.catch_up()
            found = worker.result(worker.ask("description"))
            if found != wanted:
                raise ValueError(f"{folder} holds checkpoints of {found}, not of {wanted}")
        self._position = min(counts.position for counts in self.counts())

    # ------------------------------------------------------------------ learning

    @property
    def position(self) -> int:
        """Number in the stream of the next sample to send."""
        return self._position + len(self._gathered)

    def learn_one(self, key: Hashable, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        """Learn a sample. Samples are sent to the workers in blocks of `block_size`.

        A sample that the model refuses, with any error, is skipped and counted: see `counts`.

        Parameters
        ----------
        key
            Whose sample it is: a string, bytes or a whole number.
        x
            Features, as for the model.
        y
            The target.
        w
            Weight of the sample.

        Raises
        ------
        TypeError
            If the key has another type, or the sample is not a mapping.
        """
        self._shard_of(key)
        check_sample(x)
        self._gathered.append((key, dict(x.items()), y, w))
        if len(self._gathered) >= self.block_size:
            self._send_gathered()

    def learn_many(
        self, keys: typing.Any, X: typing.Any, y: typing.Any, w: typing.Any = None
    ) -> None:
        """Learn the rows of a data frame, one after the other.

        Parameters
        ----------
        keys
            A series of keys, as long as the frame.
        X
            A data frame of any kind that narwhals knows (pandas, polars, pyarrow, ...).
        y
            A series of targets.
        w
            One weight for all rows, a series of weights, or `None` for 1.

        Raises
        ------
        TypeError, ValueError
            If a key is not a string, bytes or a whole number, or the lengths differ. Nothing of the
            frame is learned then.
        """
        block = Block.from_frame(into_frame(X), y, w)
        owners = values_of(keys, "keys")
        self._check(owners, block)
        self._send_gathered()
        self._learn(owners, block)

    def _check(self, keys: Sequence[Hashable], block: Block) -> None:
        if len(keys) != len(block):
            raise ValueError(f"there are {len(block)} rows and {len(keys)} keys")
        for key in keys:
            self._shard_of(key)

    def _send_gathered(self) -> None:
        if self._gathered:
            keys, rows, targets, weights = zip(*self._gathered, strict=True)
            self._gathered = []
            self._learn(keys, Block(rows, targets, weights))

    def _learn(self, keys: Sequence[Hashable], block: Block) -> None:
        """Send each worker its samples; then wait where too many blocks are on their way.

        All samples are sent before the first wait, because waiting may raise.
        """
        start = self._position
        self._position += len(block)
        for worker, calls, rows in zip(
            self._workers, self._in_flight, self._rows_of(keys), strict=True
        ):
            numbers = [start + i for i in rows]
            chosen = [keys[i] for i in rows], numbers, block.take(rows)
            calls.append(worker.apply("learn", *chosen, self._position))
        self._drain(IN_FLIGHT)

    def _drain(self, n: int) -> None:
        """Wait until at most n blocks are on their way to each worker."""
        for worker, calls in zip(self._workers, self._in_flight, strict=True):
            while len(calls) > n:
                worker.result(calls.popleft())

    def _rows_of(self, keys: Sequence[Hashable]) -> list[list[int]]:
        """The rows that belong to each worker."""
        rows: list[list[int]] = [[] for _ in self._workers]
        for i, key in enumerate(keys):
            rows[self._shard_of(key)].append(i)
        return rows

    def wait(self) -> None:
        """Send what is gathered, and wait until the workers have learned everything."""
        self._send_gathered()
        self._drain(0)

    # ------------------------------------------------------------------ answers

    def _ask(self, method: str, keys: Sequence[Hashable], block: Block) -> list[typing.Any]:
        self._check(keys, block)
        self._send_gathered()
        chosen = self._rows_of(keys)
        calls = [
            (rows, worker, worker.ask(method, [keys[i] for i in rows], block.take(rows)))
            for rows, worker in zip(chosen, self._workers, strict=True)
            if rows
        ]
        answers: list[typing.Any] = [None] * len(keys)
        for rows, worker, call in calls:
            for i, answer in zip(rows, worker.result(call), strict=True):
                answers[i] = answer
        return answers

    def predict_one(self, key: Hashable, x: Sample) -> typing.Any:
        """Predict the target of a sample: `None` for an unknown key.

        Parameters
        ----------
        key
            Whose sample it is.
        x
            Features.
        """
        return self._ask("predict", [key], Block([x]))[0]

    def predict_proba_one(self, key: Hashable, x: Sample) -> dict[Hashable, float]:
        """Predict the probabilities of the labels: an empty dict for an unknown key.

        Parameters
        ----------
        key
            Whose sample it is.
        x
            Features.
        """
        answer: dict[Hashable, float] = self._ask("predict_proba", [key], Block([x]))[0]
        return answer

    def predict_many(self, keys: typing.Any, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        keys
            A series of keys, as long as the frame.
        X
            A data frame of any kind that narwhals knows.

        Returns
        -------
        A series of the same kind. Answers for which that kind has no type stay Python objects;
        pyarrow, which has no series of objects, raises a TypeError.
        """
        frame = into_frame(X)
        answers = self._ask("predict", values_of(keys, "keys"), Block.from_frame(frame))
        return series_of_labels(answers, [], frame)

    # ------------------------------------------------------------------ the whole

    def model_of(self, key: Hashable) -> typing.Any:
        """A copy of the model of a key, or `None` for an unknown key.

        Parameters
        ----------
        key
            The key.
        """
        self._send_gathered()
        worker = self._workers[self._shard_of(key)]
        return worker.result(worker.ask("model_of", key))

    def counts(self) -> list[Counts]:
        """For each worker, how much it has learned."""
        self._send_gathered()
        return [worker.result(worker.ask("counts")) for worker in self._workers]

    def counters(self) -> list[tuple[int, int]]:
        """For each worker, the samples learned and those covered by its checkpoint."""
        self._send_gathered()
        return [worker.counters() for worker in self._workers]

    @property
    def n_samples_seen(self) -> int:
        """Number of samples that all models have learned."""
        return sum(counts.n_samples_seen for counts in self.counts())

    @property
    def n_restarts(self) -> int:
        """Number of times that a worker was restarted."""
        return sum(worker.n_restarts for worker in self._workers)

    def processes(self) -> list[int]:
        """The process id of each worker."""
        return [worker.process() for worker in self._workers]

    def save(self) -> None:
        """Write checkpoints of everything that was sent so far."""
        self.wait()
        for worker in self._workers:
            worker.save()

    def close(self) -> None:
        """Write checkpoints if there is a folder, and stop the workers.

        Raises
        ------
        RuntimeError
            If a worker has died and there is no folder. The other workers are stopped all the same.
        """
        try:
            self.save()
        finally:
            self._end()

    def _end(self) -> None:
        for worker in self._workers:
            worker.close()

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.close()
        except RuntimeError:
            if kind is None:  # otherwise the error of the `with` block matters more
                raise


def paths_of(folder: str | Path | None, n_workers: int) -> list[Path | None]:
    """The checkpoint file of each worker; refuses a folder of another number of workers."""
    if folder is None:
        return [None] * n_workers
    folder = Path(folder).absolute()
    ending = f"of{n_workers}.pickle"
    for path in folder.glob("shard*of*.pickle"):
        if not path.name.endswith(ending):
            raise ValueError(
                f"{path} is a checkpoint of another number of workers than {n_workers}: use that "
                "number, or another folder"
            )
    return [folder / f"shard{i}{ending}" for i in range(n_workers)]
