"""Conversion of plain values and core objects to JSON with types, and back.

Every value is a list that begins with a tag for its type. Labels and names are never keys of a JSON
object, which would turn True and 1 into strings. Arrays are stored outside the JSON, under their
path in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.cart.value_history import ValueHistory
from .._core.dynamic import ParticleFilter
from .._core.forests.buffer import Buffer
from .._core.forests.extra_trees import ExtraTrees
from .._core.forests.fading_ridge import FadingRidge
from .._core.forests.forgetful import ForgetfulForest
from .._core.forests.logistic import LogisticRegression
from .._core.forests.mixtures import ClassPool, NumberMixture, Transitions
from .._core.forests.model_trees import LinearModels
from .._core.forests.noise import NoiseModel
from .._core.forests.questions import Questions
from .._core.forests.stream import StreamForest
from .._core.safe_repr import safe_repr
from .._core.schema import Labels, Schema
from .._core.shrubs import Shrubs
from .._core.state import LARGEST_COUNT, Captured, StateError, require
from .._core.trees import Trees
from .._core.window import Window

__all__ = ["Decoder", "Encoder", "is_plain"]

# The tags of the core classes in model files. They are part of the format: a class may be renamed
# or moved, but its tag stays.
CORE_CLASSES: dict[str, Any] = {
    "class_pool": ClassPool,
    "dynamic_trees": ParticleFilter,
    "fading_ridge": FadingRidge,
    "forgetful_forest": ForgetfulForest,
    "buffer": Buffer,
    "labels": Labels,
    "linear_models": LinearModels,
    "logistic_regression": LogisticRegression,
    "memory_forest": ExtraTrees,
    "noise_model": NoiseModel,
    "number_mixture": NumberMixture,
    "questions": Questions,
    "schema": Schema,
    "shrub_ensemble": Shrubs,
    "stream_forest": StreamForest,
    "transitions": Transitions,
    "trees": Trees,
    "value_history": ValueHistory,
    "window": Window,
}
CORE_TAGS = {kind: tag for tag, kind in CORE_CLASSES.items()}
DEEPEST = 40  # levels of nested lists, tuples and objects

# Exact types only: a member of a str Enum, for example, would be loaded as a str.
PLAIN: dict[type, tuple[str, Callable[[Any], Any], type, Callable[[Any], Any]]] = {
    type(None): ("none", lambda value: None, type(None), lambda text: None),
    bool: ("bool", bool, bool, bool),
    int: ("int", hex, str, lambda text: int(text, 16)),
    float: ("float", float.hex, str, float.fromhex),
    str: ("str", str, str, str),
    bytes: ("bytes", bytes.hex, str, bytes.fromhex),
}
NUMPY = {
    np.dtype(name).type: name
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64"),
    )
}
# C has two integer types of 64 bits, and numpy.int64 is only one of them. Numbers of both are equal
# dict keys. Both are written under one name, and read as the type above.
NUMPY |= {kind: np.dtype(kind).name for kind in (np.longlong, np.ulonglong)}
PLACES = {"labels": "a label", "names": "a feature name", "nominal_values": "a nominal value"}
NAME = re.compile(r"[a-z][a-z0-9_]*")


def is_plain(value: object) -> bool:
    """Return whether a value is None, a bool, a number, a text, bytes, or a tuple of these."""
    if type(value) is tuple:
        return all(map(is_plain, value))
    return type(value) in PLAIN or type(value) in NUMPY or type(value) is np.str_


class Encoder:
    """Encodes values as JSON and collects their arrays.

    Attributes
    ----------
    arrays
        The arrays encountered so far, by their path.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    def encode(self, value: Any, path: str = "") -> list[Any]:
        """Encode a value.

        Raises
        ------
        StateError
            If the type of a value has no tag; the message names the value, its type and place.
        """
        kind = type(value)
        if path.count("/") > DEEPEST:
            raise StateError(f"{place_of(path)}: values are nested too deeply")
        if kind in PLAIN:
            tag, write, *_ = PLAIN[kind]
            return [tag, write(value)]
        if kind in NUMPY:
            return ["numpy", NUMPY[kind], *self.encode(value.item())]
        if kind is np.str_:
            return ["numpy", "str", *self.encode(str(value))]
        if kind is np.bytes_:
            return ["numpy", "bytes", *self.encode(bytes(value))]
        if kind in (list, tuple):
            return [
                kind.__name__,
                [self.encode(item, f"{path}/{i}") for i, item in enumerate(value)],
            ]
        if kind is np.ndarray:
            self.arrays[path] = np.ascontiguousarray(value)
            return ["array", path]
        if kind is dict:
            return ["dict", self._fields(value, path)]
        if kind is Captured:
            return ["object", CORE_TAGS[value.kind], self._fields(value.values, path)]
        if kind in CORE_TAGS:
            return ["object", CORE_TAGS[kind], self._fields(value.state(), path)]
        raise StateError(
            f"{place_of(path)}: {safe_repr(value)} has the type "
            f"{kind.__module__}.{kind.__qualname__}; a model file can hold None, bool, int, float, "
            "str, bytes, numpy strings and numbers of up to 64 bits, and tuples of these"
        )

    def _fields(self, values: dict[str, Any], path: str) -> dict[str, Any]:
        return {
            name: self.encode(value, f"{path}/{name}" if path else name)
            for name, value in values.items()
        }


