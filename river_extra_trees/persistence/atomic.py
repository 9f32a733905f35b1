"""Writing a file so that at any moment either the old or the new one is there; reading one."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
from pathlib import Path
from typing import BinaryIO

__all__ = ["open_regular", "replace_file", "require_replaceable"]

NEW = 0o666  # mode of a file that was not there, as far as the user's mask allows
OWN = 0o600  # until a file has the permissions of the one it replaces


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file, or leave the one that is there as it is.

    The bytes go to a temporary file beside it, `.NAME.saving`, which takes its place once they are
    on the disk, with the permissions that it has. What an interrupted process leaves behind has
    that name and is used and removed by the next one; two processes that write the same file do so
    one after the other.

    Raises
    ------
    OSError
        If the folder does not exist, the disk is full, what is there is no regular file, ...; the
        file is as before.
    """
    target = Path(os.path.realpath(path))
    old = status_of(target)
    temporary = temporary_for(target)
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


def require_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise the OSError that replacing a file would raise, a full disk excepted.

    The file is as before, and the temporary one is gone.
    """
    target = Path(os.path.realpath(path))
    status_of(target)
    temporary = temporary_for(target)
    file = open_alone(temporary, OWN)
    try:
        temporary.unlink()
    finally:
        os.close(file)


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read it; nobody may ever write to a pipe, and a device may have no end.

    Raises
    ------
    OSError
        If it cannot be read, or what is there is no regular file.
    """
    status_of(Path(path), "read")
    return Path(path).open("rb")


def status_of(path: Path, purpose: str = "replaced") -> os.stat_result | None:
    """What the system knows of a regular file; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, f"only a regular file can be {purpose}", str(path))
    return found


def temporary_for(path: Path) -> Path:
    """The temporary file beside a file; a hash stands for a name to which nothing can be added."""
    name = f".{path.name}.saving"
    if len(os.fsencode(name)) > os.pathconf(path.parent, "PC_NAME_MAX"):
        name = f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()}.saving"
    return path.with_name(name)


def keep_permissions(file: int, old: os.stat_result) -> None:
    """Give a file the group and the mode of another; to no group where that is not allowed.

    Its owner may always write: the next process has to, should this one be interrupted.
    """
    mode = stat.S_IMODE(old.st_mode) | OWN
    if os.fstat(file).st_gid != old.st_gid:
        try:
            os.fchown(file, -1, old.st_gid)
        except PermissionError:
            mode &= ~stat.S_IRWXG
    os.fchmod(file, mode)


def open_alone(path: Path, mode: int) -> int:
    """Open a file for writing that no other process is writing; wait for it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
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
