"""Atomic replacement of files: at any time either the old or the new file exists, complete."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    from .writing_windows import require_writable, write_in_turn
else:
    from .writing_posix import require_writable, write_in_turn

__all__ = ["open_regular", "replace_file", "require_replaceable"]

LONGEST_NAME = 255  # on Windows; POSIX systems can be asked


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace a file; after an error the old file is unchanged.

    The bytes are written to a temporary file in the same folder, `.NAME.saving`, with the
    permissions of the old file. It is flushed to the disk and then renamed. An interrupted process
    leaves at most this temporary file (on Windows also `.NAME.lock`), which the next call uses and
    removes. Processes that write the same file wait for each other.

    Raises
    ------
    OSError
        If the folder does not exist, the disk is full, the path is not a regular file, and so on.
    """
    target = Path(os.path.realpath(path))
    write_in_turn(target, temporary_for(target), content, status_of(target))


def require_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise the OSError that `replace_file` would raise, except for a full disk.

    The file is unchanged, and the temporary file is removed.
    """
    target = Path(os.path.realpath(path))
    status_of(target)
    require_writable(temporary_for(target))


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
    """Return the status of a regular file; None if there is no file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, f"only a regular file can be {purpose}", str(path))
    return found


def temporary_for(path: Path) -> Path:
    """Path of the temporary file; its name is a hash if it would be too long otherwise."""
    name = f".{path.name}.saving"
    if sys.platform == "win32":
        longest = LONGEST_NAME
    else:
        longest = os.pathconf(path.parent, "PC_NAME_MAX")
    if len(os.fsencode(name)) > longest:
        name = f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()}.saving"
    return path.with_name(name)
