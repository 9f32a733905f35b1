"""Checks that the outputs of a command can be written, before any time is spent on them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

from river_extra_trees.cli import UserError, report
from river_extra_trees.persistence.atomic import require_replaceable

PICTURES = (".png", ".svg", ".pdf")


def check(
    inputs: Sequence[Path],
    *,
    csv: Path | None = None,
    plot: Path | None = None,
    json: Path | None = None,
    checkpoint: Path | None = None,
) -> None:
    """Check that outputs can be written and replace neither an input nor each other.

    Parameters
    ----------
    inputs
        The files that are read, except a checkpoint.
    csv, plot, json, checkpoint
        The files to write, if any.

    Raises
    ------
    UserError
        If one cannot be written. Existing files stay unchanged, and no new file remains.
    """
    written = [path for path in (csv, plot, json) if path is not None]
    replaced = [path for path in (checkpoint,) if path is not None]
    for path in (*written, *replaced):
        if not path.parent.is_dir():
            raise UserError(f"cannot write {path.name}: there is no folder {str(path.parent)!r}")
    if plot is not None:
        report.require_matplotlib()
        if plot.suffix not in PICTURES:
            raise UserError(f"cannot draw to {plot.name}: the name must end in .png, .svg or .pdf")
    check_apart(inputs, (*written, *replaced))
    try:
        for path in written:
            require_writable(path)
        for path in replaced:
            require_replaceable(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error


def check_apart(inputs: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Raise a UserError if an output is also an input, or another output."""
    for path, other in itertools.product(outputs, inputs):
        if is_same_file(path, other):
            raise UserError(f"{path} is an input and would be overwritten; name another output")
    for path, other in itertools.combinations(outputs, 2):
        if is_same_file(path, other):
            raise UserError(f"{path} and {other} are the same file: one would overwrite the other")


def is_same_file(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file, existing or not; terminals and pipes do not count."""
    if os.path.exists(path) and os.path.exists(other):
        return path.is_file() and path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)


def require_writable(path: Path) -> None:
    """Raise the OSError that writing to the file would raise; pipes and devices are not tested."""
    target = Path(os.path.realpath(path))
    if not target.exists():
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
        target.unlink()
    elif target.is_file() or target.is_dir():
        os.close(os.open(target, os.O_WRONLY | os.O_CLOEXEC))  # without truncating it
