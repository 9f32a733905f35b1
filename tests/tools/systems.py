"""Marks of tests that need what only some systems have."""

import os
import sys

import pytest

needs_pipes = pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="this system has neither named pipes nor devices as files"
)
needs_links = pytest.mark.skipif(
    os.name != "posix", reason="Windows allows symbolic links to administrators only"
)
needs_signals = pytest.mark.skipif(
    os.name != "posix", reason="Windows ends a process at once by SIGTERM, and sends it no SIGINT"
)
needs_timers = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no timers that send signals"
)
needs_proc = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux shows the sockets of a process below /proc"
)


class Alarm(BaseException):
    """What a signal raises."""
