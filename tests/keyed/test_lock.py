"""One call at a time, whatever interrupts it."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from river import base

from river_extra_trees.keyed import Counts, KeyedModels
from river_extra_trees.keyed.models import ExclusiveLock
from tests.tools.systems import needs_timers


class Alarm(BaseException):
    """What the signal raises."""


@needs_timers
def test_interrupted_at_any_instant_it_ends() -> None:
    """Also where the call has just begun."""

    def raise_alarm(*_: Any) -> None:
        raise Alarm

    def call_until_interrupted() -> None:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 1e-4))
        while True:
            with lock():
                pass

    lock, rng = ExclusiveLock(), random.Random(1)
    before = signal.signal(signal.SIGALRM, raise_alarm)
    try:
        for _ in range(1_000):
            with pytest.raises(Alarm):
                call_until_interrupted()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Slow(base.Regressor):
    """Predicts while it is told to, and says when it has begun."""

    def __init__(self, begun: threading.Event, goes_on: threading.Event) -> None:
        self.begun, self.goes_on = begun, goes_on

    def clone(self, *_: Any, **__: Any) -> Slow:
        return self

    def learn_one(self, x: Any, y: Any) -> None:
        self.begun.set()
        self.goes_on.wait(60)

    def predict_one(self, x: Any) -> float:
        return 0.0


def test_a_second_call_gets_an_error_and_changes_nothing() -> None:
    """Every method raises the error, and the first call completes."""
    begun, goes_on = threading.Event(), threading.Event()
    models = KeyedModels(Slow(begun, goes_on))
    first = threading.Thread(target=models.learn_one, args=("a", {}, 1.0))
    first.start()
    assert begun.wait(60)
    X = pd.DataFrame({"x": [0.0]})
    calls: list[Callable[[], object]] = [
        lambda: models.learn_one("b", {}, 1.0),
        lambda: models.learn_many(["b"], X, [1.0]),
        lambda: models.predict_one("a", {}),
        lambda: models.predict_many(["a"], X),
        lambda: models.predict_learn_many(["b"], X, [1.0]),
        lambda: models.model_of("a"),
        lambda: models.forget("a"),
        lambda: "a" in models,
        lambda: len(models),
        models.counts,
        models.commit,
        models.close,
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="are in use"):
            call()
    goes_on.set()
    first.join()
    assert models.counts() == Counts(1, 1, 1, 0, "")
    assert models.predict_one("a", {}) == 0.0
