"""The window holds samples in slots and every column in sorted order."""

import math
import pickle
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees._core.schema import Schema
from river_extra_trees._core.state import StateError
from river_extra_trees._core.window import Window
from tests import compiled

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
def test_columns_are_sorted_stably(kind: str) -> None:
    """In batches on both sides of every bound of the sort, and without missing values."""
    rng = np.random.default_rng(0)
    schema, window = Schema(), Window()
    known: list[float] = []
    for size in (0, 1, 2, 31, 32, 33, 100, 1100):
        values = [float(value) for value in LONG[kind](rng, size)]
        for value in values:
            compiled.store(window, schema, {"a": value, "b": 0.0}, 0.0)
        compiled.sort(window)
        known += values
        for name in schema.names:
            keys = known if name == "a" else [0.0] * len(known)
            assert compiled.ranked(window, schema.names.index(name)) == [
                slot for slot in np.argsort(keys, kind="stable") if keys[slot] == keys[slot]
            ]
    window.check()


def test_the_oldest_slot_is_reused_first() -> None:
    """Slots come back in the order in which their samples had arrived."""
    schema, window = Schema(), Window(4)
    for value in range(4):
        compiled.store(window, schema, {"a": float(value)}, 0.0)
    compiled.release(window, [2, 0, 3])
    assert [compiled.store(window, schema, {"a": 9.0}, 0.0) for _ in range(3)] == [0, 2, 3]


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_few_and_of_many_columns(seed: int) -> None:
    """Columns with one value, which have short lines, may all get a second one."""
    rng, schema, window = random.Random(seed), Schema(), Window()
    held: dict[int, dict[str, float]] = {}
    for _ in range(150):
        n = rng.choice([1, 2, 3, 3, 40])
        names = [f"{i}" for i in rng.sample(range(60 if n == 40 else 5), n)]
        x = {name: float(rng.randrange(9)) for name in names}
        held[compiled.store(window, schema, x, 0.0)] = x
        if rng.random() < 0.5:
            gone = [slot for slot in held if rng.random() < 0.5]
            compiled.release(window, gone)
            held = {slot: x for slot, x in held.items() if slot not in gone}
        for slot, x in held.items():
            row = zip(schema.names, window.sample(slot)[0], strict=False)
            assert {name: value for name, value in row if value == value} == x
        window.check()


def test_a_state_takes_no_memory_for_samples_that_it_does_not_hold() -> None:
    """An array without rows takes no room in a file, however long it says that it is."""
    values = {"sample_of": np.empty((0, 2**20), np.int32), "n_seen": 2**20}
    tracemalloc.start()
    try:
        with pytest.raises(StateError, match="sample_of must be"):
            Window.restored(values)
        assert tracemalloc.get_traced_memory()[1] < 2**16
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_values": np.array([3, 3], np.int32)}, "n_values must be"),
        ({"n_values": np.array([-1, 2], np.int32)}, "n_values must be"),
        ({"n_values": np.array([2, 2], np.int32)}, "values must be"),
        ({"sample_of": np.array([2], np.int32)}, "sample_of must be"),
        ({"sample_of": np.array([-1], np.int32)}, "sample_of must be"),
        ({"sample_of": np.empty(0, np.int32)}, "sample_of must be"),
        ({"values": np.array([1.0, math.nan, 3.0])}, "a value is none"),
        ({"values": np.array([1.0, math.inf, 3.0])}, "a value is none"),
        (
            {
                "n_values": np.array([0, 2], np.int32),
                "sample_of": np.array([1, 0, 0], np.int32),
                "values": np.array([1.0, 2.0, 3.0]),
                "target": np.zeros(3),
                "n_seen": 3,
            },
            "values must be",
        ),
        (
            {
                "n_values": np.array([1, 2], np.int32),
                "sample_of": np.array([2, 1, 1], np.int32),
                "target": np.zeros(3),
                "n_seen": 3,
            },
            "not in the order",
        ),
    ],
    ids=lambda value: str(value)[:50],
)
def test_values_that_no_samples_have_are_refused(change: dict[str, Any], message: str) -> None:
    """The samples of a column are numbers of samples, each once."""
    state = {
        "n_values": np.array([1, 2], np.int32),
        "sample_of": np.array([1], np.int32),
        "values": np.array([1.0, 2.0, 3.0]),
        "target": np.zeros(2),
        "n_seen": 2,
    }
    assert Window.restored(state).sample(1)[0] == [1.0, 3.0]
    with pytest.raises(StateError, match=message):
        Window.restored(state | change)


@pytest.mark.parametrize(
    "kind",
    [
        ret.ExtraTreesClassifier,
        ret.StreamDecisionTreeClassifier,
        ret.ForgetfulRandomForestClassifier,
        ret.ShrubEnsembleClassifier,
        ret.DynamicTreeClassifier,
    ],
)
def test_a_state_holds_the_values_that_are_there(kind: Any) -> None:
    """After a sample of many names, a model takes room for its values, not for all samples."""
    sizes = []
    for n_names in (0, 1_500):
        model = kind(seed=1)
        for i in range(150):
            wide = {f"w{j}": 1.0 for j in range(n_names if i == 50 else 0)}
            model.learn_one({"a": float(i % 7)} | wide, i % 2)
        sizes.append(len(pickle.dumps(model)))
    assert sizes[1] - sizes[0] < 100 * 1_500
