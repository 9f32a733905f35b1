"""Atomic replacement of files: at any time, the old or the new file exists as a whole."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
import time
from pathlib import Path
from typing import BinaryIO

__all__ = ["open_regular", "replace_file", "require_replaceable"]

TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.saving")
NEW = 0o666  # mode of a new file, before the umask
FORGOTTEN = 3600.0  # seconds after which a temporary file is one of a killed process
OWN = 0o600  # mode of a file before it gets the permissions of the file it replaces


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace a file; after an error the old file is unchanged.

    The bytes are written to a temporary file in the same folder, which is flushed to the disk and
    then renamed. A killed process leaves at most this file, and a save of an hour later removes it.

    Raises
    ------
    OSError
        If the folder does not exist, the disk is full, the path is not a regular file, and so on.
    """
    target = Path(os.path.realpath(path))
    old = _status_of(target, "replaced")
    temporary = _temporary_in(target.parent)
    try:
        with open(_created(temporary, NEW if old is None else OWN), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            temporary.chmod(_mode_for(temporary, old))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _remove_forgotten(target.parent)
    if sys.platform != "win32":  # which cannot open folders
        _flush_folder(target.parent)


def require_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise the OSError that `replace_file` would raise, except for a full disk."""
    target = Path(os.path.realpath(path))
    _status_of(target, "replaced")
    temporary = _temporary_in(target.parent)
    os.close(_created(temporary, OWN))
    temporary.unlink()


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; a pipe could block, and a device may have no end.

    Raises
    ------
    OSError
        If the file cannot be read, or is not a regular file.
    """
    _status_of(Path(path), "read")
    return Path(path).open("rb")


def _status_of(path: Path, purpose: str) -> os.stat_result | None:
    """Return the status of a regular file; None if there is no file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, f"only a regular file can be {purpose}", str(path))
    return found


def _temporary_in(folder: Path) -> Path:
    return folder / f".{secrets.token_hex(8)}.saving"


def _remove_forgotten(folder: Path) -> None:
    """Remove the temporary files that killed processes have left in a folder."""
    with contextlib.suppress(OSError):  # what another process removes, or owns
        for path in folder.glob(".*.saving"):
            if TEMPORARY.fullmatch(path.name) and time.time() - path.stat().st_mtime > FORGOTTEN:
                path.unlink()


def _created(path: Path, mode: int) -> int:
    """Create a file that does not exist, and open it for writing."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)


def _mode_for(path: Path, old: os.stat_result) -> int:
    """Return the mode of the old file, with write permission for its owner.

    The group keeps its permissions only if the new file has the same group or can get it.
    """
    mode = stat.S_IMODE(old.st_mode) | OWN
    if sys.platform != "win32" and path.stat().st_gid != old.st_gid:
        try:
            os.chown(path, -1, old.st_gid)
        except PermissionError:
            mode &= ~stat.S_IRWXG
    return mode


def _flush_folder(folder: Path) -> None:
    """Flush a folder to the disk, with the new name of the file."""
    with contextlib.suppress(PermissionError):  # a folder that may be written but not read
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
