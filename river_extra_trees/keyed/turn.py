"""A guard against concurrent calls."""

from __future__ import annotations

import threading
import typing

__all__ = ["Turn"]


class Turn:
    """Allows one call at a time: `with turn(): ...`. A concurrent call raises RuntimeError.

    `turn()` returns the lock itself, because no signal is handled between the moment at which a
    `with` statement takes a lock and its block. A call that is interrupted at any moment therefore
    releases the lock. Two threads that call `turn()` at the same moment may both get the lock; then
    one of them waits for the other.

    Parameters
    ----------
    what
        Subject and verb of the error message, such as "the models are".
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()

    def __call__(self) -> threading.Lock:
        """Return the lock for a `with` statement; RuntimeError if another call holds it."""
        if self._lock.locked():
            raise RuntimeError(
                f"{self._what} in use: another call has not ended; hold a lock around every call "
                "to share one object among threads"
            )
        return self._lock

    def __reduce__(self) -> typing.Any:
        return Turn, (self._what,)  # a copy starts unlocked