def place_of(path: str) -> str:
    """Return the name of a path in messages: a parameter, a label, ..."""
    parts = path.split("/")
    if parts[0] == "parameters" and len(parts) > 1:
        return f"the parameter {parts[1]}"
    return next((PLACES[part] for part in parts if part in PLACES), path)


class Decoder:
    """Decodes JSON into values.

    Parameters
    ----------
    arrays
        The arrays by their paths. Each belongs to one value; `decode` removes those that it uses.
    largest_count
        Largest count of samples, batches, ... in a core object or another part.
    """

    def __init__(self, arrays: dict[str, NDArray[Any]], largest_count: int = LARGEST_COUNT) -> None:
        self.arrays = arrays
        self.largest_count = largest_count

    def decode(self, code: Any, depth: int = 0, counts: bool = True) -> Any:
        """Decode a value.

        Parameters
        ----------
        code
            JSON that `Encoder` writes.
        depth
            Number of values that contain this one.
        counts
            Whether whole numbers are counts. The parameters of a learner are not.

        Raises
        ------
        StateError
            If `Encoder` does not write such JSON, or a core object refuses its state.
        """
        require(isinstance(code, list) and code, "a value has no tag")
        require(depth <= DEEPEST, "values are nested too deeply")
        tag, content = code[0], code[1:]
        if tag in ("list", "tuple") and len(content) == 1 and isinstance(content[0], list):
            items = [self.decode(item, depth + 1, counts) for item in content[0]]
            return items if tag == "list" else tuple(items)
        if tag == "array" and len(content) == 1 and isinstance(content[0], str):
            require(content[0] in self.arrays, "an array is missing, or used twice")
            return self.arrays.pop(content[0])
        if tag == "dict" and len(content) == 1:
            return self._fields(content[0], depth, counts)
        if tag == "object" and len(content) == 2 and isinstance(content[0], str):
            require(content[0] in CORE_CLASSES, "an object has an unknown tag")
            return CORE_CLASSES[content[0]].restored(self._fields(content[1], depth, True))
        if tag == "numpy" and len(content) == 3:
            return decode_numpy(content[0], content[1:])
        return decode_plain(code)

    def _fields(self, code: Any, depth: int, counts: bool) -> dict[str, Any]:
        require(isinstance(code, dict), "an object has no fields")
        require(all(NAME.fullmatch(name) for name in code), "the name of a field is invalid")
        fields = {
            name: self.decode(value, depth + 1, counts and name != "parameters")
            for name, value in code.items()
        }
        for name, value in fields.items():
            is_count = counts and type(value) is int and name != "seed"
            require(not is_count or value <= self.largest_count, f"{name} is too large")
        return fields


def decode_plain(code: Any) -> Any:
    """Decode a value that contains no arrays or objects."""
    for tag, _, written_as, read in PLAIN.values():
        if isinstance(code, list) and code[:1] == [tag] and len(code) == 2:
            require(type(code[1]) is written_as, "a value does not fit its tag")
            try:
                return read(code[1])
            except (ValueError, OverflowError):
                raise StateError("a value does not fit its tag") from None
    raise StateError("a value has an unknown tag")


def decode_numpy(name: Any, code: Any) -> Any:
    """Decode a number or string of numpy."""
    value = decode_plain(code)
    if name == "str" and type(value) is str:
        return np.str_(value)
    if name == "bytes" and type(value) is bytes:
        return np.bytes_(value)
    for kind, known in NUMPY.items():
        if name == known and type(value) is type(kind(0).item()):
            try:
                with np.errstate(over="ignore"):
                    scalar = kind(value)
            except OverflowError:
                break
            require(scalar.item() == value or value != value, "a number does not fit its type")
            return scalar
    raise StateError("a numpy value does not fit its tag")
