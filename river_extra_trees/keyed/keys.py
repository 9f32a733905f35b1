"""Keys: their types, their form in files, and their division into shards."""

from __future__ import annotations

import hashlib
import numbers
import pickle
import typing

__all__ = ["Key", "Part", "name_of", "plain_key", "shard_of"]

Key = str | bytes | int
Part = tuple[Key, list[int]]  # a key and the numbers of its rows in a frame

PLAIN = frozenset([str, bytes, int])  # the types that a key has after `plain_key`


def plain_key(key: typing.Any) -> Key:
    """Convert a key to str, bytes or int.

    Parameters
    ----------
    key
        A string, bytes or an integer.

    Raises
    ------
    TypeError
        If the key has another type.
    """
    if type(key) in PLAIN:
        return typing.cast(Key, key)
    if isinstance(key, str):
        return str.__str__(key)  # str(key) would call `__str__` of a subclass
    if isinstance(key, bytes):
        return bytes.__getitem__(key, slice(None))
    if isinstance(key, numbers.Integral) and not isinstance(key, bool):
        return int(key)
    raise TypeError(f"a key must be a string, bytes or a whole number, not {type(key).__name__!r}")


def name_of(key: typing.Any) -> bytes:
    """Convert a key to bytes that are unique, also among keys of different types."""
    return pickle.dumps(plain_key(key), protocol=5)


def shard_of(key: typing.Any, n: int) -> int:
    """Return the shard of a key, which is the same in every process.

    The hashes of the keys, numbers from 0 to 2**64 - 1, are divided into n ranges of equal length.

    Parameters
    ----------
    key
        A string, bytes or an integer.
    n
        Number of shards.

    Returns
    -------
    Number of the shard, from 0.

    Raises
    ------
    TypeError
        If the key has another type.

    Examples
    --------
    >>> from river_extra_trees.keyed.keys import shard_of
    >>> [shard_of(key, 4) for key in ("sensor 1", "sensor 2", "sensor 3", 17)]
    [3, 1, 3, 0]
    """
    return int.from_bytes(hashlib.blake2b(name_of(key), digest_size=8).digest()) * n >> 64
