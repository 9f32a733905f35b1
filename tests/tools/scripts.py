"""Scripts run in this process: a new one would import for seconds."""

import contextlib
import io
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

ROOT = Path(__file__).parents[2]
# What Python itself keeps quiet about.
QUIET = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


class Done(NamedTuple):
    """What a script has left behind."""

    returncode: int
    stdout: str
    stderr: str


def done(script: Callable[[], Any], *arguments: object, folder: Path = ROOT) -> Done:
    """Call what runs a script, with its arguments, in a folder: the root of the repository."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["script", *map(str, arguments)]),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.resetwarnings()
        for category in QUIET:
            warnings.simplefilter("ignore", category)
        warnings.showwarning = lambda message, *_, **__: print(message, file=err)
        try:
            script()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            if isinstance(ended.code, str):
                print(ended.code, file=err)
    return Done(status, out.getvalue(), err.getvalue())
