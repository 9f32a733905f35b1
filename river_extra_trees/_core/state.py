"""What a core object remembers, described once for pickles and for model files.

Every core class has a method `state`, which returns a dict from names to values, and a class method
`restored`, which makes an object from such a dict. Values are None, bools, whole numbers, floats,
strings, numpy arrays, other core objects, lists of values, and feature values and labels of any
type. What does not decide future answers (scratch memory, caches, spare capacity) is left out, so
that equal objects have equal states. So are the fields with the values that a class names in its
`DEFAULTS`: a young object has a short state. An array that was filled through a view goes into the
state as `view.base`: without memory `numpy.asarray(view)` may return an array of another type.

A table of fields drives both ways: {name: (getter of `State`, its limits ...)}. `fields_of` writes
what it names: attributes of the object, and copies of the arrays in `views` (see `parts.pxd`).
`State.read` reads and checks the same names, and `put_back` copies the arrays into the views. A
string in the shape of an array names its length, which must be equal wherever the name stands. The
class itself checks what relates fields to each other, mainly indices.

`restored` trusts nothing: a state may come from a damaged or hostile file. Whatever could lead to a
wrong index, an endless loop or a number that no calculation expects raises `StateError`, and
memory is taken only for what the arrays of the state hold, and in a window for a place per sample
in each column that has values.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FAINTEST_WEIGHT",
    "FINITE",
    "LARGEST_COUNT",
    "LARGEST_FLOAT",
    "LARGEST_TARGET",
    "LARGEST_WEIGHT",
    "SMALLEST",
    "Captured",
    "State",
    "StateError",
    "Table",
    "captured",
    "fields_of",
    "fields_of_sets",
    "from_state",
    "put_back",
    "reduced",
    "require",
    "require_codes",
    "sets_in",
    "without_defaults",
]

LARGEST_COUNT = 2**53  # of samples or batches in a stream: doubles tell them apart
# Of a sample: squares of targets and sums of weights must stay finite.
LARGEST_TARGET = 1e150
LARGEST_WEIGHT = 1e100
# The least number of full precision: what is divided by a fainter one overflows.
FAINTEST_WEIGHT = sys.float_info.min
LARGEST_FLOAT = sys.float_info.max
SMALLEST = 5e-324  # positive number
LARGEST_CODE = 2**52 - 1  # of a nominal value
FINITE = {"least": -LARGEST_FLOAT, "most": LARGEST_FLOAT}  # floats of an array

Table = Mapping[str, tuple[Any, ...]]
Part = TypeVar("Part")
Set = tuple[NDArray[np.float64], int, tuple[float, float], int]


class StateError(ValueError):
    """A state that no object can have."""


def require(condition: object, problem: str) -> None:
    """Raise a StateError unless the condition holds."""
    if not condition:
        raise StateError(problem)


def from_state(kind: Any, values: dict[str, Any]) -> Any:
    """An object of a core class from its state: a function that every kind of pickle can name."""
    return kind.restored(values)


def reduced(kind: Any, values: dict[str, Any]) -> tuple[Any, ...]:
    """What a pickle holds of a core object: its class, and its state."""
    return from_state, (kind, values)


def fields_of(part: Any, table: Table, views: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a table names: those in `views`, arrays as copies, or the attributes."""
    fields = {name: views[name] if name in views else getattr(part, name) for name in table}
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in fields.items()
    }


def put_back(views: Mapping[str, NDArray[Any]], fields: Mapping[str, Any]) -> None:
    """Copy arrays of a state into the memory that views of the same names show.

    The shapes must be equal: numpy would repeat a shorter array.
    """
    for name, view in views.items():
        require(
            view.shape == fields[name].shape,
            f"{name} must have the shape {view.shape}, not {fields[name].shape}",
        )
        view[...] = fields[name]


