"""The container of model files: a safetensors file whose metadata hold a description in JSON.

The metadata have one entry, `river_extra_trees`. It is a JSON object of three values: `sha256` is
the hash of the whole file with zeros in the place of the hash, `version` is that of the format, and
`model` describes the model.

The hash detects corruption, not tampering: a reader must check the content.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import safetensors.numpy
from numpy.typing import NDArray

__all__ = ["DamagedError", "pack", "signed", "unpack"]

ENTRY = "river_extra_trees"
UNSIGNED = "0" * 64
FIELDS = {"sha256", "version", "model"}


class DamagedError(ValueError):
    """The bytes are not a model file."""


def pack(version: int, model: Any, arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a file. Equal descriptions and arrays give equal bytes.

    Parameters
    ----------
    version
        Version of the format.
    model
        A value that `json` can write.
    arrays
        Arrays by name.
    """
    document = {"sha256": UNSIGNED, "version": version, "model": model}
    text = json.dumps(document, separators=(",", ":"))
    return signed(safetensors.numpy.save(arrays, {ENTRY: text}))


def signed(content: bytes) -> bytes:
    """Replace the zeros in the place of the hash by the hash."""
    digest = hashlib.sha256(content).hexdigest()
    return content.replace(UNSIGNED.encode(), digest.encode(), 1)


def unpack(content: bytes, known: int) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Read the description of the model and the arrays of a file of a known version.

    Raises
    ------
    DamagedError
        If the bytes are not such a file; the message says why.
    """
    length = int.from_bytes(content[:8], "little")
    if not 0 < length <= len(content) - 8:
        raise DamagedError("it is another kind of file, or incomplete")
    header = read_json(content[8 : 8 + length])
    try:
        document = read_json(header["__metadata__"][ENTRY])
        digest, version, model = document["sha256"], document["version"], document["model"]
    except (KeyError, TypeError):
        raise DamagedError("it is another kind of file") from None
    if type(version) is not int or version != known:
        raise DamagedError(
            f"it has version {version!a} of the format; this package reads version {known}: use "
            "the package that saved it, or train the model again"
        )
    if type(digest) is not str or len(digest) != len(UNSIGNED):
        raise DamagedError("its hash is missing")
    unsigned = content.replace(digest.encode(errors="replace"), UNSIGNED.encode(), 1)
    if hashlib.sha256(unsigned).hexdigest() != digest:
        raise DamagedError("it is corrupt: its content does not match its hash")
    if document.keys() != FIELDS or header["__metadata__"].keys() != {ENTRY}:
        raise DamagedError("its metadata have unknown entries")
    return model, read_arrays(content)


def read_json(text: bytes | str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=dict_of_unique_keys)
    except (ValueError, RecursionError):
        raise DamagedError("its JSON cannot be read") from None


def dict_of_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dict of a JSON object; raise a ValueError if two keys are equal."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError
    return fields


def read_arrays(content: bytes) -> dict[str, NDArray[Any]]:
    try:
        return safetensors.numpy.load(content)
    except (MemoryError, SystemError):  # numpy raises them only without memory
        raise
    except Exception:  # the errors of safetensors have no common base class
        raise DamagedError("its arrays cannot be read") from None
