"""Checks that the outputs of a command can be written, before any time is spent on them."""

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

PICTURES = (".png", ".svg", ".pdf")
FAILED, INTERRUPTED = 1, 130  # exit statuses


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Print an error of the user on one line, and end the command."""
    try:
        yield
    except UserError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(error.status) from None


def console() -> Console:
    """Return where tables go: in a file or a pipe, they are as wide as they need to be."""
    found = Console()
    return found if found.is_terminal else Console(width=200)


def write(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file, and say so."""
    try:
        write(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error
    typer.echo(f"wrote {path}")


def check(
    inputs: Sequence[Path | int],
    *,
    csv: Path | None = None,
    plot: Path | None = None,
    json: Path | None = None,
    model: Path | None = None,
    tree: Path | None = None,
) -> None:
    """Check that outputs can be written and replace neither an input nor each other.

    Parameters
    ----------
    inputs
        The files that are read; a number is that of an open file.
    csv, plot, json, model, tree
        The files to write, if any.

    Raises
    ------
    UserError
        If one cannot be written. Existing files stay unchanged, and no new file remains.
    """
    written = [path for path in (csv, plot, json) if path is not None]
    replaced = [path for path in (model, tree) if path is not None]
    for path in (*written, *replaced):
        if not path.parent.is_dir():
            raise UserError(f"cannot write {path.name}: there is no folder {str(path.parent)!r}")
    for picture, suffixes in ((plot, PICTURES), (tree, (*PICTURES, ".html"))):
        if picture is not None:
            require_picture(picture, suffixes)
    check_apart(inputs, (*written, *replaced))
    try:
        for path in written:
            require_writable(path)
        for path in replaced:
            require_replaceable(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error


def require_picture(path: Path, suffixes: Sequence[str]) -> None:
    """Raise a UserError if no picture can be drawn to a file of this name."""
    require_matplotlib()
    if path.suffix not in suffixes:
        listed = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise UserError(f"cannot draw to {path.name}: the name must end in {listed}")


def require_matplotlib() -> None:
    """Raise a UserError before the race if the picture cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise UserError("a picture needs matplotlib: pip install matplotlib") from error


def check_apart(inputs: Sequence[Path | int], outputs: Sequence[Path]) -> None:
    """Raise a UserError if an output is also an input, or another output."""
    for path, other in itertools.product(outputs, inputs):
        if is_same_file(path, other):
            raise UserError(f"{path} is an input and would be overwritten; name another output")
    for path, other in itertools.combinations(outputs, 2):
        if is_same_file(path, other):
            raise UserError(f"{path} and {other} are the same file: one would overwrite the other")


def is_same_file(path: Path, other: Path | int) -> bool:
    """Whether two lead to one file, existing or not; terminals and pipes do not count."""
    if os.path.exists(path) and os.path.exists(other):
        return path.is_file() and os.path.samefile(path, other)
    return not isinstance(other, int) and os.path.realpath(path) == os.path.realpath(other)


def require_writable(path: Path) -> None:
    """Raise the OSError that writing to the file would raise; pipes and devices are not tested."""
    target = Path(os.path.realpath(path))
    if not target.exists():
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        target.unlink()
    elif target.is_file() or target.is_dir():
        os.close(os.open(target, os.O_WRONLY))  # without truncating it
