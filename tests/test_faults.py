"""Faults: no memory, signals at any instant, threads and other processes.

After any of them a model is as it was before the sample, or as it is after it.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import pickle
import random
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.estimators import CASES, answers, frozen, learn, make, stream

Case = tuple[str, int]


def fuller_stream(case: Case, n: int, seed: int) -> list[Any]:
    """A stream in which new features, values and labels come all the time."""
    rng = random.Random(seed)
    rows = []
    for i, (x, y) in enumerate(stream(case, n, seed)):
        if i % 7 == 3:
            x = {**x, f"feature {i}": rng.random(), "c": f"value {i}"}
        rows.append((x, f"label {i}" if isinstance(y, str) and i % 11 == 5 else y))
    return rows


def state(model: Any) -> bytes:
    """The whole state of a model, whichever equal objects in it are one and the same."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    pickler.fast = True
    pickler.dump(model)
    return file.getvalue()


# --- No memory


@contextlib.contextmanager
def without_memory(k: int) -> Iterator[None]:
    """Let the k-th allocation of the interpreter or of the core fail."""
    testcapi = pytest.importorskip("_testcapi", reason="this Python was built without its tests")
    testcapi.set_nomemory(k, k + 1)
    try:
        yield
    finally:
        testcapi.remove_mem_hooks()


def failures(before: bytes, act: Callable[[Any], Any]) -> Iterator[Any]:
    """Run an action on copies of a model, the k-th allocation failing; yield those it hit."""
    passed, k = 0, 0
    while passed < 10:      # a thread that cannot be started, for instance, is no error
        k += 1
        model = pickle.loads(before)
        error = None
        try:
            with without_memory(k):
                act(model)
        except MemoryError as raised:
            error = raised
        passed = passed + 1 if error is None else 0
        if error is not None:
            yield model
    assert k > 10


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_memory_to_learn(case: Case) -> None:
    """Whichever allocation of learn_one fails, nothing was learned, or all of it.

    Of a sample that completes a batch the growth may be missing: the next call makes up for it.
    """
    rows = fuller_stream(case, 70, 0)
    model = make(case)
    hit = 0
    for i, (x, y) in enumerate(rows[:-1]):
        if i in (0, 3, 16, 59):
            before = frozen(model)
            for broken in failures(before, lambda model, x=x, y=y: model.learn_one(x, y)):
                hit += 1
                if state(broken) != state(pickle.loads(before)):
                    after = learn(pickle.loads(before), rows[i : i + 2])
                    assert state(learn(broken, [rows[i + 1]])) == state(after)
        model.learn_one(x, y)
    assert hit > 20
