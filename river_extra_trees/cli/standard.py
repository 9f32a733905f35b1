"""Standard output that may be full or closed: the command ends with one line."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO


class OutputError(Exception):
    """Standard output takes no more; unlike the OSError, it cannot be that of another file."""


class Output:
    """A text file whose errors are `OutputError`, except that of a pipe which nobody reads.

    Parameters
    ----------
    file
        The file.
    """

    def __init__(self, file: TextIO) -> None:
        self.file = file

    def write(self, text: str) -> int:
        """Write a text."""
        return self._tried(self.file.write, text)

    def flush(self) -> None:
        """Write what is buffered."""
        self._tried(self.file.flush)

    def _tried(self, function: Callable[..., Any], *arguments: str) -> Any:
        try:
            return function(*arguments)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(error.strerror) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


@contextlib.contextmanager
def checked_output() -> Iterator[None]:
    """End the command with one line, and status 1, if standard output is closed or full."""
    if sys.stdout is None:  # the next file that is opened would take its place
        sys.exit("error: the standard output is closed; redirect it to a file or to /dev/null")
    sys.stdout = Output(sys.stdout)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except (OutputError, BrokenPipeError) as error:
        # Python writes the rest at exit, and would report the failure once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"error: cannot write to the standard output: {error}")
