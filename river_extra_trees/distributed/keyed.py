"""One model per key, in several processes."""

from __future__ import annotations

import typing
from collections.abc import Hashable
from pathlib import Path

from river import base

from .._estimator.parameters import check_parameter, check_whole
from ..keyed import Counts
from ..keyed.keeper import check_options
from ..keyed.prior import PooledPrior
from .cluster import connected
from .feeder import Feeder
from .worker import Worker

__all__ = ["DistributedKeyedModels"]

OWN = "own"  # partition of the samples that `DistributedKeyedModels` itself sends


class DistributedKeyedModels(Feeder):
    """One model per key, in several processes.

    Each key gets a clone of the model with its first sample, and this clone learns only the samples
    of the key. Choose it if `KeyedModels` in one process is too slow or needs too much memory.
    Ray[^1] runs the processes, on this or other machines. The hash of a key determines its worker,
    which has a `KeyedModels`.

    This object sends samples, and so can any number of feeders in other processes, each with its
    own partition of the stream: see `feeder`. `commit` stores the models that have changed and the
    position in each partition. If a process dies, make the models again with the same folder, and
    send each partition from the `position` of its feeder on. Every sample is learned once.

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
        check_options(model, max_models, time_to_live, when_full, least_models=n_workers)
        check_parameter(
            folder is not None or when_full == "drop",
            "folder",
            folder,
            "a folder when models spill",
        )
        if pooled is not None:
            PooledPrior(pooled, isinstance(model, base.Classifier))  # refuses what is none
        options = {
            "max_models": None if max_models is None else max_models // n_workers,
            "time_to_live": None if time_to_live is None else -(-time_to_live // n_workers),
            "when_full": when_full,
            "pooled": pooled,
        }
        stores = stores_in(folder, n_workers)
        self._is_stored = folder is not None
        super().__init__(model, [start_worker() for _ in stores], OWN)
        try:
            self._asked(
                [
                    worker.open.remote(model, store, options)
                    for worker, store in zip(self._workers, stores, strict=True)
                ]
            )
        except BaseException:
            self._stop()
            raise

    def __reduce__(self) -> typing.Any:
        raise TypeError(
            "keyed models in several processes cannot be copied or pickled: pass a feeder on, or "
            "make them again with the same folder"
        )

    def feeder(self, partition: Hashable) -> Feeder:
        """Make a feeder for a partition of the stream, which can be passed to another process.

        Parameters
        ----------
        partition
            Name of the partition: a string or an integer, but not `"own"`, which is the partition
            of samples that this object sends.

        Returns
        -------
        The feeder.
        """
        if isinstance(partition, bool) or not isinstance(partition, (str, int)):
            raise TypeError(
                f"a partition must be a string or a whole number, not {type(partition).__name__!r}"
            )
        if partition == OWN:
            raise ValueError("the partition 'own' is fed by the keyed models themselves")
        return Feeder(self._model, self._workers, partition)

    def counts(self) -> Counts:
        """Return the numbers of models, and of samples learned and refused by the workers."""
        with self._turn():
            rows = self._asked([worker.ask.remote("counts") for worker in self._workers])
        return Counts(
            n_models=sum(each.n_models for each in rows),
            n_in_memory=sum(each.n_in_memory for each in rows),
            n_samples_seen=sum(each.n_samples_seen for each in rows),
            n_refused=sum(each.n_refused for each in rows),
            refusal=next((each.refusal for each in reversed(rows) if each.refusal), ""),
        )

    def processes(self) -> list[int]:
        """Return the process id of each worker."""
        with self._turn():
            return self._asked([worker.process.remote() for worker in self._workers])

    def close(self) -> None:
        """Stop the workers. With a folder, commit first what this object and the feeders sent."""
        try:
            if self._workers and self._is_stored:
                self.commit()
            else:
                self.wait()
        finally:
            self._stop()

    def _stop(self) -> None:
        self._in_flight.clear()
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


def start_worker() -> typing.Any:
    """Start the process of a worker."""
    # SPREAD uses all machines in turn; messages cost less without task events.
    options = {"num_cpus": 0, "scheduling_strategy": "SPREAD", "enable_task_events": False}
    return connected().remote(**options)(Worker).remote()
