"""One call at a time, whatever interrupts it."""

from __future__ import annotations

import copy
import random
import signal
import threading
from typing import Any

import pytest

from river_extra_trees.keyed.turn import Turn
from tests.tools.systems import needs_timers


class Alarm(BaseException):
    """What the signal raises."""


def test_a_call_within_a_call_gets_an_error() -> None:
    """From the same thread or another; afterwards all is free."""
    turn, said = Turn("this thing is"), []

    def call() -> None:
        with pytest.raises(RuntimeError, match="this thing is in use: another call has not ended"):
            turn()
        said.append("refused")

    with turn():
        call()
        other = threading.Thread(target=call)
        other.start()
        other.join()
        with copy.deepcopy(turn)():
            said.append("the copy is free")
    assert said == ["refused", "refused", "the copy is free"]
    with turn():
        pass


@needs_timers
def test_interrupted_at_any_instant_it_ends() -> None:
    """Also where the call has just begun."""

    def raise_alarm(*_: Any) -> None:
        raise Alarm

    def call_until_interrupted() -> None:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 1e-4))
        while True:
            with turn():
                pass

    turn, rng = Turn("this thing is"), random.Random(1)
    before = signal.signal(signal.SIGALRM, raise_alarm)
    try:
        for _ in range(1_000):
            with pytest.raises(Alarm):
                call_until_interrupted()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
