"""Write a temporary file and rename it, on Windows, where an open file cannot be renamed.

So the temporary file cannot be the lock, and there is a lock file, which Windows removes when its
process ends. New files have the permissions of their folder. The tests run this module on all
systems.
"""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock

__all__ = ["require_writable", "write_in_turn"]


def write_in_turn(
    target: Path, temporary: Path, content: bytes, old: os.stat_result | None
) -> None:
    """Write the temporary file when no other process does, and rename it to the target."""
    with lock_of(temporary):
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def require_writable(temporary: Path) -> None:
    """Open the temporary file, which may raise an OSError, and remove it."""
    with lock_of(temporary):
        temporary.open("wb").close()
        temporary.unlink()


def lock_of(temporary: Path) -> FileLock:
    """Return the lock of a temporary file; raise if its folder does not exist."""
    temporary.parent.stat()  # FileLock would create the folder
    return FileLock(temporary.with_suffix(".lock"))
