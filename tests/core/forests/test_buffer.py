"""The buffer of samples: whatever its values need, it gives back every bit of them."""

import copy
import math
import pickle
import struct
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import river_extra_trees as ret

MISSING = math.nan
VALUES: dict[str, list[float]] = {
    "byte": [0.0, 7.0, 254.0, MISSING],
    "too large": [254.0, 255.0, 256.0, -1.0],
    "negative zero": [-0.0, 0.0, MISSING],
    "single": [0.5, -1.25e-30, 3.0e37, 16777216.0, MISSING],
    "double": [0.1, 1e300, 5e-324, 16777217.0, -1e-40, MISSING],
}
PHASES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["absent", *VALUES]), min_size=1, max_size=4),
        st.integers(1, 400),
    ),
    min_size=1,
    max_size=6,
)


def bits(values: list[float]) -> bytes:
    """The values, bit by bit; all NaN are alike."""
    return struct.pack(f"{len(values)}d", *(MISSING if v != v else v for v in values))


def forest() -> ret.ExtraTreesClassifier:
    """A forest that learns fast, whose buffer has two blocks of 512 samples."""
    return ret.ExtraTreesClassifier(
        n_models=1, batch_size=5, window_sizes=(2,), max_nodes=1, seed=1
    )


def check(buffer: Any, rows: list[list[float]], n_columns: int) -> None:
    """Compare all samples that a buffer remembers with what came."""
    buffer.check()
    assert buffer.n_seen == len(rows)
    for arrival in range(buffer.oldest, len(rows)):
        found, _, weight = buffer.sample(arrival)
        wanted = rows[arrival] + [MISSING] * (n_columns - len(rows[arrival]))
        assert bits(found) == bits(wanted[: len(found)])
        assert all(math.isnan(value) for value in wanted[len(found) :])
        assert weight == 1.0 + arrival % 3


@settings(max_examples=40, deadline=None)
@given(PHASES)
def test_values_are_kept_to_the_bit(phases: list[tuple[list[str], int]]) -> None:
    """Kinds of values change at any sample, features come late, blocks are overwritten."""
    model = forest()
    rows: list[list[float]] = []
    columns: list[str] = []
    for kinds, n in phases:
        for i in range(n):
            x = {
                f"f{k}": VALUES[kind][(i + k) % len(VALUES[kind])]
                for k, kind in enumerate(kinds)
                if kind != "absent"
            }
            model.learn_one(x, i % 2, 1.0 + len(rows) % 3)
            columns += [name for name, value in x.items() if value == value and name not in columns]
            rows.append([x.get(name, MISSING) for name in columns])
    buffer = model._core.buffer
    for found in (buffer, copy.deepcopy(buffer), pickle.loads(pickle.dumps(buffer))):
        check(found, rows, len(columns))


@pytest.mark.parametrize(
    ("value", "width"),
    [
        (1.0, 1),
        (254.0, 1),
        (255.0, 4),
        (-1.0, 4),
        (-0.0, 4),
        (16777216.0, 4),
        (0.1, 8),
        (16777217.0, 8),
    ],
)
def test_a_value_takes_as_few_bytes_as_it_needs(value: float, width: int) -> None:
    """Target, weight and number of values take 24 bytes a sample, and a feature its width.

    There are blocks of 512 samples.
    """
    sizes = []
    for n in (0, 20):
        model = forest()
        for i in range(1_024):
            model.learn_one({f"f{k}": value if i % 3 else MISSING for k in range(1 + n)}, i % 2)
        sizes.append(model._core.buffer.__sizeof__())
    values = 20 * 1_024 * width
    assert values <= sizes[1] - sizes[0] <= values + 20 * 56
    assert 24 * 1_024 <= sizes[0] <= (24 + width) * 1_024 + 400


def test_blocks_without_a_value_take_no_memory() -> None:
    """On a stream of texts, full columns of doubles would take at least eight times as much."""
    model = ret.ExtraTreesClassifier(n_models=2, seed=1)
    shares = 1.0 / np.arange(1, 5_001)
    rng, n_samples = np.random.default_rng(1), 6_000
    met: set[int] = set()
    for _ in range(n_samples):
        words = rng.choice(5_000, size=30, p=shares / shares.sum()).tolist()
        model.learn_one({f"word {word}": 1.0 for word in words}, min(words) < 2)
        met.update(words)
    full_columns = len(met) * n_samples * 8
    assert 8 * sys.getsizeof(model._core.buffer) < full_columns


@pytest.mark.parametrize("more", [None, -1, 2])
def test_a_copy_goes_on_alike(more: int | None) -> None:
    """In fewer bytes, or in another number of blocks, as of versions that read more rows ahead."""
    window = 40 if more is None else 1_000
    model = ret.ExtraTreesClassifier(n_models=2, window_sizes=(window,), seed=1)
    rows = [({"a": float(i % 9), "b": 0.3 if i == 5 else i % 700}, i % 3) for i in range(3_900)]
    for x, y in rows[:1_100]:
        model.learn_one(x, y)
    copied = copy.deepcopy(model)
    if more is None:
        assert copied._core.buffer.__sizeof__() < model._core.buffer.__sizeof__()
    else:
        parts = pickle.loads(pickle.dumps(model._core.state()))
        samples = model._core.buffer.state()
        samples["n_blocks"] += more
        parts["buffer"] = type(model._core.buffer).restored(samples)
        copied._core = type(model._core).restored(parts)
    for x, y in rows[1_100:]:
        model.learn_one(x, y)
        copied.learn_one(x, y)
        assert model.predict_proba_one(x) == copied.predict_proba_one(x)


def test_room_for_the_next_block_comes_little_by_little() -> None:
    """No sample waits until all columns have room for one block more."""
    n = 5000
    model = ret.ExtraTreesClassifier(n_models=1, window_sizes=(2000,), max_nodes=1, seed=1)
    model.learn_one({f"f{k}": 1.0 for k in range(n)}, 0)
    sizes = []
    for i in range(1200):
        model.learn_one({"f0": float(i % 7)}, i % 2)
        sizes.append(sys.getsizeof(model._core.buffer))
    assert sizes[-1] - sizes[0] > 2 * 8 * n
    assert np.diff(sizes).max() < 4 * n
