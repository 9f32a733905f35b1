"""A replica of a served snapshot, and the shelf from which a replica that starts takes its own.

Ray Serve starts, checks and restarts both. A new snapshot goes to every replica, which replaces the
one that it has between two answers; Serve itself would replace the processes, which takes seconds.
"""

from __future__ import annotations

import importlib
import os
import typing
from collections.abc import Callable

__all__ = ["SHELF", "Answer", "Replica", "Shelf"]

SHELF = "shelf"  # the name that Serve knows it by
ONGOING = 8  # requests that a replica accepts at a time: one is worked on, others are read

Numbered = tuple[int, typing.Any]  # a snapshot and its number


class Answer(typing.NamedTuple):
    """An answer, and how many samples the model had learned when it was made.

    Attributes
    ----------
    value
        What the method of the snapshot returned.
    n_samples_seen
        Samples that the model had learned when the snapshot was taken.
    """

    value: typing.Any
    n_samples_seen: int


class Shelf:
    """Keeps the latest snapshot for the replicas that start."""

    def __init__(self) -> None:
        self.latest: Numbered = (-1, None)

    def exchange(self, number: int) -> Numbered:
        """Return its number, and the snapshot if the number is later than this one."""
        return self.latest if self.latest[0] > number else (self.latest[0], None)

    def put(self, number: int, snapshot: typing.Any) -> None:
        """Keep a snapshot, unless it holds a later one."""
        if number > self.latest[0]:
            self.latest = (number, snapshot)


class Replica:
    """A process that answers with the latest snapshot, over HTTP and to handles of Serve.

    Parameters
    ----------
    snapshot
        The first snapshot, which has the number 0.
    shelf
        Returns the shelf, which Serve may have started again since the last call.
    hosts
        Names by which clients may call the server, see `Application`.
    """

    def __init__(
        self, snapshot: typing.Any, shelf: Callable[[], typing.Any], hosts: tuple[str, ...]
    ) -> None:
        from river_extra_trees.serving.endpoints import Application, Limits
        from river_extra_trees.serving.snapshots import SnapshotService

        self.number, self.snapshot, self.shelf = 0, snapshot, shelf
        limits = Limits(queue=2 * ONGOING)  # never reached: Serve sends fewer
        self.application = Application(SnapshotService(snapshot), limits, hosts=hosts)
        keep_to_loopback()

    def __serve_build_asgi_app__(self) -> typing.Any:
        return self.application.asgi  # Serve asks for it by this name

    async def take(self, number: int, snapshot: typing.Any) -> None:
        """Answer with this snapshot from now on, unless a later one has arrived."""
        self._replace(number, snapshot)
        await self.check_health()

    def _replace(self, number: int, snapshot: typing.Any) -> None:
        from river_extra_trees.serving.snapshots import SnapshotService

        if number > self.number:
            monitor = self.application.service.monitor
            self.number, self.snapshot = number, snapshot
            self.application.service = SnapshotService(snapshot, monitor)

    async def check_health(self) -> None:
        """Let replica and shelf have the same snapshot, the later one.

        Serve calls it before the first request and every few seconds. So what was published while
        this process, or the shelf, began, is not missed.
        """
        shelf = self.shelf()
        number, snapshot = await shelf.exchange.remote(self.number)
        if number > self.number:
            self._replace(number, snapshot)
        elif number < self.number:
            # In the thread of the model: a snapshot that is pickled cannot answer meanwhile.
            await (await self.application.run(shelf.put.remote, self.number, self.snapshot))

    async def answer(self, method: str, x: typing.Any) -> Answer | Exception:
        """Call a method of the snapshot, in turn with the requests of HTTP.

        An error is returned: Serve would log one that is raised, with all its lines.
        """
        snapshot = self.snapshot
        try:
            value = await self.application.run(getattr(snapshot, method), x)
        except Exception as error:
            return error
        return Answer(value, int(snapshot.n_samples_seen))

    async def n_samples_seen(self) -> int:
        """Samples that the model had learned for the snapshot."""
        return int(self.application.service.samples_seen)

    async def process(self) -> int:
        """The id of this process."""
        return os.getpid()


def keep_to_loopback() -> None:
    """Let the port that this replica opens for Serve be on loopback if those of Ray are.

    Serve opens it on all interfaces, whatever those of Ray are on.
    """
    import ray

    replica: typing.Any = importlib.import_module("ray.serve._private.replica")
    if ray.util.get_node_ip_address() == "127.0.0.1":
        add_port = replica.add_port_to_grpc_server

        def add_port_of_loopback(server: typing.Any, address: str) -> typing.Any:
            return add_port(server, address.replace("[::]", "127.0.0.1"))

        replica.add_port_to_grpc_server = add_port_of_loopback
