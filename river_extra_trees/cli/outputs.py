"""Output files and error messages of the commands."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import typer
from rich.console import Console

from river_extra_trees.cli import UserError
from river_extra_trees.persistence.atomic import require_replaceable
from river_extra_trees.streams import TableError

PICTURES = (".png", ".svg", ".pdf")
FAILED, INVALID, INTERRUPTED = 1, 2, 130  # exit statuses


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """End the command with one line if the user can fix an error."""
    try:
        yield
    except (UserError, TableError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(INVALID) from None


def console() -> Console:
    """Return the console for tables; in a file or a pipe, they are as wide as they need to be."""
    found = Console()
    return found if found.is_terminal else Console(width=200)


def write(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file, and report it."""
    try:
        write(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error
    typer.echo(f"wrote {path}")


def check(
    inputs: Sequence[Path | int],
    *paths: Path | None,
    pictures: Sequence[Path | None] = (),
    suffixes: Sequence[str] = PICTURES,
) -> None:
    """Check that outputs can be written, and replace neither an input nor each other.

    Parameters
    ----------
    inputs
        The files that are read; 0 is standard input.
    paths
        The files to write, if any.
    pictures
        The pictures among them.
    suffixes
        The formats of pictures.

    Raises
    ------
    UserError
        If one cannot be written. Existing files are unchanged, and no new file remains.
    """
    outputs = [path for path in paths if path is not None]
    for picture in pictures:
        if picture is not None:
            _require_picture(picture, suffixes)
    for path, other in itertools.product(outputs, inputs):
        if _is_same_file(path, other):
            raise UserError(f"{path} is an input and would be overwritten; name another output")
    for path, other in itertools.combinations(outputs, 2):
        if _is_same_file(path, other):
            raise UserError(f"{path} and {other} are the same file: one would overwrite the other")
    for path in outputs:
        if not path.parent.is_dir():
            raise UserError(f"cannot write {path.name}: there is no folder {str(path.parent)!r}")
        try:
            require_replaceable(path)
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from error


def _require_picture(path: Path, suffixes: Sequence[str]) -> None:
    """Raise a UserError if no picture can be drawn to a file of this name."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise UserError("a picture needs matplotlib: pip install matplotlib") from error
    if path.suffix not in suffixes:
        listed = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise UserError(f"cannot draw to {path.name}: the name must end in {listed}")


def _is_same_file(path: Path, other: Path | int) -> bool:
    """Whether two names lead to one file, which may not exist yet."""
    if os.path.exists(path) and os.path.exists(other):
        return path.is_file() and os.path.samefile(path, other)
    return not isinstance(other, int) and os.path.realpath(path) == os.path.realpath(other)
