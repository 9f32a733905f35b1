"""One model per key, in several processes."""

from __future__ import annotations

import os
import sys
import threading
import typing
from collections.abc import Callable
from pathlib import Path

from river import base

from .._estimator.extras import import_extra
from .._estimator.parameters import check_whole
from ..keyed import Counts, KeyedModels
from ..keyed.keys import Key, shard_of
from ..keyed.methods import KeyedMethods
from ..keyed.rows import Rows

__all__ = ["DistributedKeyedModels", "connected"]


def connected() -> typing.Any:
    """Return the module `ray`, connected to a cluster or to a new Ray on this machine.

    `ray.init` or the environment variable `RAY_ADDRESS` choose a cluster. A new Ray listens on the
    loopback interface only, unless `ray` was imported before: Ray chooses the interface when it is
    imported, by a variable that is named after the systems on which this is its default.
    """
    is_local = "RAY_ADDRESS" not in os.environ
    if is_local and "ray" not in sys.modules:
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    ray = import_extra("ray", "ray")
    if not ray.is_initialized():
        ray.init(**({"address": "local", "include_dashboard": False} if is_local else {}))
    return ray


class Worker:
    """The models of some keys, in a process of Ray. Call `open` first.

    A commit stores the models together with the position in the stream, that is, the number of the
    next sample. The worker skips samples before its position. Therefore the stream can be sent
    again from any earlier position, and each sample is learned once.
    """

    _models: KeyedModels
    _position: int

    def open(self, *arguments: typing.Any) -> int:
        """Open the models, with the arguments of `KeyedModels`; return the position."""
        self._models = KeyedModels(*arguments)
        self._position = int(self._models.note.get("position", 0))
        return self._position

    def learn(self, rows: Rows, numbers: list[int], stop: int, predicts: bool) -> list[typing.Any]:
        """Learn rows, and continue at the position `stop`; `numbers` are those of their samples.

        Returns the predictions made before; `None` for samples that were learned already.
        """
        new = rows.take([number >= self._position for number in numbers])
        predictions = self._models._learn_rows(new, predicts)
        self._position = max(self._position, stop)
        return [None] * (len(numbers) - len(predictions)) + predictions

    def predict(self, rows: Rows, probabilities: bool) -> list[typing.Any]:
        """Predict rows."""
        return self._models._predict_rows(rows, probabilities)

    def call(self, *arguments: typing.Any) -> typing.Any:
        """Call a method for one key."""
        return self._models._call(*arguments)

    def counts(self) -> Counts:
        """Count models and samples."""
        return self._models.counts()

    def commit(self) -> None:
        """Store the models that have changed, and the position."""
        self._models.commit({"position": self._position})


