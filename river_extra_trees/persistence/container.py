"""The container format of model files: a header with a hash, JSON, and arrays.

======  =====  ==============================================================
offset  bytes  content, numbers in little-endian order
======  =====  ==============================================================
0       8      magic, which identifies the kind of file
8       4      version of the format
12      8      length of the JSON in bytes
20      8      length of the arrays in bytes
28      32     SHA-256 of all other bytes
60             JSON in UTF-8, then the arrays in safetensors format; deflated
               (zlib) where both together have at most 64 KiB
======  =====  ==============================================================

Compression reduces the file of a model with few samples to a quarter, because JSON and array names
are repetitive. Large files consist mainly of numbers, for which it takes time and gains little. And
no file expands to more than 64 KiB.

The hash detects corruption, not tampering: readers must not trust the content.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from typing import Any

import safetensors.numpy
from numpy.typing import NDArray

__all__ = ["DamagedError", "pack", "unpack"]

HEAD = struct.Struct("<8sIQQ")
DIGEST = hashlib.sha256().digest_size
DEFLATED = 2**16  # bytes: longer content is not compressed


class DamagedError(ValueError):
    """The bytes are not a file of the expected kind."""


def pack(magic: bytes, version: int, document: Any, arrays: dict[str, NDArray[Any]]) -> bytes:
    """Make the bytes of a file. Equal documents and arrays give equal bytes.

    Parameters
    ----------
    magic
        Eight bytes that identify the kind of file.
    version
        Version of the format.
    document
        A value that `json` can write.
    arrays
        Arrays by name.
    """
    text = json.dumps(document, separators=(",", ":")).encode()
    block = safetensors.numpy.save(arrays)
    head = HEAD.pack(magic, version, len(text), len(block))
    parts = [text, block]
    if len(text) + len(block) <= DEFLATED:
        parts = [zlib.compress(text + block, 9)]
    return b"".join([head, digest_of(head, *parts), *parts])


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
    start, length = HEAD.size + DIGEST, n_text + n_block
    stored: bytes | memoryview = memoryview(content)[start:]
    if len(stored) != length > DEFLATED:
        raise DamagedError("its length is not the length in its header")
    if digest_of(content[: HEAD.size], stored) != content[HEAD.size : start]:
        raise DamagedError("it is corrupt: its content does not match its hash")
    if length <= DEFLATED:
        stored = inflated(stored, length)
    return version, read_json(bytes(stored[:n_text])), read_arrays(bytes(stored[n_text:]))


def digest_of(*parts: bytes | memoryview) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()


def inflated(stored: bytes | memoryview, length: int) -> bytes:
    """Decompress content of a known length, without allocating more than that."""
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(stored, length + 1)
    except zlib.error:
        raise DamagedError("its content cannot be read") from None
    if len(content) != length or not stream.eof or stream.unused_data:
        raise DamagedError("its length is not the length in its header")
    return content


def read_json(text: bytes) -> Any:
    try:
        return json.loads(text, object_pairs_hook=different)
    except (ValueError, RecursionError):
        raise DamagedError("its JSON cannot be read") from None


def different(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dict of a JSON object; raise for duplicate keys, which readers treat differently."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError
    return fields


def read_arrays(block: bytes) -> dict[str, NDArray[Any]]:
    try:
        return safetensors.numpy.load(block)
    except (MemoryError, SystemError):  # numpy raises both when memory runs out
        raise
    except Exception:  # the errors of safetensors have no common base class
        raise DamagedError("its arrays cannot be read") from None
