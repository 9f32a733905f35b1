"""Replace files atomically: at any moment the old or the new file is there, complete."""

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
    """Replace a file, or leave the old one as it is.

    The bytes are written to a temporary file beside it, `.NAME.saving`, with the permissions of the
    old file. Once they are on the disk, it is renamed. An interrupted process leaves at most this
    temporary file (on Windows also `.NAME.lock`), which the next call uses and removes. Processes
    that write the same file take turns.

    Raises
    ------
    OSError
        If the folder does not exist, the disk is full, the path is not a regular file, and so on.
        The old file is unchanged.
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
    if sys.platform == "win32":
        longest = LONGEST_NAME
    else:
        longest = os.pathconf(path.parent, "PC_NAME_MAX")
    if len(os.fsencode(name)) > longest:
        name = f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()}.saving"
    return path.with_name(name)