def without_defaults(values: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a state that differ from the defaults of their class."""
    return {
        name: value
        for name, value in values.items()
        if name not in defaults or not is_same(value, defaults[name])
    }


def is_same(value: Any, default: Any) -> bool:
    """Whether a field has its default: the same type and, of an array, the same shape."""
    if type(value) is not type(default):
        return False
    if not isinstance(value, np.ndarray):
        return bool(value == default)
    return value.shape == default.shape and value.tobytes() == default.tobytes()


def require_codes(
    owner: str,
    codes: Sequence[Any],
    columns: Iterable[tuple[int, NDArray[np.float64]]],
    targets: NDArray[np.float64],
    n_labels: int | None,
) -> None:
    """Raise a StateError for samples without a known label, and for numbers that are no codes.

    Growth counts samples by the codes of their labels, so others would be outside of its arrays.

    Parameters
    ----------
    owner
        Name of the class that has the samples.
    codes
        Per column of the schema: None if it is numeric.
    columns
        (Number of a column, its values); NaN is missing.
    targets
        The targets of the samples.
    n_labels
        Number of labels; None if targets are numbers.
    """
    require(
        n_labels is None or are_codes(targets, 0, n_labels),
        f"{owner}: a sample has no known label",
    )
    for column, values in columns:
        require(
            codes[column] is None or are_codes(values[~np.isnan(values)], 0, LARGEST_CODE + 1),
            f"{owner}: a number is the code of no nominal value",
        )


def are_codes(values: NDArray[np.float64], least: int, n: int) -> bool:
    """Whether all values are whole numbers from `least` to n - 1."""
    return bool(np.all((values >= least) & (values < n) & (values == np.floor(values))))


def fields_of_sets(sets: Sequence[Set]) -> dict[str, NDArray[Any]]:
    """Sets of values as fields of a state.

    Of each: its codes, whether other values go left, its prior and its border, and its label.
    """
    return {
        "set_codes": np.concatenate([np.empty(0), *[codes for codes, *_ in sets]]),
        "set_sizes": np.array([len(codes) for codes, *_ in sets], np.int32),
        "set_others": np.array([others for _, others, *_ in sets], np.uint8),
        "set_borders": np.array([borders for *_, borders, _ in sets], float).reshape(-1, 2),
        "set_labels": np.array([label for *_, label in sets], np.int32),
    }


def sets_in(fields: Mapping[str, Any], owner: str, n_labels: int) -> list[Set]:
    """The sets of values in the fields of a state; the codes of each must ascend."""
    codes, sizes = fields["set_codes"], fields["set_sizes"]
    require(
        np.all(sizes >= 0)
        and np.sum(sizes, dtype=np.int64) == len(codes)
        and are_codes(codes, 0, LARGEST_CODE + 1),
        f"{owner}: a set of values holds what is no code",
    )
    found = np.split(codes, np.cumsum(sizes)[:-1]) if len(sizes) else []
    require(
        all(np.all(np.diff(each) > 0.0) for each in found),
        f"{owner}: the values of a set do not ascend",
    )
    others, labels = fields["set_others"], fields["set_labels"]
    require(
        len(found) == len(others) == len(fields["set_borders"]) == len(labels),
        f"{owner}: a set of values is missing",
    )
    require(np.all(labels < n_labels), f"{owner}: a set of values has an unknown label")
    borders = map(tuple, fields["set_borders"].tolist())
    return list(zip(found, others.tolist(), borders, labels.tolist(), strict=True))


class Captured:
    """A core object as it was at one moment: its class and its state."""

    __slots__ = ("kind", "values")

    def __init__(self, kind: Any, values: dict[str, Any]) -> None:
        self.kind, self.values = kind, values

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced(self.kind, self.values)


def captured(
    fields: dict[str, Any], defaults: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """The fields of a core object that differ from their defaults, and the states of its parts.

    All states are taken at once. So a pickle or a model file is consistent, even if the object
    learns while the file is written.
    """

    def capture(value: Any) -> Any:
        is_core = hasattr(type(value), "restored")
        return Captured(type(value), captured(value.state())) if is_core else value

    return {
        name: [capture(item) for item in value] if type(value) is list else capture(value)
        for name, value in without_defaults(fields, defaults).items()
    }


def restore(value: Any) -> Any:
    """The core object that was captured; any other value as it is."""
    return value.kind.restored(value.values) if type(value) is Captured else value


class State:
    """A state from a source that is not trusted: each getter checks the type and the range.

    Parameters
    ----------
    owner
        Name of the class whose state it is, for the messages.
    values
        The state.
    names
        The names that it must have, all of them and no others.
    defaults
        The values of those that may be left out.
    """

    def __init__(
        self,
        owner: str,
        values: Any,
        names: Collection[str],
        defaults: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        require(isinstance(values, dict), f"the state of {owner} is no dict")
        wrong = {**defaults, **values}.keys() ^ set(names)
        require(
            not wrong,
            f"the state of {owner} has unexpected or missing fields: {wrong}; maybe an earlier "
            "version saved it",
        )
        self.owner = owner
        self.values = {**defaults, **values}
        self.lengths: dict[str, int] = {}

    def refuse(self, name: str, wanted: str) -> None:
        """Raise the StateError that says what a value should be."""
        raise StateError(f"{self.owner}: {name} must be {wanted}")

    def whole(self, name: str, least: int = 0, most: int = LARGEST_COUNT) -> int:
        """A whole number from `least` to `most`."""
        value = self.values[name]
        if type(value) is not int or not least <= value <= most:
            self.refuse(name, f"a whole number from {least} to {most}")
        return int(value)

    def number(self, name: str, least: float = -math.inf, most: float = math.inf) -> float:
        """A float from `least` to `most`; not NaN."""
        value = self.values[name]
        if type(value) is not float or not least <= value <= most:
            self.refuse(name, f"a float from {least} to {most}")
        return float(value)

    def number_or(
        self, name: str, words: Collection[str | None], least: float, most: float
    ) -> float | str | None:
        """A float from `least` to `most`, or one of the given words."""
        value = self.values[name]
        if (value is None or type(value) is str) and value in words:
            return value
        return self.number(name, least, most)

    def max_features(self, name: str) -> float | str | None:
        """A number of features, a share of them, a rule, or None."""
        if type(self.values[name]) is int:
            return self.whole(name, 1, 2**31 - 1)
        return self.number_or(name, (None, "sqrt", "log2"), SMALLEST, 1.0)

    def real(self, name: str, least: float, most: float) -> Any:
        """A real number of any type, from `least` to `most`; its type does not change."""
        value = self.values[name]
        try:
            fits = isinstance(value, numbers.Real) and least <= float(value) <= most
        except OverflowError:  # a whole number larger than any float
            fits = False
        if not fits:
            self.refuse(name, f"a number from {least} to {most}")
        return value

    def value(self, name: str) -> Any:
        """Any value; its user checks it."""
        return self.values[name]

    def flag(self, name: str) -> bool:
        """True or False."""
        if type(self.values[name]) is not bool:
            self.refuse(name, "True or False")
        return bool(self.values[name])

    def word(self, name: str, words: Collection[str]) -> str:
        """One of the given strings."""
        value = self.values[name]
        if type(value) is not str or value not in words:
            self.refuse(name, f"one of {', '.join(words)}")
        return str(value)

    def read(self, table: Table, **lengths: int) -> dict[str, Any]:
        """The values that a table names, read by the getter and within the limits in the table.

        `lengths` are the known ones of those that the shapes of arrays name.
        """
        self.lengths.update(lengths)
        fields = {}
        for name, (getter, *limits) in table.items():
            named = limits.pop() if limits and type(limits[-1]) is dict else {}
            fields[name] = getattr(self, getter)(name, *limits, **named)
        return fields

    def items(self, name: str, length: int | None = None) -> list[Any]:
        """A list, of the given length if one is given."""
        value = self.values[name]
        if type(value) is not list or length not in (None, len(value)):
            self.refuse(name, "a list" if length is None else f"a list of {length}")
        return list(value)

    def part(self, name: str, kind: type[Part]) -> Part:
        """A core object of the given class."""
        value = restore(self.values[name])
        if type(value) is not kind:
            self.refuse(name, f"of type {kind.__name__}")
        return value

    def part_or_none(self, name: str, kind: type[Part]) -> Part | None:
        """A core object of the given class, or None."""
        return None if self.values[name] is None else self.part(name, kind)

    def parts(self, name: str, kind: type[Part], length: int | None = None) -> list[Part]:
        """A list of different core objects of the given class."""
        values = [restore(value) for value in self.items(name, length)]
        if any(type(value) is not kind for value in values) or len(
            {id(value) for value in values}
        ) < len(values):
            self.refuse(name, f"different objects of type {kind.__name__}")
        return values

    def array(self, name: str, dtype: Any, *shape: int | str | None) -> NDArray[Any]:
        """An array in C order of the given type and shape.

        None stands for any length, and a string for the length of this name: that which `read`
        was given, or which the first array has.
        """
        value = self.values[name]
        wanted = tuple(self.lengths.get(n) if isinstance(n, str) else n for n in shape)
        if (
            not isinstance(value, np.ndarray)
            or value.dtype.str != np.dtype(dtype).str  # types without memory seem to differ
            or value.ndim != len(shape)
            or any(n not in (None, m) for n, m in zip(wanted, value.shape, strict=True))
        ):
            self.refuse(name, f"an array of {np.dtype(dtype)} of shape {wanted}")
        for n, length in zip(shape, value.shape, strict=True):
            if isinstance(n, str):
                self.lengths[n] = length
        return np.ascontiguousarray(value)

    def numbers(
        self,
        name: str,
        *shape: int | str | None,
        least: float = -math.inf,
        most: float = math.inf,
    ) -> NDArray[np.float64]:
        """An array of floats from `least` to `most`; not NaN."""
        value = self.array(name, np.float64, *shape)
        if not np.all((value >= least) & (value <= most)):
            self.refuse(name, f"floats from {least} to {most}")
        return value

    def whole_numbers(
        self, name: str, dtype: Any, *shape: int | str | None, least: int = 0, most: int
    ) -> NDArray[Any]:
        """An array of whole numbers from `least` to `most`, such as indices."""
        value = self.array(name, dtype, *shape)
        if not np.all((value >= least) & (value <= most)):
            self.refuse(name, f"whole numbers from {least} to {most}")
        return value
