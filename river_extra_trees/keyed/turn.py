"""A guard against concurrent calls."""

from __future__ import annotations

import threading

__all__ = ["Turn"]


class Turn:
    """Context manager for one call at a time; a concurrent call raises RuntimeError."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                "the models are in use: another call has not ended; hold a lock around every call "
                "to share them among threads"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Turn], tuple[()]]:
        return Turn, ()  # a copy starts unlocked
