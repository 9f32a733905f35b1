"""Rows of a batch are answered and learned without Python's lock, where no Python is needed."""

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees._estimator.tables import labelled_table_of

N = 4_000  # rows

BATCH: dict[str, Any] = {"batch_size": 2 * N}  # no batch is full before the end

MODELS: dict[str, Any] = {
    "StreamDecisionTreeClassifier": BATCH,
    "ExtraTreesClassifier": {"window_sizes": (60, 200), "batch_size": 20},
    "ExtraTreesRegressor": {"window_sizes": (60, 200), "batch_size": 20},
    "ForgetfulRandomForestRegressor": {"n_models": 5, **BATCH},
    "ShrubEnsembleRegressor": {"n_models": 4, "window_size": 16},
    "DynamicTreeRegressor": {"n_particles": 5, "window": 20, "discard": "random"},
}


@pytest.fixture(autouse=True)
def _no_forced_switches() -> Iterator[None]:
    """Python takes the lock from no thread that does not release it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


def samples(name: str) -> tuple[Any, Any]:
    X = np.random.default_rng(1).random((N, 3))
    sums = X[:, 0] + X[:, 1]
    return X, sums if name.endswith("Regressor") else sums > 1


def rows_read_beside_a_thread(core: Any, reader: Any, n: int) -> int | None:
    """How many of n rows are read while another thread keeps Python's lock; None if it is late."""
    gate = threading.Lock()
    found: list[int] = []

    def keep_the_lock() -> None:
        with gate:
            deadline = time.monotonic() + 5
        if reader.row == n:
            return
        while reader.row < n and time.monotonic() < deadline:
            pass
        found.append(reader.row)

    thread = threading.Thread(target=keep_the_lock, daemon=True)
    with gate:
        thread.start()
    core.read_stretch(reader)
    thread.join(100)
    return found[0] if found else None


# All answer without the lock; with it, those learn whose trees are replaced one by one.
CASES = [(name, True, False) for name in MODELS]
CASES += [
    (name, asks, True) for name in MODELS if name.startswith("Extra") for asks in (False, True)
]


@pytest.mark.parametrize(("name", "asks", "learns"), CASES)
def test_a_stretch_of_rows_never_waits_for_the_lock(name: str, asks: bool, learns: bool) -> None:
    """All rows of one call are read while another thread keeps the lock.

    A thread that computes returns the lock only every 5 ms, so one row that needs it would take
    longer than hundreds of rows that do not.
    """
    X, y = samples(name)
    for start in [*range(300, N - 256, 256)] * 100:  # a thread may take long to wake up
        stretch = min(N - start, 256 if learns or name.startswith("Dynamic") else 4096)
        model = getattr(ret, name)(**MODELS[name], seed=1)
        model.learn_many(X[:start], y[:start])
        batch = labelled_table_of(X[start:], y[start:], 1.0, model._core.regression)
        reader = model._core.reader(batch, learns=learns)
        if asks:
            model._core.ask(reader)
        n_read = rows_read_beside_a_thread(model._core, reader, stretch)
        assert n_read in (None, stretch)
        if n_read:
            return
    pytest.fail("no other thread ran while the rows were read")
