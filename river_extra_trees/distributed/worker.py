"""A worker of distributed keyed models: the models of its keys, and its positions."""

from __future__ import annotations

import os
import sqlite3
import time
import typing
from collections.abc import Hashable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..keyed import KeyedBlock, KeyedModels

__all__ = ["Worker"]

PATIENCE = 60.0  # seconds to wait for another process to close the file


class Worker:
    """The models of some keys, in a process of Ray.

    Of each partition it keeps the position, which is the number of the next sample, and skips
    samples before it. A commit stores the positions with the models. So a partition can be sent
    again from any earlier position, and each sample is learned once. Call `open` first.
    """

    _models: KeyedModels
    _positions: dict[Hashable, int]
    _is_stored: bool
    _failure = ""

    def open(self, model: typing.Any, store: Path | None, options: dict[str, typing.Any]) -> None:
        """Open the models; `options` are further parameters of `KeyedModels`."""
        self._models = opened(model, store, options)
        self._is_stored = store is not None
        self._positions = typing.cast(dict[Hashable, int], dict(self._models.note))

    def position(self, partition: Hashable) -> int:
        """Return the number of the next sample of a partition."""
        return self._positions.get(partition, 0)

    def process(self) -> int:
        """Return the id of this process."""
        return os.getpid()

    def learn(
        self,
        partition: Hashable,
        start: int,
        stop: int,
        samples: tuple[npt.NDArray[np.int64], KeyedBlock],
        asks: bool,
    ) -> list[typing.Any]:
        """Learn the samples start ... stop - 1 of a partition whose keys are of this worker.

        `samples` holds their numbers and themselves. Returns the predictions made before, if asked
        for; `None` for a sample that had been learned already.
        """
        self._check()
        position = self.position(partition)
        if position < start:
            raise RuntimeError(
                f"samples {position} to {start - 1} of partition {partition!r} did not arrive: "
                "send it again from the position"
            )
        numbers, block = samples
        n_known = int(numbers.searchsorted(position))
        rows = np.arange(n_known, len(numbers))
        answers: list[typing.Any] = [None] * n_known
        try:
            if asks:
                answers += self._models.predict_learn_block(block, rows)
            else:
                self._models.learn_block(block, rows)
        except BaseException as error:
            # Models refuse invalid samples without raising: this is the disk or the memory.
            self._failure = f"{type(error).__name__}: {error}"
            raise
        self._positions[partition] = max(position, stop)
        return answers

    def commit(self) -> None:
        """Store the models that have changed and the positions, if there is a file."""
        self._check()
        if self._is_stored:
            self._models.commit(typing.cast(dict[str, typing.Any], self._positions))

    def _check(self) -> None:
        if self._failure:
            raise RuntimeError(
                f"a worker has failed ({self._failure}): close the models, make them again with "
                "the same folder, and send each partition from its position"
            )

    def ask(self, method: str, *arguments: typing.Any) -> typing.Any:
        """Call a method of the models."""
        return getattr(self._models, method)(*arguments)


def opened(model: typing.Any, store: Path | None, options: dict[str, typing.Any]) -> KeyedModels:
    """Open the models; wait while a process that ends still has their file open."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return KeyedModels(model, store=store, **options)
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
