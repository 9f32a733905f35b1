"""Signals at any instant."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.tools.systems import Alarm


@pytest.fixture
def alarm() -> Iterator[Callable[[float], None]]:
    """Let a signal raise after some seconds; 0 stops it."""

    def raise_alarm(*_: Any) -> None:
        raise Alarm

    previous = signal.signal(signal.SIGALRM, raise_alarm)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, previous)
