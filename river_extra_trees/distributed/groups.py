"""The models of some key groups, with any engine for the messages."""

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

PATIENCE = 60.0  # seconds in which another process has to leave the file of a group


class Settings(typing.NamedTuple):
    """What all key groups have in common.

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
    """The models of one key group, and how far it has received each partition.

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
        """Make what was learned last, with the positions, if there is a file."""
        if self.is_stored:
            self.models.commit({"positions": self.positions})
        self.committed = dict(self.positions)


def opened(settings: Settings, number: int) -> KeyedModels:
    """The models of a key group; waits while another process, which is about to end, has them."""
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

    The hash of a key decides its group. The number of groups is fixed; a process may hold any of
    them, so that groups can move between processes. Each group knows its position in each partition
    of the stream, the number after that of the last sample it has received, and skips the samples
    before. So a partition can be repeated from any earlier place, and every sample counts once.

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
        """Open groups, as their last commit left them, unless they are open.

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
            Numbers of the groups; those that are not here are passed over.
        """
        for number in numbers:
            group = self._groups.pop(number, None)
            if group is not None:
                group.commit()
                group.models.close()

    def close(self) -> None:
        """Close all groups. What came after the last commit is lost."""
        while self._groups:
            self._groups.popitem()[1].models.close()

    @property
    def numbers(self) -> list[int]:
        """The numbers of the groups that are here."""
        return list(self._groups)

    # ------------------------------------------------------------------ learning

    def learn(
        self, partition: Hashable, parcel: Parcel, is_asked: bool = False
    ) -> list[typing.Any] | None:
        """Learn samples; return the predictions made before each was learned, if requested.

        The prediction is `None` for a sample that is the first of its key, and for one that has
        been learned already.

        Parameters
        ----------
        partition
            The partition to which the samples belong.
        parcel
            The samples.
        is_asked
            Whether predictions are requested.
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
        """The number in a partition of the first sample that commits may not cover.

        Parameters
        ----------
        partition
            The partition.
        """
        positions = (group.committed.get(partition, 0) for group in self._groups.values())
        return min(positions, default=0)

    # ------------------------------------------------------------------ answers

    def predict(self, parcel: Parcel, shares: bool) -> list[typing.Any]:
        """Predict each sample: `None`, or an empty dict, for an unknown key.

        Parameters
        ----------
        parcel
            The samples.
        shares
            Whether to answer with the probabilities of the labels.
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
        """Forget a key at once, also if this process should die.

        Parameters
        ----------
        partition
            The partition that asks for it.
        number
            Number of the key's group.
        key
            The key.
        """
        group = self._groups[number]
        group.models.forget(key)
        group.commit()

    def counts(self) -> Counts:
        """How much these groups have learned."""
        return total(group.models.counts() for group in self._groups.values())


def total(counts: Iterable[Counts]) -> Counts:
    """The sum of counts, with the last refusal among them.

    Parameters
    ----------
    counts
        How much each of several has learned.
    """
    rows = list(counts)
    return Counts(
        n_models=sum(each.n_models for each in rows),
        n_in_memory=sum(each.n_in_memory for each in rows),
        n_samples_seen=sum(each.n_samples_seen for each in rows),
        n_refused=sum(each.n_refused for each in rows),
        refusal=next((each.refusal for each in reversed(rows) if each.refusal), ""),
    )
