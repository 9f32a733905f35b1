"""Replace files atomically: at any moment the old or the new file is there, complete."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
from pathlib import Path
from typing import BinaryIO

__all__ = ["open_regular", "replace_file", "require_replaceable"]

NEW = 0o666  # mode of a new file, reduced by the user's mask
OWN = 0o600  # mode of a file until it gets the permissions of the one it replaces


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace a file, or leave the old one as it is.

    The bytes are written to a temporary file beside it, `.NAME.saving`, with the permissions of the
    old file. Once they are on the disk, it is renamed. An interrupted process leaves at most this
    temporary file, which the next call uses and removes. Processes that write the same file take
    turns.

    Raises
    ------
    OSError
        If the folder does not exist, the disk is full, the path is not a regular file, and so on.
        The old file is unchanged.
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
    """Raise the OSError that `replace_file` would raise, except for a full disk.

    The file is unchanged, and the temporary file is removed.
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
    """Open a regular file for reading; a pipe could block, and a device may have no end.

    Raises
    ------
    OSError
        If the file cannot be read, or is not a regular file.
    """
    status_of(Path(path), "read")
    return Path(path).open("rb")


def status_of(path: Path, purpose: str = "replaced") -> os.stat_result | None:
    """The status of a regular file; None if there is no file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, f"only a regular file can be {purpose}", str(path))
    return found


def temporary_for(path: Path) -> Path:
    """The temporary file beside a file; it is named by a hash where the name would be too long."""
    name = f".{path.name}.saving"
    if len(os.fsencode(name)) > os.pathconf(path.parent, "PC_NAME_MAX"):
        name = f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()}.saving"
    return path.with_name(name)


def keep_permissions(file: int, old: os.stat_result) -> None:
    """Give a file the group and the mode of another; no group rights if that group is forbidden.

    The owner may always write, because the next process has to if this one is interrupted.
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
        os.close(file)  # the other process has renamed it meanwhile


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
