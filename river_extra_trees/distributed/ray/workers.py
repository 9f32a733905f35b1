"""Objects that live in processes of their own, and come back to life if those die.

A worker is a Ray actor that holds one object. What changes the object is numbered and, where there
is a folder for checkpoints, kept until a checkpoint covers it. If the process dies, a new one reads
the last checkpoint and is told again what came after it, so that the object is what it was: nothing
is lost as long as the process that tells lives.
"""

from __future__ import annotations

import collections
import os
import pickle
import typing
from pathlib import Path

from river_extra_trees.persistence.atomic import replace_file
from river_extra_trees._estimator.inspection import import_extra

__all__ = ["Holder", "Worker", "load_checkpoint", "save_checkpoint"]

PATIENCE = 3  # processes that may die in a row over the same call


def save_checkpoint(path: Path, state: typing.Any) -> None:
    """Write a checkpoint so that, at any instant, there is the old or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, pickle.dumps(state, protocol=5))


def load_checkpoint(path: Path) -> typing.Any:
    """Read a checkpoint. It is a pickle: the folder must be one that you trust."""
    with path.open("rb") as file:
        return pickle.load(file)


class Holder:
    """The side of a worker that runs in the actor.

    Parameters
    ----------
    held
        The object; that of the checkpoint goes first if there is one.
    path
        File of the checkpoint, or `None` for none.
    every
        A checkpoint is written when the object was told so many samples since the last.
    """

    def __init__(self, held: typing.Any, path: Path | None, every: int) -> None:
        self.held, self.path, self.every = held, path, every
        self.number = 0  # of the last call that changed the object
        self.result: typing.Any = None  # of that call, in case the answer got lost
        if path is not None and path.exists():
            self.number, self.result, self.held = load_checkpoint(path)
        self._note_saved()

    def _note_saved(self) -> None:
        """Remember what the checkpoint covers."""
        self.saved = self.number
        self.n_told, self.n_saved = self.held.n_told, self.held.n_samples_seen

    def tell(self, number: int, method: str, *arguments: typing.Any) -> tuple[typing.Any, int]:
        """Call a method that changes the object, unless that was done already.

        Returns its result and the number of the last call that the checkpoint covers.
        """
        if number > self.number + 1:
            raise RuntimeError(
                f"a worker was told call {number} after call {self.number}: "
                "its checkpoint is older than it was told, or a call has failed"
            )
        if number > self.number:
            self.result = getattr(self.held, method)(*arguments)
            self.number = number
            if self.held.n_told - self.n_told >= self.every:
                self.save()
        return (self.result if number == self.number else None), self.saved

    def ask(self, method: str, *arguments: typing.Any) -> typing.Any:
        """Call a method that changes nothing."""
        return getattr(self.held, method)(*arguments)

    def process(self) -> int:
        """The number of this process."""
        return os.getpid()

    def saved_number(self) -> int:
        """The number of the last call that the checkpoint covers."""
        return self.saved

    def counters(self) -> tuple[int, int]:
        """Samples that the object has seen, and those of them that the checkpoint covers."""
        return self.held.n_samples_seen, self.n_saved if self.path is not None else 0

    def save(self) -> None:
        """Write a checkpoint, if there is a place for it."""
        if self.path is not None:
            save_checkpoint(self.path, (self.number, self.result, self.held))
            self._note_saved()


class Call:
    """A call of a holder's method on its way, so that it can be made again."""

    def __init__(self, method: str, *arguments: typing.Any) -> None:
        self.method, self.arguments = method, arguments
        self.reference: typing.Any = None
        self.life = 0  # of the worker, when the call was made last


