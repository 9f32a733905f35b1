"""The window holds samples in slots and every column in sorted order."""

from __future__ import annotations

import math
import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from river_extra_trees._core.schema import Schema
from river_extra_trees._core.state import StateError
from river_extra_trees._core.window import Window
from tests import compiled

# Few distinct values, so that there are ties, and both zeros.
VALUES = st.sampled_from([-1.0, -0.0, 0.0, 0.5, 2.0, math.nan])
ROWS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


class WindowMachine(RuleBasedStateMachine):
    """Random pushes, sorts and releases, against a dict."""

    @initialize(capacity=st.integers(0, 3))
    def begin(self, capacity: int) -> None:
        self.schema = Schema()
        self.window = Window(capacity)
        self.held: dict[int, tuple[dict[str, float], float, float, int]] = {}
        self.n_seen = 0

    @rule(
        samples=st.lists(
            st.tuples(ROWS, st.floats(-5, 5), st.one_of(st.just(0.0), st.floats(0.5, 2))),
            min_size=1,
            max_size=4,
        )
    )
    def push(self, samples: list[tuple[dict[str, float], float, float]]) -> None:
        slots = compiled.store_rows(self.window, self.schema, *zip(*samples, strict=True))
        for slot, (x, y, weight) in zip(slots, samples, strict=True):
            if weight == 0.0:
                assert slot == -1
                continue
            assert slot not in self.held
            self.held[slot] = (x, y, weight, self.n_seen)
            self.n_seen += 1

    @rule(x=ROWS, y=st.floats(-5, 5), weight=st.floats(0.5, 2), data=st.data())
    def slide(self, x: dict[str, float], y: float, weight: float, data: st.DataObject) -> None:
        gone = data.draw(st.sampled_from([-1, *sorted(self.held)]))
        slot = compiled.store_sliding(self.window, self.schema, x, y, weight, gone)
        assert slot == gone if gone >= 0 else slot not in self.held
        self.held.pop(slot, None)
        self.held[slot] = (x, y, weight, self.n_seen)
        self.n_seen += 1

    @rule()
    def sort(self) -> None:
        compiled.sort(self.window)
        assert self.window.n_fresh == 0

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        gone = data.draw(st.sets(st.sampled_from(sorted(self.held))))
        compiled.release(self.window, sorted(gone))
        for slot in gone:
            del self.held[slot]

    @rule()
    def pickle(self) -> None:
        data = pickle.dumps(self.window)
        self.window = pickle.loads(data)
        assert pickle.dumps(self.window) == data
        self.held = dict(enumerate(self.held.values()))  # the slots are numbered anew

    @invariant()
    def holds_the_same_samples(self) -> None:
        self.window.check()
        assert self.window.slots() == list(self.held)
        assert self.window.n_seen == self.n_seen
        for slot, (x, *rest) in self.held.items():
            row, *told = self.window.sample(slot)
            expected = [x.get(name, math.nan) for name in self.schema.names]
            assert np.array_equal(row, expected, equal_nan=True)
            assert told == rest


TestWindowMachine = WindowMachine.TestCase
TestWindowMachine.settings = settings(max_examples=30, stateful_step_count=25)


@given(st.lists(st.lists(VALUES, max_size=40), max_size=4))
def test_columns_are_sorted_stably(batches: list[list[float]]) -> None:
    """Sorted in batches, a column is in the order of one stable sort with missing values last."""
    schema, window = Schema(), Window(1)
    for batch in batches:
        for value in batch:
            compiled.store(window, schema, {"a": value, "b": 0.0}, 0.0)
        compiled.sort(window)
    values = [value for batch in batches for value in batch]
    for column, name in enumerate(schema.names):
        keys = values if name == "a" else [0.0] * len(values)
        expected = sorted(
            range(len(keys)),
            key=lambda i: (math.isnan(keys[i]), keys[i] if keys[i] == keys[i] else 0),
        )
        assert compiled.ranked(window, column) == expected


LONG: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "uniform": lambda rng, n: rng.random(n),
    "of both signs": lambda rng, n: rng.normal(size=n),
    "ties": lambda rng, n: rng.integers(0, 50, size=n),
    "of all sizes": lambda rng, n: rng.choice([-1, 1], n) * 10.0 ** rng.integers(-308, 308, n),
    "zeros": lambda rng, n: rng.choice([0.0, -0.0, math.nan, 5e-324, -5e-324], n),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.3, math.nan, rng.random(n)),
    "far from others": lambda rng, n: np.where(rng.random(n) < 0.01, -1e300, 1 + rng.random(n)),
    "equal in their leading digits": lambda rng, n: np.where(
        rng.random(n) < 0.01, -1e300, 1 + 1e-9 * rng.random(n)
    ),
    "codes": lambda rng, n: np.where(rng.random(n) < 0.1, math.nan, rng.integers(-1, 192, n)),
    "falling": lambda rng, n: -np.arange(n),
}


@pytest.mark.parametrize("kind", LONG)
def test_long_batches_are_sorted(kind: str) -> None:
    """Batches on both sides of every bound of the sort come out right."""
    rng = np.random.default_rng(0)
    schema, window = Schema(), Window()
    for size in (1, 2, 31, 32, 33, 100, 1100):
        for value in LONG[kind](rng, size):
            compiled.store(window, schema, {"a": float(value), "b": 0.0}, 0.0)
        compiled.sort(window)
        window.check()


def test_the_oldest_slot_is_reused_first() -> None:
    """Slots come back in the order in which their samples had arrived."""
    schema, window = Schema(), Window(4)
    for value in range(4):
        compiled.store(window, schema, {"a": float(value)}, 0.0)
    compiled.release(window, [2, 0, 3])
    assert [compiled.store(window, schema, {"a": 9.0}, 0.0) for _ in range(3)] == [0, 2, 3]


def test_a_state_takes_no_memory_for_samples_that_it_does_not_hold() -> None:
    """An array without rows takes no room in a file, however long it says that it is."""
    values = {"data": np.empty((0, 2**20)), "n_seen": 2**20}
    tracemalloc.start()
    try:
        with pytest.raises(StateError, match="data must be"):
            Window.restored(values)
        assert tracemalloc.get_traced_memory()[1] < 2**16
    finally:
        tracemalloc.stop()
