"""The models of some key groups, for any engine that carries the messages."""

from __future__ import annotations

import sqlite3
import time
import typing
from collections.abc import Hashable, Iterable
from pathlib import Path

import numpy as np

from ..keyed import Counts, Key, KeyedModels
from .parcels import Parcel

__all__ = ["KeyGroups", "Settings"]

PATIENCE = 60.0  # seconds to wait for another process to close the file of a group


class Settings(typing.NamedTuple):
    """Settings shared by all key groups.

    Attributes
    ----------
    model
        Model to clone for each key.
    n_groups
        Number of key groups.
    folder
        Folder for the files of the groups, or `None`.
    options
        Options of `KeyedModels`, for each group.
    """

    model: typing.Any
    n_groups: int
    folder: Path | None
    options: dict[str, typing.Any]


class Group:
    """The models of one key group, and its position in each partition.

    Parameters
    ----------
    settings
        Settings shared by all groups.
    number
        Number of the group.
    """

    def __init__(self, settings: Settings, number: int) -> None:
        self.models = opened(settings, number)
        self.is_stored = settings.folder is not None
        self.positions: dict[Hashable, int] = dict(self.models.note.get("positions", {}))
        self.committed = dict(self.positions)

    def commit(self) -> None:
        """Write changes and positions to the file, if there is one."""
        if self.is_stored:
            self.models.commit({"positions": self.positions})
        self.committed = dict(self.positions)


def opened(settings: Settings, number: int) -> KeyedModels:
    """Open the models of a key group; wait while an ending process still has its file open."""
    store = None if settings.folder is None else settings.folder / f"group{number}.db"
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return KeyedModels(settings.model, store=store, **settings.options)
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class KeyGroups:
    """The models of some key groups.

    The hash of a key determines its group. The number of groups is fixed, and groups can move
    between processes. Each group stores its position in each partition of the stream, which is the
    number of the next sample, and skips earlier samples. So a partition can be replayed from any
    earlier position, and every sample is learned once.

    Parameters
    ----------
    settings
        Settings shared by all groups.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._groups: dict[int, Group] = {}

    # ------------------------------------------------------------------ moves

    def adopt(self, numbers: Iterable[int]) -> None:
        """Open groups that are not open yet, in the state of their last commit.

        Parameters
        ----------
        numbers
            Numbers of the groups.
        """
        for number in numbers:
            if number not in self._groups:
                self._groups[number] = Group(self._settings, number)

    def release(self, numbers: Iterable[int]) -> None:
        """Commit and close groups.

        Parameters
        ----------
        numbers
            Numbers of the groups; those that are not open here are ignored.
        """
        for number in numbers:
            group = self._groups.pop(number, None)
            if group is not None:
                group.commit()
                group.models.close()

    def close(self) -> None:
        """Close all groups. Changes since the last commit are lost."""
        while self._groups:
            self._groups.popitem()[1].models.close()

    @property
    def numbers(self) -> list[int]:
        """Numbers of the groups that are open here."""
        return list(self._groups)

    # ------------------------------------------------------------------ learning

    def learn(
        self, partition: Hashable, parcel: Parcel, is_asked: bool = False
    ) -> list[typing.Any] | None:
        """Learn samples; if requested, predict each before it is learned.

        Parameters
        ----------
        partition
            The partition to which the samples belong.
        parcel
            The samples.
        is_asked
            Whether predictions are requested.

        Returns
        -------
        The predictions, or `None`. The prediction is `None` for the first sample of a key, and for
        a sample that has been learned already.
        """
        answers: list[typing.Any] | None = [None] * len(parcel) if is_asked else None
        for number, start, stop in parcel.rows():
            group = self._groups[number]
            position = group.positions.get(partition, 0)
            start += int(parcel.numbers[start:stop].searchsorted(position))
            if start == stop:
                continue
            rows = np.arange(start, stop)
            if answers is None:
                group.models.learn_block(parcel.block, rows)
            else:
                answers[start:stop] = group.models.predict_learn_block(parcel.block, rows)
            group.positions[partition] = int(parcel.numbers[stop - 1]) + 1
        return answers

    def commit(self, partition: Hashable, position: int) -> None:
        """Make everything learned so far durable.

        Parameters
        ----------
        partition
            A partition of which all samples before the position have been received.
        position
            The position.
        """
        for group in self._groups.values():
            group.positions[partition] = max(position, group.positions.get(partition, 0))
            group.commit()

    def committed(self, partition: Hashable) -> int:
        """Return the number of the first sample of a partition that may not be committed yet.

        Parameters
        ----------
        partition
            The partition.
        """
        positions = (group.committed.get(partition, 0) for group in self._groups.values())
        return min(positions, default=0)

    # ------------------------------------------------------------------ answers

    def predict(self, parcel: Parcel, shares: bool) -> list[typing.Any]:
        """Predict each sample.

        Parameters
        ----------
        parcel
            The samples.
        shares
            Whether to predict the probabilities of the labels.

        Returns
        -------
        The predictions; `None` or an empty dict for unknown keys.
        """
        answers: list[typing.Any] = []
        for number, start, stop in parcel.rows():
            models = self._groups[number].models
            answers += models.predict_block(parcel.block, np.arange(start, stop), shares)
        return answers

    def ask_one(self, number: int, method: str, *arguments: typing.Any) -> typing.Any:
        """Call a method of the models of a group.

        Parameters
        ----------
        number
            Number of the group.
        method
            Name of the method.
        arguments
            Its arguments.
        """
        return getattr(self._groups[number].models, method)(*arguments)

    def forget(self, partition: Hashable, number: int, key: Key) -> None:
        """Drop the model of a key, and commit.

        Parameters
        ----------
        partition
            The partition that requests it.
        number
            Number of the group of the key.
        key
            The key.
        """
        group = self._groups[number]
        group.models.forget(key)
        group.commit()

    def counts(self) -> Counts:
        """Return the numbers of models, and of learned and refused samples."""
        return total(group.models.counts() for group in self._groups.values())


def total(counts: Iterable[Counts]) -> Counts:
    """Add up counts; the refusal is the last one.

    Parameters
    ----------
    counts
        The counts.
    """
    rows = list(counts)
    return Counts(
        n_models=sum(each.n_models for each in rows),
        n_in_memory=sum(each.n_in_memory for each in rows),
        n_samples_seen=sum(each.n_samples_seen for each in rows),
        n_refused=sum(each.n_refused for each in rows),
        refusal=next((each.refusal for each in reversed(rows) if each.refusal), ""),
    )
