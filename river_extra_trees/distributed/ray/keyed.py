"""One model per key, in several processes."""

from __future__ import annotations

import time
import typing
import uuid
from collections.abc import Hashable
from pathlib import Path

from river import base

from ..._estimator.parameters import check_parameter, check_whole
from ...keyed import Counts
from ...keyed.description import description
from ...keyed.keeper import check_options
from ...keyed.prior import PooledPrior
from ..groups import Settings, total
from ..parcels import MOST_GROUPS
from .delivery import PATIENCE, FeederSettings
from .feeder import Feeder
from .group_worker import read_layout, start_worker, write_layout
from .links import LostError, results
from .workers import connected

__all__ = ["DistributedKeyedModels"]

OWN = "own"  # partition of the samples that `DistributedKeyedModels` itself sends


class DistributedKeyedModels(Feeder):
    """One model per key, in several processes.

    Each key gets a clone of the model with its first sample, and this clone learns only the samples
    of the key. Choose it if `KeyedModels` in one process is too slow or needs too much memory.
    Ray[^1] runs the processes, on this or other machines, and restarts them when they die.

    The hash of a key determines its key group, as in Flink[^2]. Each group has its own file, and
    each worker has a range of groups. So the number of workers may change, between runs or with
    `rescale`, without effect on the predictions.

    This object sends samples, and so can any number of feeders in other processes, each with its
    own partition of the stream: see `feeder`. After every `checkpoint_every` samples of a feeder,
    the workers commit: they write the models that have changed, with the positions in all
    partitions. A worker that dies resumes from its last commit, and the feeders send it the later
    samples again. If all processes die, start again with the same folder, and send each partition
    from the `position` of its feeder on. Every sample is learned once.

    Parameters
    ----------
    model
        Model to clone for each key: any classifier or regressor of river.
    n_workers
        Number of processes, at most `n_groups`.
    n_groups
        Number of key groups. It is fixed for the lifetime of a folder.
    folder
        Folder for the files of the groups, on a disk that all machines share, or `None`. It
        contains pickles: make sure that only you can write to it. Without a folder, the models of a
        worker that dies are lost, and the next call that waits for it raises `RuntimeError`.
    max_models
        Largest number of models in the memory of all workers; `None` sets no limit. All groups have
        the same share, so that it must be at least `n_groups`.
    time_to_live
        Number of samples of the whole stream after the last sample of a key until its model is
        dropped; `None` never drops it. Each group counts its own samples, and multiplies by the
        number of groups.
    when_full
        What happens to a model that leaves the memory: `"drop"` deletes it; `"spill"` writes it to
        the file of its group, and the next sample of its key restores it.
    block_size
        Largest number of samples in a message to a worker. `learn_one` collects so many, and longer
        frames are divided.
    checkpoint_every
        Number of samples of a feeder after which the workers commit. The feeder keeps as many.
    pooled
        Model to clone for each key group, or `None`. The clone learns the samples of all keys of
        its group. It predicts samples of unknown keys, and is mixed with the model of each known
        key, as in `KeyedModels`: see the notes.

    Notes
    -----
    With a pooled model, a prediction depends on the earlier samples of all keys of its group. So
    predictions do not depend on the number of workers, but on the number of groups: each pooled
    model learns a share of 1 / `n_groups` of the stream. They also depend on the order of the
    samples within a group, which is that of the stream with one feeder, and undefined with several.
    The models of the keys depend on neither.

    References
    ----------
    [^1]: Moritz, P. et al., 2018. Ray: A Distributed Framework for Emerging AI Applications.
        13th USENIX Symposium on Operating Systems Design and Implementation, pp. 561-577.
    [^2]: Carbone, P. et al., 2017. State Management in Apache Flink. Proceedings of the VLDB
        Endowment, 10(12), pp. 1718-1729.

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
        n_groups: int = 64,
        folder: str | Path | None = None,
        max_models: int | None = None,
        time_to_live: int | None = None,
        when_full: str = "drop",
        block_size: int = 10_000,
        checkpoint_every: int = 100_000,
        pooled: base.Estimator | None = None,
    ) -> None:
        check_whole("n_groups", n_groups, 1)
        check_parameter(n_groups <= MOST_GROUPS, "n_groups", n_groups, f"at most {MOST_GROUPS}")
        check_workers(n_workers, n_groups)
        check_options(model, max_models, time_to_live, when_full, least_models=n_groups)
        check_whole("block_size", block_size, 1)
        check_whole("checkpoint_every", checkpoint_every, 1)
        check_parameter(
            folder is not None or when_full == "drop",
            "folder",
            folder,
            "a folder when models spill",
        )
        if pooled is not None:
            PooledPrior(pooled, isinstance(model, base.Classifier))  # refuses what is none
        options = {
            "max_models": None if max_models is None else max_models // n_groups,
            "time_to_live": None if time_to_live is None else -(-time_to_live // n_groups),
            "when_full": when_full,
            "pooled": pooled,
        }
        self._folder = None if folder is None else Path(folder).absolute()
        run = f"keyed-models-{uuid.uuid4().hex}"
        is_stored = folder is not None
        feeding = FeederSettings(
            run, model, n_groups, block_size, checkpoint_every, is_stored, pooled is not None
        )
        super().__init__(feeding, OWN)
        self._is_closed = False
        self._groups = Settings(model, n_groups, self._folder, options)
        self._write_layout(n_workers)
        self._actors = [self._started(number, n_workers) for number in range(n_workers)]
        self._delivery.begin()

    def __reduce__(self) -> typing.Any:
        raise TypeError(
            "keyed models in several processes cannot be copied or pickled: pass a feeder on, or "
            "start them again with the same folder"
        )

    def _write_layout(self, n_workers: int) -> None:
        """Write the number of workers to the folder, where restarted workers read it."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        pooled = self._groups.options["pooled"]
        wanted = {
            "model": description(self._groups.model),
            "pooled": "none" if pooled is None else description(pooled),
            "n_groups": self._groups.n_groups,
        }
        for name, found in read_layout(self._folder).items():
            if found != wanted.get(name, found):
                raise ValueError(
                    f"{self._folder} belongs to keyed models with {name} {found}, "
                    f"not {wanted[name]}"
                )
        write_layout(self._folder, {**wanted, "n_workers": n_workers})

    def _started(self, number: int, n_workers: int) -> typing.Any:
        is_stored = self._folder is not None
        return start_worker(self._settings.run, self._groups, number, n_workers, is_stored)

    # ------------------------------------------------------------------ the workers

    def feeder(self, partition: Hashable) -> Feeder:
        """Make a feeder for a partition of the stream, which can be pickled for another process.

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
        return Feeder(self._settings, partition)

    @property
    def n_workers(self) -> int:
        """Number of processes."""
        return len(self._actors)

    def rescale(self, n_workers: int) -> None:
        """Change the number of workers. Feeders may continue meanwhile.

        Groups that move are committed and closed by their old worker and opened by their new one.
        Feeders send pending samples again.

        Parameters
        ----------
        n_workers
            New number of processes.
        """
        check_workers(n_workers, self._settings.n_groups)
        if self._folder is None:
            raise ValueError("keyed models without a folder cannot change the number of workers")
        # From here on, a restarted worker opens its future groups.
        self._write_layout(n_workers)
        self._tell_all("release", n_workers)
        while len(self._actors) > n_workers:
            connected().kill(self._actors.pop())
        for number in range(len(self._actors), n_workers):
            self._actors.append(self._started(number, n_workers))
        self._tell_all("adopt")

    def _tell_all(self, method: str, *arguments: typing.Any) -> list[typing.Any]:
        """Call a method of all workers; repeat it if one of them dies."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return results(
                    [getattr(actor, method).remote(*arguments) for actor in self._actors]
                )
            except LostError as error:
                if self._folder is None or time.monotonic() > deadline:
                    raise RuntimeError("a worker died") from error
                time.sleep(0.05)

    def counts(self) -> Counts:
        """Return the numbers of models, and of samples learned and refused by the workers."""
        with self._turn():
            delivery = self._delivery.begin()
            delivery.send_gathered()

            def send() -> list[typing.Any]:
                return [link.ask("counts") for link in delivery.links]

            return total(delivery.answered(send))

    def processes(self) -> list[int]:
        """Return the process id of each worker."""
        return [int(process) for process in self._tell_all("process")]

    def close(self) -> None:
        """Commit if there is a folder, and stop the workers. A second call does nothing.

        Raises
        ------
        RuntimeError
            If a worker has died and there is no folder. The other workers are stopped in any case.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self.save()
            if self._folder is not None:
                self._tell_all("release", 0)
        finally:
            for actor in self._actors:
                connected().kill(actor)

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.close()
        except RuntimeError:
            if kind is None:  # do not hide an error of the `with` block
                raise


def check_workers(n_workers: int, n_groups: int) -> None:
    """Raise a ValueError unless each worker has a group."""
    check_whole("n_workers", n_workers, 1)
    check_parameter(n_workers <= n_groups, "n_workers", n_workers, f"at most n_groups, {n_groups}")
