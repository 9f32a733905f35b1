"""What a feeder knows of each worker, and of the blocks that are on their way to it."""

from __future__ import annotations

import collections
import typing
from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from ..._estimator.frames import Sample
from ...keyed import Key
from ..parcels import Parcel
from .group_worker import Greeting, Stale
from .workers import connected

__all__ = ["Link", "LostError", "Whole", "results"]

Entry = tuple[int, Key, Sample, typing.Any, float]  # number, key, features, target, weight


class LostError(Exception):
    """A worker has died, or began anew, or owns other groups."""


class Whole:
    """A block of samples for all workers.

    Parameters
    ----------
    parcel
        The samples, sorted by group.
    order
        The row that each of them had in the caller's block.
    is_asked
        Whether the caller waits for predictions.
    """

    def __init__(self, parcel: Parcel, order: npt.NDArray[np.intp], is_asked: bool) -> None:
        self.parcel, self.order, self.is_asked = parcel, order, is_asked
        self.end = int(parcel.numbers.max()) + 1
        self.answers = np.full(len(parcel) if is_asked else 0, None, dtype=object)

    def note(self, groups: range, answers: list[typing.Any]) -> None:
        """Note the answers of the worker that has these groups.

        One that is missing replaces none: it may be that of a sample which was learned and answered
        before, and repeated when the worker died.
        """
        rows = self.order[self.parcel.rows_of(groups)]
        found = np.fromiter(answers, object, len(answers))
        is_known = np.array([answer is not None for answer in answers], dtype=bool)
        self.answers[rows[is_known]] = found[is_known]


class Link:
    """What a feeder knows of a worker.

    Parameters
    ----------
    partition
        The feeder's partition.
    actor
        The worker.
    groups
        Its key groups.
    greeting
        What it has said.
    """

    def __init__(
        self, partition: Hashable, actor: typing.Any, groups: range, greeting: Greeting
    ) -> None:
        self.partition, self.actor, self.groups = partition, actor, groups
        self.session, self.committed = greeting.session, greeting.committed
        self._n_sent = 0  # messages of the session that change something
        # References to results, with what they are results of: a block, or a position to commit
        self.in_flight: collections.deque[tuple[typing.Any, Whole | int]] = collections.deque()
        self.gathered: list[Entry] = []
        self.gathered_keys: set[Key] = set()

    def change(self, method: str, *arguments: typing.Any) -> typing.Any:
        """Let the worker call a method that changes its groups; return the result's reference."""
        self._n_sent += 1
        head = self.partition, self.session, self._n_sent
        return self.actor.change.remote(*head, method, *arguments)

    def ask(self, method: str, *arguments: typing.Any) -> typing.Any:
        """Let the worker call a method that changes nothing; return the result's reference."""
        return self.actor.ask.remote(self.partition, self.session, method, *arguments)

    def gather(self, entry: Entry) -> None:
        """Put a sample aside, to be sent with others."""
        self.gathered.append(entry)
        self.gathered_keys.add(entry[1])

    def take_gathered(self) -> list[Entry]:
        """What is gathered, which is now to be sent."""
        gathered, self.gathered, self.gathered_keys = self.gathered, [], set()
        return gathered


def results(references: list[typing.Any]) -> list[typing.Any]:
    """Wait for the results of messages.

    Raises
    ------
    LostError
        If a worker has died, or began anew.
    Exception
        What a worker has raised.
    """
    ray = connected()
    try:
        found: list[typing.Any] = ray.get(references)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError) as error:
        raise LostError from error
    if any(isinstance(each, Stale) for each in found):
        raise LostError
    return found
