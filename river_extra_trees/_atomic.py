"""Writing a file so that at any moment either the old or the new one is there, and whole."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file, or leave the one that is there as it is.

    The bytes go to a temporary file beside it, `.NAME.saving`, which takes its place once they are
    on the disk. What an interrupted process leaves behind has that name and is used and removed by
    the next one; two processes that write the same file do so one after the other.

    Raises
    ------
    OSError
        If the folder does not exist, the disk is full, ...; the file is as before.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.saving")
    file = open_alone(temporary)
    try:
        os.ftruncate(file, 0)
        write_all(file, content)
        os.fsync(file)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)
    sync_folder(target.parent)


def open_alone(path: Path) -> int:
    """Open a file for writing that no other process is writing; wait for it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if is_at(file, path):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # while it was waited for, the other process gave it its final name


def is_at(file: int, path: Path) -> bool:
    """Whether an open file is still the one of this name."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def write_all(file: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


def sync_folder(folder: Path) -> None:
    """Make sure that the new name is on the disk, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
