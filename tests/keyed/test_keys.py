"""Keys: their types, their names, and their shards."""

import enum
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_extra_trees.keyed.keys import name_of, plain_key, shard_of


def test_hash_is_stable() -> None:
    """The shard of a key is the same in all processes and versions: stores are cut by it."""
    keys = ("a", "b", b"a", 1, -5, 10**30, "ä")
    assert [shard_of(key, 7) for key in keys] == [2, 5, 3, 2, 0, 3, 6]


def test_hash_is_even() -> None:
    """Each shard gets about as many keys, and more shards only cut the ranges finer."""
    counts = Counter(shard_of(f"sensor {i}", 8) for i in range(8000))
    assert all(900 < counts[shard] < 1100 for shard in range(8))
    assert all(shard_of(i, 4) == shard_of(i, 8) // 2 for i in range(1000))


@pytest.mark.parametrize("key", [1.0, None, True, ("a",), [1], np.bool_(True)])
def test_keys_of_other_types(key: object) -> None:
    """Keys whose equality or writing is not plain are refused."""
    with pytest.raises(TypeError, match=f"not '{type(key).__name__}'"):
        shard_of(key, 2)


KEYS = st.one_of(st.text(), st.binary(), st.integers(), st.just("\ud800"))


@given(KEYS, KEYS)
def test_names_differ_as_keys_do(one: str | bytes | int, other: str | bytes | int) -> None:
    """Keys of different types have different names."""
    assert (name_of(one) == name_of(other)) == (one == other)


class Shop(enum.StrEnum):
    NORTH = "north"


def test_keys_become_plain() -> None:
    """Keys of subclasses are those of Python's own types that they equal."""
    for key, plain in [
        (np.int64(3), 3),
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
        (Shop.NORTH, "north"),
        (np.uint64(2**63), 2**63),
    ]:
        found = plain_key(key)
        assert (found, type(found)) == (plain, type(plain))
