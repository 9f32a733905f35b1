"""Keys: which values can be one, how they are written, and how they are divided."""

from __future__ import annotations

import hashlib
import numbers
import typing

__all__ = ["Key", "key_named", "name_of", "plain_key", "shard_of"]

Key = str | bytes | int

PLAIN = frozenset([str, bytes, int])  # the types that a key has after `plain_key`
LONG = 1024  # bits from which on a whole number is written in hexadecimal digits


def plain_key(key: typing.Any) -> Key:
    """A key as Python's own type.

    Parameters
    ----------
    key
        A string, bytes or a whole number.

    Raises
    ------
    TypeError
        If the key has another type.
    """
    if type(key) in PLAIN:
        return typing.cast(Key, key)
    if isinstance(key, str):
        return str.__str__(key)  # str(key) would call the method of a subclass
    if isinstance(key, bytes):
        return bytes.__getitem__(key, slice(None))
    if isinstance(key, numbers.Integral) and not isinstance(key, bool):
        return int(key)
    raise TypeError(f"a key must be a string, bytes or a whole number, not {type(key).__name__!r}")


def name_of(key: typing.Any) -> bytes:
    """A key as bytes, which differ for different keys, also of different types.

    Parameters
    ----------
    key
        A string, bytes or a whole number.
    """
    key = plain_key(key)
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogatepass")
    if isinstance(key, bytes):
        return b"b" + key
    # Python limits the length of decimal numbers, but not that of hexadecimal ones.
    return b"i%d" % key if key.bit_length() <= LONG else b"x%x" % key


def key_named(name: bytes) -> Key:
    """The key that `name_of` has written.

    Parameters
    ----------
    name
        What `name_of` returned.
    """
    kind, text = name[:1], name[1:]
    if kind == b"s":
        return text.decode("utf-8", "surrogatepass")
    return text if kind == b"b" else int(text, 16 if kind == b"x" else 10)


def shard_of(key: typing.Any, n: int) -> int:
    """The shard of a key, which is the same in every process and every version.

    The hashes of the keys, numbers from 0 to 2**64 - 1, are divided into n ranges of equal length.

    Parameters
    ----------
    key
        A string, bytes or a whole number.
    n
        Number of shards.

    Raises
    ------
    TypeError
        If the key has another type.

    Examples
    --------
    >>> from river_extra_trees.keyed import shard_of
    >>> [shard_of(key, 4) for key in ("sensor 1", "sensor 2", "sensor 3", 17)]
    [0, 2, 2, 3]
    """
    return int.from_bytes(hashlib.blake2b(name_of(key), digest_size=8).digest()) * n >> 64
