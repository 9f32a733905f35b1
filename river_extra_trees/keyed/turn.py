"""One call at a time."""

from __future__ import annotations

import threading
import typing

__all__ = ["Turn"]


class Turn:
    """Lets one call in: `with turn(): ...`. A call that comes meanwhile gets an error.

    The lock itself stands in the `with` statement, where no signal comes between taking it and
    entering the block: so a call that is interrupted at any instant gives it back. (A thread that
    asks just before another one takes the lock waits for it.)

    Parameters
    ----------
    what
        What is called, and "is" or "are", for the error.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()

    def __call__(self) -> threading.Lock:
        """The lock for a `with` statement; a RuntimeError if another call has it."""
        if self._lock.locked():
            raise RuntimeError(
                f"{self._what} in use: another call has not ended; hold a lock around every call "
                "to share one object among threads"
            )
        return self._lock

    def __reduce__(self) -> typing.Any:
        return Turn, (self._what,)  # nobody calls a copy yet
