"""The process of a worker that holds key groups: an actor of Ray."""

from __future__ import annotations

import json
import os
import typing
from collections.abc import Hashable
from pathlib import Path

from ...persistence.atomic import replace_file
from ..groups import KeyGroups, Settings
from ..parcels import range_of
from .workers import connected

__all__ = ["Greeting", "GroupWorker", "Stale", "actor_named", "name_of_worker", "start_worker"]

NAMESPACE = "river_extra_trees"  # of the names of actors
LAYOUT = "layout.json"  # in the folder: the number of groups, the model, the number of workers


class Stale:
    """The answer to a message that does not follow those that were received from its feeder.

    It is no exception: Ray would report one that nobody waits for any more.
    """


class Greeting(typing.NamedTuple):
    """What a worker says to a feeder that begins.

    Attributes
    ----------
    session
        What messages of this feeder to this worker have to name.
    n_workers
        Number of workers.
    committed
        Number in the feeder's partition of the first sample that commits may not cover.
    """

    session: bytes
    n_workers: int
    committed: int


class GroupWorker:
    """The key groups of one worker.

    A worker that has died is started again by Ray, with the same arguments: it finds the number of
    workers, which may have changed since, in the folder, and its groups as their last commits left
    them.

    The messages of a feeder belong to a session, which begins with a greeting, and are numbered. So
    a message that follows one that was lost, with a process or with the arguments that a dead
    feeder had in shared memory, is refused, and with it the session: nothing is committed that was
    not received. A feeder that greets takes the place of an earlier one of its partition.

    Parameters
    ----------
    settings
        Settings shared by all groups.
    number
        Number of this worker.
    n_workers
        Number of workers.
    """

    def __init__(self, settings: Settings, number: int, n_workers: int) -> None:
        self._settings, self._number = settings, number
        self._n_workers = read_layout(settings.folder).get("n_workers", n_workers)
        self._groups = KeyGroups(settings)
        self._is_moving = False
        # Of each partition, the session and the number of its last message
        self._sessions: dict[Hashable, tuple[bytes, int]] = {}

    def _range(self) -> range:
        if self._number >= self._n_workers:
            return range(0)  # this worker is about to end
        return range_of(self._number, self._n_workers, self._settings.n_groups)

    def greet(self, partition: Hashable, session: bytes) -> Greeting | Stale:
        """Say to a feeder from where to go on, or that a session goes on."""
        if self._is_moving:
            return Stale()
        self._groups.adopt(self._range())
        if self._sessions.get(partition, (b"", 0))[0] != session or not session:
            session = os.urandom(8)
            self._sessions[partition] = session, 0
        return Greeting(session, self._n_workers, self._groups.committed(partition))

    def process(self) -> int:
        """The id of this process."""
        return os.getpid()

    # ------------------------------------------------------------------ messages of feeders

    def change(
        self, partition: Hashable, session: bytes, number: int, method: str, *arguments: typing.Any
    ) -> typing.Any:
        """Call a method that changes the groups; go back to the last commits if it fails.

        Models that raise do not come so far: a failure is one of the disk or of the memory. What
        was learned of a parcel is not known then, so the feeders have to send all again.
        """
        if self._sessions.get(partition) != (session, number - 1):
            self._sessions.pop(partition, None)
            return Stale()
        try:
            result = getattr(self._groups, method)(partition, *arguments)
        except BaseException:
            if self._settings.folder is not None:
                self._sessions.clear()
                self._groups.close()  # the next greeting opens them
            raise
        self._sessions[partition] = session, number
        return result

    def ask(
        self, partition: Hashable, session: bytes, method: str, *arguments: typing.Any
    ) -> typing.Any:
        """Call a method of the groups that changes nothing."""
        if self._sessions.get(partition, (b"", 0))[0] != session:
            return Stale()
        return getattr(self._groups, method)(*arguments)

    # ------------------------------------------------------------------ another number of workers

    def release(self, n_workers: int) -> None:
        """Commit all groups, and close those that belong to others if there are so many workers."""
        self._is_moving = True
        self._sessions.clear()
        self._n_workers = n_workers
        kept = self._range()
        self._groups.release([each for each in self._groups.numbers if each not in kept])

    def adopt(self) -> None:
        """Let feeders greet, and open the groups that now belong to this worker."""
        self._is_moving = False
        self._groups.adopt(self._range())


# --- Actors


def name_of_worker(run: str, number: int) -> str:
    """The name of an actor."""
    return f"{run}-{number}"


def start_worker(
    run: str, settings: Settings, number: int, n_workers: int, restarts: bool
) -> typing.Any:
    """Start the actor of a worker.

    Parameters
    ----------
    run
        Name of the whole, which begins the names of the actors.
    settings
        Settings shared by all groups.
    number
        Number of the worker.
    n_workers
        Number of workers.
    restarts
        Whether Ray starts the process again when it has died.
    """
    # SPREAD uses all machines in turn; messages cost less without task events.
    options = {
        "name": name_of_worker(run, number),
        "namespace": NAMESPACE,
        "scheduling_strategy": "SPREAD",
        "enable_task_events": False,
        "num_cpus": 0,  # else it would wait for feeders to end before it begins again
        "max_restarts": -1 if restarts else 0,
    }
    return connected().remote(**options)(GroupWorker).remote(settings, number, n_workers)


def actor_named(run: str, number: int) -> typing.Any:
    """The actor of a worker, in any process that is connected to the same Ray.

    Raises
    ------
    ValueError
        If there is none.
    """
    return connected().get_actor(name_of_worker(run, number), namespace=NAMESPACE)


# --- The layout of a folder


def read_layout(folder: Path | None) -> dict[str, typing.Any]:
    """What the folder says of its groups and workers; nothing if it is new."""
    path = None if folder is None else folder / LAYOUT
    if path is None or not path.exists():
        return {}
    layout: dict[str, typing.Any] = json.loads(path.read_text())
    return layout


def write_layout(folder: Path, layout: dict[str, typing.Any]) -> None:
    """Write the layout atomically."""
    replace_file(folder / LAYOUT, json.dumps(layout).encode())
