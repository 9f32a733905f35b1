"""Output files and error messages of the commands."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import typer
from rich.console import Console

from river_extra_trees.cli import UserError
from river_extra_trees.persistence.atomic import require_replaceable
from river_extra_trees.streams import TableError

PICTURES = (".png", ".svg", ".pdf")
CSV = (".csv", ".txt")
FAILED, INVALID, ALARM, INTERRUPTED = 1, 2, 3, 130  # exit statuses

# Options for the remedies of a `Fault`.
HINTS = {
    "kind": "--kind {0}=nominal reads names, --on-bad-cell missing skips such cells",
    "number": "--kind {0}='decimal comma', percentage or date says how it is written",
    "cell": "--on-bad-cell missing skips such cells",
    "drop": "--drop {0} leaves the column out",
    "encoding": "such as --encoding latin-1 or utf-16-le",
}


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Print an error that the user can fix in one line, and end the command."""
    try:
        yield
    except (UserError, TableError) as error:
        fault = error.fault if isinstance(error, TableError) else None
        name = shlex.quote(fault.column) if fault else ""
        hint = HINTS.get(fault.remedy or "", "").format(name) if fault else ""
        typer.echo(printable(f"error: {error}{hint and f' ({hint})'}"), err=True)
        raise typer.Exit(INVALID) from None


def say(texts: Iterable[str], what: str = "note") -> None:
    """Print notes on standard error."""
    for text in texts:
        typer.echo(printable(f"{what}: {text}"), err=True)


def printable(text: str) -> str:
    """Return a text with control characters and unprintable ones escaped."""
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text)


def console() -> Console:
    """Return the console for tables; in a file or a pipe, tables are as wide as necessary."""
    found = Console()
    return found if found.is_terminal else Console(width=200)


def write(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file, and report it."""
    try:
        write(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error
    typer.echo(f"wrote {path}")


def check(*paths: Path | None, inputs: tuple[Path | str, ...], picture: Path | None = None) -> None:
    """Check that files can be written and replace no input, before time is spent on them.

    Parameters
    ----------
    paths
        The files to write, if any.
    inputs
        The files that are read.
    picture
        The file of a picture, if one is to be drawn.

    Raises
    ------
    UserError
        If a file cannot be written. Existing files are unchanged, and no new file remains.
    """
    if picture is not None:
        try:
            import matplotlib  # noqa: F401
        except ImportError as error:
            raise UserError("a picture needs matplotlib: pip install matplotlib") from error
        if picture.suffix not in PICTURES:
            raise UserError(
                f"cannot draw to {picture.name}: the name must end in {', '.join(PICTURES)}"
            )
    for path in filter(None, (*paths, picture)):
        if not path.parent.is_dir():
            raise UserError(f"cannot write {path.name}: there is no folder {str(path.parent)!r}")
        try:
            require_replaceable(path)
            read = [each for each in map(Path, inputs) if path.exists() and each.exists()]
            if any(map(path.samefile, read)):
                raise UserError(f"{path} is an input and would be overwritten; pass another output")
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from error


def require_format(path: Path | None, endings: tuple[str, ...]) -> None:
    """Raise a UserError if the name of a table says another format than those that are written.

    A name without an ending, such as /dev/stdout, is CSV.
    """
    if path is not None and path.suffix and path.suffix.lower() not in endings:
        raise UserError(f"cannot write {path.name}: the name must end in {', '.join(endings)}")
