"""The outer form of a file: a header with a hash, JSON, and arrays.

======  =====  ==============================================================
offset  bytes  content, numbers in little-endian order
======  =====  ==============================================================
0       8      magic, which identifies the kind of file
8       4      version of the format
12      8      length of the JSON in bytes
20      8      length of the arrays in bytes
28      32     SHA-256 of all other bytes
60             JSON in UTF-8, then the arrays in safetensors format
======  =====  ==============================================================

The hash detects corruption, not tampering: readers must not trust the content.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import safetensors.numpy
from numpy.typing import NDArray

__all__ = ["DamagedError", "pack", "unpack"]

HEAD = struct.Struct("<8sIQQ")
DIGEST = hashlib.sha256().digest_size


class DamagedError(ValueError):
    """Bytes that are not a file of the wanted kind."""


def pack(magic: bytes, version: int, document: Any, arrays: dict[str, NDArray[Any]]) -> bytes:
    """Make the bytes of a file. Equal documents and arrays give equal bytes.

    Parameters
    ----------
    magic
        Eight bytes.
    version
        Of the format.
    document
        Anything that `json` can write.
    arrays
        Arrays by name.
    """
    text = json.dumps(document, separators=(",", ":")).encode()
    block = safetensors.numpy.save(arrays)
    head = HEAD.pack(magic, version, len(text), len(block))
    return head + digest_of(head, text, block) + text + block


def unpack(
    content: bytes, magic: bytes, versions: range
) -> tuple[int, Any, dict[str, NDArray[Any]]]:
    """Read the version, the document and the arrays of a file.

    Raises
    ------
    DamagedError
        If the bytes are not such a file; the message says why.
    """
    if len(content) < HEAD.size + DIGEST or content[: len(magic)] != magic:
        raise DamagedError("it is another kind of file, or incomplete")
    _, version, n_text, n_block = HEAD.unpack_from(content)
    if version not in versions:
        raise DamagedError(
            f"it has version {version} of the format; this package reads versions {versions[0]} "
            f"to {versions[-1]}"
        )
    start = HEAD.size + DIGEST
    if start + n_text + n_block != len(content):
        raise DamagedError("its length is not the length in its header")
    text, block = content[start : start + n_text], content[start + n_text :]
    if digest_of(content[: HEAD.size], text, block) != content[HEAD.size : start]:
        raise DamagedError("it is corrupt: its content does not match its hash")
    return version, read_json(text), read_arrays(block)


def digest_of(head: bytes, text: bytes, block: bytes) -> bytes:
    digest = hashlib.sha256(head)
    digest.update(text)
    digest.update(block)
    return digest.digest()


def read_json(text: bytes) -> Any:
    try:
        return json.loads(text, object_pairs_hook=different)
    except (ValueError, RecursionError):
        raise DamagedError("its JSON cannot be read") from None


def different(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; duplicate keys are refused, because readers would disagree on their value."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError
    return fields


def read_arrays(block: bytes) -> dict[str, NDArray[Any]]:
    try:
        return safetensors.numpy.load(block)
    except (MemoryError, SystemError):  # numpy raises both when memory runs out
        raise  # only without memory
    except Exception:  # the library has no common class for what it raises on foreign bytes
        raise DamagedError("its arrays cannot be read") from None