class Worker:
    """An object in a process of its own, seen from here.

    Parameters
    ----------
    held
        The object. It counts in `n_told` the samples that it was told, and in `n_samples_seen`
        those that it has learned.
    path
        File of the checkpoint; `None` for none, and then a dead process is an error.
    every
        A checkpoint is written when the object was told so many samples since the last.
    """

    def __init__(self, held: typing.Any, path: Path | None = None, every: int = 10_000) -> None:
        self._ray = import_extra("ray", "ray")
        self._path, self._every = path, every
        self._start = self._ray.put(held)
        self._log: collections.deque[tuple[int, Call]] = collections.deque()
        self._number = 0
        self.n_restarts = 0
        self._begin()

    def _begin(self) -> None:
        # On all machines in turn, not on one until it is full; without events messages cost less.
        options = {"scheduling_strategy": "SPREAD", "enable_task_events": False}
        self._actor = self._ray.remote(**options)(Holder).remote(
            self._start, self._path, self._every
        )

    def _send(self, call: Call) -> Call:
        call.life = self.n_restarts
        call.reference = getattr(self._actor, call.method).remote(*call.arguments)
        return call

    def catch_up(self) -> None:
        """Number the calls on from those that the checkpoint covers which the worker began with."""
        self._number = self._answer(self._send(Call("saved_number")))

    def tell(self, method: str, *arguments: typing.Any) -> Call:
        """Call a method that changes the object; do not wait for it.

        Only the result of the last such call can be relied upon: that of an earlier one may be
        lost with the process.

        Parameters
        ----------
        method
            Name of the method.
        arguments
            Its arguments, or Ray's references to them.
        """
        self._number += 1
        call = Call("tell", self._number, method, *arguments)
        if self._path is not None:
            self._log.append((self._number, call))
        return self._send(call)

    def ask(self, method: str, *arguments: typing.Any) -> Call:
        """Call a method that changes nothing; do not wait for it.

        Parameters
        ----------
        method
            Name of the method.
        arguments
            Its arguments, or Ray's references to them.
        """
        return self._send(Call("ask", method, *arguments))

    def share(self, value: typing.Any) -> typing.Any:
        """Lay a value where all workers can read it; return Ray's reference to it.

        Parameters
        ----------
        value
            Anything that can be pickled.
        """
        return self._ray.put(value)

    def result(self, call: Call) -> typing.Any:
        """Wait for the result of a call; bring the worker back to life if it takes that.

        Parameters
        ----------
        call
            What `tell` or `ask` returned.

        Raises
        ------
        RuntimeError
            If the process died and there are no checkpoints, or it dies again and again.
        Exception
            What the method raised.
        """
        answer = self._answer(call)
        if call.method != "tell":
            return answer
        result, saved = answer
        while self._log and self._log[0][0] <= saved:
            self._log.popleft()
        return result

    def _answer(self, call: Call) -> typing.Any:
        for attempt in range(PATIENCE + 1):
            try:
                return self._ray.get(call.reference)
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause from error
            except self._ray.exceptions.RayActorError as error:
                if self._path is None:
                    raise RuntimeError(
                        "a worker died, and without a folder for checkpoints it stays dead"
                    ) from error
                if attempt == PATIENCE:
                    raise RuntimeError(f"a worker died {PATIENCE + 1} times in a row") from error
                self._revive(call)

    def _revive(self, call: Call) -> None:
        """Begin a new process, if that is yet to be done, and tell it what it may have missed."""
        if call.life == self.n_restarts:
            self.n_restarts += 1
            self.close()  # if it is but out of reach, it must not write checkpoints any more
            self._begin()
            for _, logged in self._log:
                self._send(logged)
        if call.life != self.n_restarts:
            self._send(call)

    def counters(self) -> tuple[int, int]:
        """Samples that the object has seen, and those of them that the checkpoint covers."""
        n_seen, n_saved = self._answer(self._send(Call("counters")))
        return n_seen, n_saved

    def process(self) -> int:
        """The number of the worker's process."""
        return int(self._answer(self._send(Call("process"))))

    def save(self) -> None:
        """Write a checkpoint now."""
        self._answer(self._send(Call("save")))

    def close(self) -> None:
        """End the process."""
        self._ray.kill(self._actor)
