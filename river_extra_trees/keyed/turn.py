"""One call at a time."""

from __future__ import annotations

import threading

__all__ = ["Turn"]


class Turn:
    """Lets one call in; a call that comes meanwhile, from any thread, gets an error."""

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
        return Turn, ()  # nobody calls a copy yet
