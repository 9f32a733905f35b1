"""The active samples of a particle filter: sizes that no memory holds are refused, not wrapped."""

from __future__ import annotations

import pytest

from river_extra_trees._core.dynamic.pool import Pool


@pytest.mark.parametrize(
    ("capacity", "n_columns", "size_v"),
    [
        (2**31 - 1, 2**31 - 1, 1),  # 2**62 cells: their bytes are more than 64 bits hold
        (2**31 - 1, 0, 2**31 - 1),
        (2**31, 1, 1),  # more slots than an int numbers
        (2**63, 2, 1),  # the product itself is more than 64 bits hold
    ],
)
def test_sizes_beyond_memory_are_refused(capacity: int, n_columns: int, size_v: int) -> None:
    """A product that wraps around would give a small block, and writes behind it."""
    with pytest.raises(MemoryError):
        Pool(capacity, n_columns, size_v)


def test_a_slot_that_holds_nothing_is_refused() -> None:
    """Free slots, and those that are not there, are no foreign memory to read."""
    for slot in (-1, 0, 16, 2**31 - 1):
        with pytest.raises(IndexError, match="no active sample"):
            Pool().point(slot)
