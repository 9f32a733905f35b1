"""One model per key, in several processes."""

from __future__ import annotations

import os
import sys
import typing
from collections.abc import Sequence
from itertools import compress
from pathlib import Path

import numpy as np
from river import base

from .._estimator.extras import import_extra
from .._estimator.frames import Sample, into_frame
from .._estimator.parameters import check_choice, check_parameter, check_whole
from ..keyed import Counts, KeyedModels
from ..keyed.frames import (
    frame_of_probabilities,
    keyed_rows,
    keys_of,
    labelled_rows,
    series_of_predictions,
    targets_of,
)
from ..keyed.keys import Key, plain_key, shard_of
from ..keyed.models import ExclusiveLock

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


class Part(typing.NamedTuple):
    """Some rows of a data frame.

    Attributes
    ----------
    rows
        Their numbers in the frame, ascending.
    keys, X, y, w
        As for `KeyedModels.learn_many`; `y` and `w` are empty for a prediction.
    """

    rows: Sequence[int]
    keys: list[Key]
    X: typing.Any
    y: Sequence[typing.Any] = ()
    w: Sequence[typing.Any] = ()

    def take(self, mask: list[bool]) -> Part:
        """Return the rows for which a mask is true."""
        X = into_frame(self.X)[np.flatnonzero(mask), :]
        rows, keys, y, w = (
            list(compress(each, mask)) for each in (self.rows, self.keys, self.y, self.w)
        )
        return Part(rows, keys, X if isinstance(X, np.ndarray) else X.to_native(), y, w)


class Worker:
    """The models of some keys, in a process of Ray. Call `open` first.

    A commit stores the models together with the position in the stream, that is, the number of the
    next sample. The worker skips samples before its position. Therefore the stream can be sent
    again from any earlier position, and each sample is learned once.
    """

    _models: KeyedModels
    _position: int
    _error: BaseException | None = None

    def open(self, model: typing.Any, store: Path | None, options: dict[str, typing.Any]) -> int:
        """Open the models; return the position. `options` are parameters of `KeyedModels`."""
        self._models = KeyedModels(model, store=store, **options)
        self._position = int(self._models.note.get("position", 0))
        return self._position

    def process(self) -> int:
        """Return the id of this process."""
        return os.getpid()

    def learn(self, start: int, stop: int, part: Part, predicts: bool) -> list[typing.Any]:
        """Learn rows of a frame that holds the samples start ... stop - 1 of the stream.

        Returns the predictions made before, if requested; `None` for samples learned already.
        """
        self._check()
        new = part.take([start + row >= self._position for row in part.rows])
        try:
            rows = labelled_rows(new.keys, new.X, new.y, new.w)
            predictions = self._models._learn_rows(rows, predicts)
        except BaseException as error:
            # Models reject invalid samples without raising: this is the disk or the memory.
            self._error = error
            raise
        self._position = max(self._position, stop)
        n_known = len(part.rows) - len(new.rows)
        return [None] * n_known + predictions if predicts else []

    def commit(self) -> None:
        """Store the models that have changed, and the position."""
        self._check()
        self._models.commit({"position": self._position})

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def predict(self, part: Part, probabilities: bool) -> list[typing.Any]:
        """Predict rows."""
        return self._models._predict_rows(keyed_rows(part.keys, part.X), probabilities)

    def ask(self, method: str, *arguments: typing.Any) -> typing.Any:
        """Call a method of the models."""
        return getattr(self._models, method)(*arguments)