class DistributedKeyedModels(KeyedMethods):
    """One model per key, in several processes.

    It has the methods of `KeyedModels` for frames, and gives the same answers. Choose it if
    `KeyedModels` in one process is too slow or needs too much memory. Ray[^1] runs the processes,
    on this or other machines. The hash of a key determines its worker, which has a `KeyedModels`.
    Frames should have thousands of rows, because a message takes about a millisecond.

    With a folder, `commit` stores the models that have changed and the position in the stream. If a
    process dies, make the models again with the same folder, and send the stream from `position`
    on. Every sample is learned once; one that is sent again gets no prediction.

    Parameters
    ----------
    model
        Model to clone for each key: any classifier or regressor of river.
    n_workers
        Number of processes. It is fixed for the lifetime of a folder; there may be more workers
        than cores.
    folder
        Folder for one file per worker, on a disk that all machines share, or `None`. It contains
        pickles: make sure that only you can write to it.
    max_models
        Largest number of models in the memory of all workers, which have equal shares; `None` sets
        no limit. Other models are kept in the files of the workers; without a folder, they are
        dropped.
    time_to_live
        Number of samples of the whole stream after the last sample of a key until its model is
        dropped; `None` never drops it. Each worker counts its own samples, and multiplies by the
        number of workers.
    pooled
        Model that each worker clones, or `None`. The clone learns the samples of all keys of its
        worker, as in `KeyedModels`.

    Attributes
    ----------
    position
        Number of the next sample to send.

    References
    ----------
    [^1]: Moritz, P. et al., 2018. Ray: A Distributed Framework for Emerging AI Applications.
        13th USENIX Symposium on Operating Systems Design and Implementation, pp. 561-577.

    Examples
    --------
    >>> import pandas as pd
    >>> import river_extra_trees as ret
    >>> from river_extra_trees.distributed import DistributedKeyedModels

    >>> base = ret.StreamDecisionTreeRegressor(leaf_memory=None, seed=42)
    >>> X = pd.DataFrame({"x": [0.0, 0.0, 0.0]})
    >>> with DistributedKeyedModels(base) as models:  # doctest: +SKIP
    ...     print(models.predict_learn_many(["Ann", "Bob", "Ann"], X, [1.0, 10.0, 2.0]).tolist())
    ...     [models.predict_one(key, {"x": 0.0}) for key in ("Ann", "Bob", "Eve")]
    [nan, nan, 1.0]
    [1.5, 10.0, None]
    """

    def __init__(
        self,
        model: base.Estimator,
        n_workers: int = 2,
        folder: str | Path | None = None,
        max_models: int | None = None,
        time_to_live: int | None = None,
        pooled: base.Estimator | None = None,
    ) -> None:
        check_whole("n_workers", n_workers, 1)
        check_whole("max_models", max_models, n_workers, optional=True)
        KeyedModels(model, max_models, time_to_live, pooled=pooled)  # raises for invalid parameters
        stores = stores_in(folder, n_workers)
        share = None if max_models is None else max_models // n_workers
        time = None if time_to_live is None else -(-time_to_live // n_workers)
        self._is_stored = folder is not None
        self._lock = threading.Lock()
        # SPREAD uses all machines in turn; messages cost less without task events.
        placement = {"num_cpus": 0, "scheduling_strategy": "SPREAD", "enable_task_events": False}
        actor = connected().remote(**placement)(Worker)
        self._workers = [actor.remote() for _ in stores]
        try:
            opened = [
                worker.open.remote(model, share, time, store, pooled)
                for worker, store in zip(self._workers, stores, strict=True)
            ]
            self.position = min(self._results(opened))
        except BaseException:
            self._stop()
            raise

    def __reduce__(self) -> typing.NoReturn:
        raise TypeError(
            "keyed models in several processes cannot be copied or pickled: make them again with "
            "the same folder"
        )

    # ------------------------------------------------------------------ messages

    def _results(self, references: list[typing.Any]) -> list[typing.Any]:
        """Wait for the results of messages; raise what a worker has raised."""
        ray = connected()
        try:
            return typing.cast(list[typing.Any], ray.get(references))
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except ray.exceptions.RayError as error:
            raise RuntimeError(
                "a worker has died: close the models, make them again with the same folder, and "
                "send the stream from its position"
            ) from error

    def _check_open(self) -> None:
        if not self._workers:
            raise RuntimeError("the keyed models are closed: make them again with the same folder")

    def _changed(self, references: list[typing.Any]) -> list[typing.Any]:
        """Wait for the results of messages that change models; stop all workers if one fails.

        Models reject invalid samples without raising: what is raised is the disk or the memory.
        """
        try:
            return self._results(references)
        except BaseException:
            self._stop()
            raise

    def _divided(
        self, rows: Rows, send: Callable[[typing.Any, typing.Any, list[int]], typing.Any]
    ) -> tuple[list[typing.Any], list[list[int]]]:
        """Send each worker its rows; return references to the results, and the rows' numbers."""
        self._check_open()
        n_workers = len(self._workers)
        shard = {key: shard_of(key, n_workers) for key in dict.fromkeys(rows.keys)}
        shards = [shard[key] for key in rows.keys]
        put = connected().put  # raises what cannot be pickled before anything is sent
        sent = [put(rows.take([each == i for each in shards])) for i in range(n_workers)]
        numbers = [[j for j, each in enumerate(shards) if each == i] for i in range(n_workers)]
        return [send(*each) for each in zip(self._workers, sent, numbers, strict=True)], numbers

    def _learn_rows(self, rows: Rows, predicts: bool) -> list[typing.Any]:
        with self._lock:
            start, stop = self.position, self.position + len(rows.keys)
            references, numbers = self._divided(
                rows,
                lambda worker, part, own: worker.learn.remote(
                    part, [start + row for row in own], stop, predicts
                ),
            )
            found = self._changed(references)
            self.position = stop
            return in_order(found, numbers)

    def _predict_rows(self, rows: Rows, probabilities: bool) -> list[typing.Any]:
        with self._lock:
            references, numbers = self._divided(
                rows, lambda worker, part, _: worker.predict.remote(part, probabilities)
            )
            return in_order(self._results(references), numbers)

    def _call(self, method: str, key: Key, *arguments: typing.Any) -> typing.Any:
        with self._lock:
            self._check_open()
            worker = self._workers[shard_of(key, len(self._workers))]
            return self._results([worker.call.remote(method, key, *arguments)])[0]

    # ------------------------------------------------------------------ all models

    def counts(self) -> Counts:
        """Return the numbers of models, and of samples learned and refused by the workers."""
        with self._lock:
            self._check_open()
            found = self._results([worker.counts.remote() for worker in self._workers])
        *sums, refusals = zip(*found, strict=True)
        return Counts._make([*map(sum, sums), next(filter(None, refusals), "")])

    def commit(self) -> None:
        """Store the models that have changed, and the position in the stream."""
        with self._lock:
            self._check_open()
            self._changed([worker.commit.remote() for worker in self._workers])

    def close(self) -> None:
        """Stop the workers. With a folder, commit first."""
        if self._is_stored and self._workers:
            self.commit()
        self._stop()

    def _stop(self) -> None:
        while self._workers:
            connected().kill(self._workers.pop())

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._stop()


def in_order(found: list[list[typing.Any]], numbers: list[list[int]]) -> list[typing.Any]:
    """Order results by the numbers of their rows."""
    ordered = [None] * sum(map(len, numbers))
    for own, results in zip(numbers, found, strict=True):
        for number, result in zip(own, results, strict=True):
            ordered[number] = result
    return ordered


def stores_in(folder: str | Path | None, n_workers: int) -> list[Path | None]:
    """Return the file of each worker; refuse a folder of another number of workers."""
    if folder is None:
        return [None] * n_workers
    path = Path(folder).absolute()
    path.mkdir(parents=True, exist_ok=True)
    stores = [path / f"worker{number}of{n_workers}.db" for number in range(n_workers)]
    others = sorted(set(path.glob("worker*of*.db")) - set(stores))
    if others:
        raise ValueError(
            f"{path} belongs to another number of workers than {n_workers}: it holds "
            f"{others[0].name}"
        )
    return list(stores)
