"""The codes of nominal values: a hash of what a value is, as one would explain it."""

import numbers
from typing import Any

from tests.naive.rng import WORD, mix

TEXT, BYTES, NUMBER, TUPLE, SET, OBJECT = range(1, 7)


def fnv(units: Any) -> int:
    """FNV-1a over the characters of a text, or bytes."""
    found = 0xCBF29CE484222325
    for unit in units:
        found = (found ^ unit) * 0x100000001B3 & WORD
    return found


def joined(kind: int, content: int) -> int:
    return mix(mix(kind) ^ (content & WORD))


def hash_of(value: Any) -> int:
    """Equal values have equal hashes, whatever their types."""
    if isinstance(value, str):
        return joined(TEXT, fnv(map(ord, value)))
    if isinstance(value, bytes):
        return joined(BYTES, fnv(value))
    if isinstance(value, numbers.Number):
        return joined(NUMBER, -1 if value == -1 else hash(value))
    if isinstance(value, frozenset):
        return joined(SET, sum(map(hash_of, value)))
    if isinstance(value, tuple):
        found = 0
        for each in value:
            found = joined(found, hash_of(each))
        return joined(TUPLE, found)
    kind = type(value)
    return joined(OBJECT, hash_of(f"{kind.__module__}.{kind.__qualname__} {value!r}"))


def code_of(value: Any) -> float:
    """52 of its bits."""
    return float(hash_of(value) >> 12)
