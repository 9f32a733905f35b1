"""Write a file beside another and rename it, on Windows, where an open file cannot be renamed.

So the temporary file cannot be the lock, and there is a second file that is. Windows removes it
with the process that holds it. New files have the permissions of their folder. The tests run this
module on all systems.
"""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock

__all__ = ["require_writable", "write_in_turn"]


def write_in_turn(
    target: Path, temporary: Path, content: bytes, old: os.stat_result | None
) -> None:
    """Write the temporary file once no other process does, and give it the name of the target."""
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
    """Raise the OSError of opening the temporary file, or remove it."""
    with lock_of(temporary):
        temporary.open("wb").close()
        temporary.unlink()


def lock_of(temporary: Path) -> FileLock:
    """The lock of a temporary file, in a folder that must exist: the lock would create it."""
    temporary.parent.stat()
    return FileLock(temporary.with_suffix(".lock"))
