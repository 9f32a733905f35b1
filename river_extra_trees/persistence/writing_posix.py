"""Write a temporary file and rename it, on POSIX systems. The temporary file is also the lock."""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from pathlib import Path

__all__ = ["require_writable", "write_in_turn"]

assert sys.platform != "win32"  # so that mypy skips the rest when it checks for Windows

NEW = 0o666  # mode of a new file, before the umask
OWN = 0o600  # mode of a file before it gets the permissions of the file it replaces


def write_in_turn(
    target: Path, temporary: Path, content: bytes, old: os.stat_result | None
) -> None:
    """Write the temporary file when no other process does, and rename it to the target."""
    file = open_alone(temporary, NEW if old is None else OWN)
    try:
        os.ftruncate(file, 0)
        if old is not None:
            keep_permissions(file, old)
        write_all(file, content)
        os.fsync(file)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)
    sync_folder(target.parent)


def require_writable(temporary: Path) -> None:
    """Open the temporary file, which may raise an OSError, and remove it."""
    file = open_alone(temporary, OWN)
    try:
        temporary.unlink()
    finally:
        os.close(file)


def keep_permissions(file: int, old: os.stat_result) -> None:
    """Give a file the group and the mode of another.

    If changing the group is not permitted, the file gets no group permissions. The owner always may
    write, so that the next process can if this one is interrupted.
    """
    mode = stat.S_IMODE(old.st_mode) | OWN
    if os.fstat(file).st_gid != old.st_gid:
        try:
            os.fchown(file, -1, old.st_gid)
        except PermissionError:
            mode &= ~stat.S_IRWXG
    os.fchmod(file, mode)


def open_alone(path: Path, mode: int) -> int:
    """Open a file for writing, and wait until no other process is writing it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if is_at(file, path):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # another process has renamed it meanwhile


def is_at(file: int, path: Path) -> bool:
    """Whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def write_all(file: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


def sync_folder(folder: Path) -> None:
    """Make sure that the new name is on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
