"""Small arrays in pickles, in a few bytes.

numpy's own pickle of an array takes about a hundred bytes beside the numbers, and a young model has
a dozen arrays of a few numbers each. They are packed as tuples: the type, the narrowest type that
holds every number to the bit, the shape, and the bytes. Large arrays stay arrays, which protocol 5
passes on without a copy. No other field of a state is a tuple (see `state.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["packed", "unpacked"]

SMALL = 512  # bytes
KINDS = frozenset(["b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"])
NARROWER = {"f8": ("f2", "f4"), "i8": ("i1", "i2", "i4"), "i4": ("i1", "i2")}


def packed(values: dict[str, Any]) -> dict[str, Any]:
    """The fields of a state, with its small arrays as tuples."""
    return {
        name: pack(value) if type(value) is np.ndarray and value.nbytes <= SMALL else value
        for name, value in values.items()
    }


def unpacked(values: Any) -> Any:
    """The fields of a state, with arrays again for the tuples that `packed` made."""
    if type(values) is not dict:
        return values
    return {
        name: unpack(*value) if type(value) is tuple else value for name, value in values.items()
    }


def pack(array: NDArray[Any]) -> tuple[str, str, tuple[int, ...], bytes]:
    """An array as a tuple."""
    kind = array.dtype.str[1:]
    content = array.tobytes()
    for narrow in NARROWER.get(kind, ()):
        with np.errstate(over="ignore", invalid="ignore"):
            short = array.astype(narrow)
        if short.astype(kind).tobytes() == content:
            return kind, narrow, array.shape, short.tobytes()
    return kind, kind, array.shape, content


def unpack(kind: str, narrow: str, shape: tuple[int, ...], content: bytes) -> NDArray[Any]:
    """The array of a tuple; raises a TypeError or a ValueError if it holds none."""
    if not {kind, narrow} <= KINDS:
        raise ValueError(f"{kind!r} or {narrow!r} is no type of numbers")
    return np.frombuffer(content, narrow).astype(kind).reshape(shape)