class DistributedKeyedModels:
    """One model per key, in several processes.

    Each key gets a clone of the model with its first sample, and this clone learns only the samples
    of the key. Choose it if `KeyedModels` in one process is too slow or needs too much memory.
    Ray[^1] runs the processes, on this or other machines. The hash of a key determines its worker,
    which has a `KeyedModels`.

    With a folder, `commit` stores the models that have changed and the position in the stream. If a
    process dies, make the models again with the same folder, and send the stream from `position`
    on. Every sample is learned once.

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
        no limit.
    time_to_live
        Number of samples of the whole stream after the last sample of a key until its model is
        dropped; `None` never drops it. Each worker counts its own samples, and multiplies by the
        number of workers.
    when_full
        What happens to a model that leaves the memory: `"drop"` deletes it; `"spill"` writes it to
        the file of its worker, and the next sample of its key restores it.
    pooled
        Model to clone for each worker, or `None`. The clone learns the samples of all keys of its
        worker. It predicts samples of unknown keys, and is mixed with the model of each known key,
        as in `KeyedModels`.

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
        when_full: str = "drop",
        pooled: base.Estimator | None = None,
    ) -> None:
        check_whole("n_workers", n_workers, 1)
        check_whole("max_models", max_models, n_workers, optional=True)
        check_whole("time_to_live", time_to_live, 1, optional=True)
        check_choice("when_full", when_full, "drop", "spill")
        has_folder = folder is not None or when_full == "drop"
        check_parameter(has_folder, "folder", folder, "a folder when models spill")
        options: dict[str, typing.Any] = {
            "max_models": None if max_models is None else max_models // n_workers,
            "time_to_live": None if time_to_live is None else -(-time_to_live // n_workers),
            "when_full": when_full,
            "pooled": pooled,
        }
        KeyedModels(model, **{**options, "when_full": "drop"})  # raises for invalid parameters
        stores = stores_in(folder, n_workers)
        self._is_stored = folder is not None
        self._lock = ExclusiveLock()
        self._pending: list[typing.Any] = []  # references to the results for the last frame
        # SPREAD uses all machines in turn; messages cost less without task events.
        placement = {"num_cpus": 0, "scheduling_strategy": "SPREAD", "enable_task_events": False}
        actor = connected().remote(**placement)(Worker)
        self._workers = [actor.remote() for _ in stores]
        try:
            opened = zip(self._workers, stores, strict=True)
            self.position = min(
                self._results([each.open.remote(model, store, options) for each, store in opened])
            )
        except BaseException:
            self._stop()
            raise

    def __reduce__(self) -> typing.NoReturn:
        raise TypeError(
            "keyed models in several processes cannot be copied or pickled: make them again with "
            "the same folder"
        )

    # ------------------------------------------------------------------ learning

    def learn_many(
        self, keys: typing.Any, X: typing.Any, y: typing.Any, w: typing.Any = 1.0
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

        Raises
        ------
        TypeError, ValueError
            If a key is not a string, bytes or an integer, if the lengths differ, or if a value
            cannot be pickled. Then nothing is learned.
        """
        with self._lock():
            references, _ = self._send(keys, X, y, w, predicts=False)
            self._wait()  # for the frame before: meanwhile, the workers have this one
            self._pending = references

    def predict_learn_many(
        self, keys: typing.Any, X: typing.Any, y: typing.Any, w: typing.Any = 1.0
    ) -> typing.Any:
        """Predict each row of a data frame, then learn it: test-then-train in one call.

        Parameters
        ----------
        keys, X, y, w
            As for `learn_many`.

        Returns
        -------
        A series of the library of X, in the order of the rows. The prediction is missing for the
        first sample of a key, for a sample that is invalid for its model, and for a sample that has
        been learned already, if the stream is sent again.

        Raises
        ------
        TypeError, ValueError
            As `learn_many`.
        """
        with self._lock():
            references, parts = self._send(keys, X, y, w, predicts=True)
            self._wait()
            return series_of_predictions(self._gathered(references, parts), X)

    def _send(
        self, keys: typing.Any, X: typing.Any, y: typing.Any, w: typing.Any, predicts: bool
    ) -> tuple[list[typing.Any], list[Part]]:
        """Send each worker its rows of a frame; return references to the results, and the rows."""
        n = len(into_frame(X))
        parts = self._parts(keys, X, *targets_of(y, w, n))
        ray = connected()  # `put` raises what cannot be pickled before anything is sent
        sent = [ray.put(part) for part in parts]
        start, stop = self.position, self.position + n
        references = [
            worker.learn.remote(start, stop, part, predicts)
            for worker, part in zip(self._workers, sent, strict=True)
        ]
        self.position = stop
        return references, parts

    def _parts(self, keys: typing.Any, X: typing.Any, *labels: list[typing.Any]) -> list[Part]:
        """Divide the rows of a frame among the workers."""
        self._check_open()
        n_workers = len(self._workers)
        plain = keys_of(keys, len(into_frame(X)))
        shards = {key: shard_of(key, n_workers) for key in dict.fromkeys(plain)}
        frame = Part(range(len(plain)), plain, X, *labels)
        return [frame.take([shards[key] == i for key in plain]) for i in range(n_workers)]

    def _check_open(self) -> None:
        if not self._workers:
            raise RuntimeError("the keyed models are closed: make them again with the same folder")

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

    def _gathered(self, references: list[typing.Any], parts: list[Part]) -> list[typing.Any]:
        """Wait for the predictions of all workers; return them in the order of the rows."""
        found = self._results(references)
        predictions = {
            row: each
            for part, own in zip(parts, found, strict=True)
            for row, each in zip(part.rows, own, strict=True)
        }
        return [predictions[row] for row in range(len(predictions))]

    def _wait(self) -> None:
        """Wait until the workers have learned all frames but the one just sent."""
        pending, self._pending = self._pending, []
        self._results(pending)

    def _ask_one(self, method: str, key: Key, *arguments: typing.Any) -> typing.Any:
        """Call a method of the models of the worker of a key."""
        key = plain_key(key)
        with self._lock():
            self._check_open()
            worker = self._workers[shard_of(key, len(self._workers))]
            return self._results([worker.ask.remote(method, key, *arguments)])[0]

    def _ask_many(self, keys: typing.Any, X: typing.Any, probabilities: bool) -> list[typing.Any]:
        with self._lock():
            parts = self._parts(keys, X)
            references = [
                worker.predict.remote(part, probabilities)
                for worker, part in zip(self._workers, parts, strict=True)
            ]
            return self._gathered(references, parts)

    # ------------------------------------------------------------------ predictions

    def predict_one(self, key: Key, x: Sample) -> typing.Any:
        """Predict the label or target of a sample, as `KeyedModels.predict_one`.

        The worker first learns all earlier samples.

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
        return self._ask_one("predict_one", key, x)

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
        return series_of_predictions(self._ask_many(keys, X, False), X)

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

    # ------------------------------------------------------------------ models

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
        return self._ask_one("model_of", key)

    def _of_all(self, method: str, *arguments: typing.Any) -> list[typing.Any]:
        """Wait for all frames, and call a method of all workers."""
        with self._lock():
            self._check_open()
            self._wait()
            return self._results(
                [getattr(worker, method).remote(*arguments) for worker in self._workers]
            )

    def counts(self) -> Counts:
        """Return the numbers of models, and of samples learned and refused by the workers."""
        found = self._of_all("ask", "counts")
        return Counts(
            n_models=sum(each.n_models for each in found),
            n_in_memory=sum(each.n_in_memory for each in found),
            n_samples_seen=sum(each.n_samples_seen for each in found),
            n_refused=sum(each.n_refused for each in found),
            refusal=next((each.refusal for each in found if each.refusal), ""),
        )

    def commit(self) -> None:
        """Wait until the workers have learned and stored all samples."""
        self._of_all("commit")

    def close(self) -> None:
        """Stop the workers. With a folder, commit first."""
        try:
            if self._workers:
                self._of_all("commit" if self._is_stored else "process")
        finally:
            self._stop()

    def _stop(self) -> None:
        self._pending.clear()
        while self._workers:
            connected().kill(self._workers.pop())

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._stop()


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
