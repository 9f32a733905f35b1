"""Objects in worker processes that are restarted if they die.

A worker is a Ray actor that holds one object. Calls that change the object are numbered. If there
is a folder for checkpoints, they are kept until a checkpoint covers them. When the process dies, a
new one reads the last checkpoint, and later calls are replayed. So nothing is lost as long as the
calling process lives.
"""

from __future__ import annotations

import collections
import os
import pickle
import sys
import typing
from pathlib import Path

from ..._estimator.extras import import_extra
from ...persistence.atomic import replace_file

__all__ = ["Holder", "Worker", "connected", "load_checkpoint", "save_checkpoint"]

ATTEMPTS = 4  # at the same call, each of which a new process may die of


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


def save_checkpoint(path: Path, state: typing.Any) -> None:
    """Write a checkpoint atomically: at any moment the old or the new one is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, pickle.dumps(state, protocol=5))


def load_checkpoint(path: Path) -> typing.Any:
    """Read a checkpoint. It is a pickle, so the folder must be trusted."""
    with path.open("rb") as file:
        return pickle.load(file)


class Holder:
    """The side of a worker that runs in the actor.

    Parameters
    ----------
    held
        The object. If there is a checkpoint, the object in the checkpoint replaces it.
    path
        File of the checkpoint, or `None`.
    every
        A checkpoint is written after this number of samples since the last one.
    """

    def __init__(self, held: typing.Any, path: Path | None, every: int) -> None:
        self.held, self.path, self.every = held, path, every
        self.number = 0  # of the last call that changed the object
        self.result: typing.Any = None  # of that call, in case the answer was lost
        if path is not None and path.exists():
            self.number, self.result, self.held = load_checkpoint(path)
        self._note_saved()

    def _note_saved(self) -> None:
        """Remember what the checkpoint covers."""
        self.saved = self.number
        self.n_sent, self.n_saved = self.held.n_sent, self.held.n_samples_seen

    def apply(self, number: int, method: str, *arguments: typing.Any) -> tuple[typing.Any, int]:
        """Call a method that changes the object, unless this call was applied before.

        Returns its result and the number of the last call that the checkpoint covers.
        """
        if number > self.number + 1:
            raise RuntimeError(
                f"a worker received call {number} after call {self.number}: its checkpoint is too "
                "old, or a call has failed"
            )
        if number > self.number:
            self.result = getattr(self.held, method)(*arguments)
            self.number = number
            if self.held.n_sent - self.n_sent >= self.every:
                self.save()
        return (self.result if number == self.number else None), self.saved

    def ask(self, method: str, *arguments: typing.Any) -> typing.Any:
        """Call a method that changes nothing."""
        return getattr(self.held, method)(*arguments)

    def process(self) -> int:
        """The id of this process."""
        return os.getpid()

    def saved_number(self) -> int:
        """The number of the last call that the checkpoint covers."""
        return self.saved

    def counters(self) -> tuple[int, int]:
        """Samples that the object has learned, and how many of them the checkpoint covers."""
        return self.held.n_samples_seen, self.n_saved if self.path is not None else 0

    def save(self) -> None:
        """Write a checkpoint, if there is a file for it."""
        if self.path is not None:
            save_checkpoint(self.path, (self.number, self.result, self.held))
            self._note_saved()


class Call:
    """A call of a holder's method on its way, which can be repeated."""

    def __init__(self, method: str, *arguments: typing.Any) -> None:
        self.method, self.arguments = method, arguments
        self.reference: typing.Any = None
        self.life = 0  # number of restarts of the worker when the call was last made


class Worker:
    """The caller's side of an object in a worker process.

    Parameters
    ----------
    held
        The object. Its `n_sent` is the number of samples that it was sent, its `n_samples_seen`
        the number of those that it has learned.
    path
        File of the checkpoint. With `None`, the death of the process is an error.
    every
        A checkpoint is written after this number of samples since the last one.
    """

    def __init__(self, held: typing.Any, path: Path | None = None, every: int = 10_000) -> None:
        self._ray = connected()
        self._path, self._every = path, every
        self._start = self._ray.put(held)
        self._log: collections.deque[tuple[int, Call]] = collections.deque()
        self._number = 0
        self.n_restarts = 0
        self._begin()

    def _begin(self) -> None:
        # SPREAD uses all machines in turn; messages cost less without task events.
        options = {"scheduling_strategy": "SPREAD", "enable_task_events": False}
        self._actor = self._ray.remote(**options)(Holder).remote(
            self._start, self._path, self._every
        )

    def _send(self, call: Call) -> Call:
        call.life = self.n_restarts
        call.reference = getattr(self._actor, call.method).remote(*call.arguments)
        return call

    def catch_up(self) -> None:
        """Continue the numbers of the calls after those that the worker's checkpoint covers."""
        self._number = self._answer(self._send(Call("saved_number")))

    def apply(self, method: str, *arguments: typing.Any) -> Call:
        """Call a method that changes the object, without waiting for it.

        Only the result of the last such call is reliable: earlier results may be lost with the
        process.

        Parameters
        ----------
        method
            Name of the method.
        arguments
            Its arguments, or Ray's references to them.
        """
        self._number += 1
        call = Call("apply", self._number, method, *arguments)
        if self._path is not None:
            self._log.append((self._number, call))
        return self._send(call)

    def ask(self, method: str, *arguments: typing.Any) -> Call:
        """Call a method that changes nothing, without waiting for it.

        Parameters
        ----------
        method
            Name of the method.
        arguments
            Its arguments, or Ray's references to them.
        """
        return self._send(Call("ask", method, *arguments))

    def share(self, value: typing.Any) -> typing.Any:
        """Put a value into shared memory and return Ray's reference to it.

        Parameters
        ----------
        value
            Anything that can be pickled.
        """
        return self._ray.put(value)

    def result(self, call: Call) -> typing.Any:
        """Wait for the result of a call; restart the worker if it has died.

        Parameters
        ----------
        call
            The return value of `apply` or `ask`.

        Raises
        ------
        RuntimeError
            If the process died and there are no checkpoints, or it died several times in a row.
        Exception
            The error that the method raised.
        """
        answer = self._answer(call)
        if call.method != "apply":
            return answer
        result, saved = answer
        while self._log and self._log[0][0] <= saved:
            self._log.popleft()
        return result

    def _answer(self, call: Call) -> typing.Any:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._ray.get(call.reference)
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause from error
            except self._ray.exceptions.RayActorError as error:
                if self._path is None:
                    raise RuntimeError(
                        "a worker died, and there is no folder for checkpoints to restart it from"
                    ) from error
                if attempt == ATTEMPTS:
                    raise RuntimeError(f"a worker died {ATTEMPTS} times in a row") from error
                self._revive(call)

    def _revive(self, call: Call) -> None:
        """Start a new process, unless this was done since the call, and replay the logged calls."""
        if call.life == self.n_restarts:
            self.n_restarts += 1
            self.close()  # if the old process is only unreachable, it must not write checkpoints
            self._begin()
            for _, logged in self._log:
                self._send(logged)
        if call.life != self.n_restarts:
            self._send(call)

    def counters(self) -> tuple[int, int]:
        """Samples that the object has learned, and how many of them the checkpoint covers."""
        n_seen, n_saved = self._answer(self._send(Call("counters")))
        return n_seen, n_saved

    def process(self) -> int:
        """The id of the worker's process."""
        return int(self._answer(self._send(Call("process"))))

    def save(self) -> None:
        """Write a checkpoint now."""
        self._answer(self._send(Call("save")))

    def close(self) -> None:
        """Stop the process."""
        self._ray.kill(self._actor)
