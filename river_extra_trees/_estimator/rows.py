"""Conversion of columns to rows, values, labels and probabilities."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from .frames import columns_in, values_of

__all__ = [
    "is_missing",
    "labels_of_codes",
    "objects",
    "probabilities_of",
    "rows_of",
    "values_by_name",
    "without_missing",
]

Values = list[typing.Any]
Name = typing.TypeVar("Name", bound=Hashable)

# What comparisons of a value with itself raise, such as arrays and signalling NaN of `decimal`.
INCOMPARABLE = (TypeError, ValueError, ArithmeticError)


# --- Frames


def rows_of(columns: Mapping[Name, Values], n: int) -> Iterator[dict[Name, typing.Any]]:
    """Yield the n rows of some columns as dicts, without missing values.

    Models of this package read columns, and do not need this conversion.

    Parameters
    ----------
    columns
        Python values by name, such as the result of `values_by_name`.
    n
        Number of rows.
    """
    if not columns:
        return ({} for _ in range(n))
    rows = zip(*map(without_missing, columns.values()), strict=True)
    return (
        {name: value for name, value in zip(columns, row, strict=True) if value is not None}
        for row in rows
    )


def without_missing(values: Values) -> Values:
    """Replace NaN, NaT and NA of pandas by `None`."""
    try:
        return [value if value == value else None for value in values]
    except INCOMPARABLE:  # a comparison with NA has no truth value, nor has one of arrays
        return [None if is_missing(value) else value for value in values]


def is_missing(value: typing.Any) -> bool:
    """Return whether a value differs from itself; values that cannot be compared do not."""
    try:
        differs = value != value
        if not isinstance(differs, bool) and differs is value:
            return True  # a comparison with NA returns NA
        return bool(differs)
    except INCOMPARABLE:
        return False


def values_by_name(frame: typing.Any) -> dict[Hashable, Values]:
    """Return the columns of a frame or an array by name, as lists of Python values."""
    return {name: values_of(each, "a column") for name, each in columns_in(frame)}


def objects(values: Values) -> npt.NDArray[np.object_]:
    """Return an array of these values, of which some may be tuples; None if one is missing."""
    return np.fromiter(without_missing(values), dtype=object, count=len(values))


# --- Answers


def labels_of_codes(codes: npt.NDArray[typing.Any], labels: Values) -> Values:
    """Return the labels of some codes; `None` for -1."""
    return list(map([*labels, None].__getitem__, codes.tolist()))  # -1 is the index of None


def probabilities_of(
    shares: npt.NDArray[np.float64], labels: Values
) -> list[dict[Hashable, float]]:
    """Return the probabilities of each row by label, without labels unknown at that row."""
    shares = shares[:, : len(labels)]
    if not (shares != shares).any():
        return [dict(zip(labels, row, strict=True)) for row in shares.tolist()]
    return [
        {label: share for label, share in zip(labels, row, strict=True) if share == share}
        for row in shares.tolist()
    ]
