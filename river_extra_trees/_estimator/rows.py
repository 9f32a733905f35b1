"""Conversion of columns to rows, values, labels and probabilities."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.columns import Column

from .frames import columns_in, values_of

__all__ = [
    "labels_of_codes",
    "probabilities_of",
    "rows_of",
    "value_at",
    "values_by_name",
]

Values = list[typing.Any]
Name = typing.TypeVar("Name", bound=Hashable)

# What comparisons of a value with itself raise: of arrays, or of signalling NaN of `decimal`.
INCOMPARABLE = (TypeError, ValueError, ArithmeticError)


# --- Frames


def rows_of(columns: Mapping[Name, Values], n: int) -> Iterator[dict[Name, typing.Any]]:
    """The n rows of some columns as dicts, without their missing values.

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
    """Values with `None` in the place of NaN, and of NaT and NA of pandas."""
    try:
        return [value if value == value else None for value in values]
    except INCOMPARABLE:  # a comparison with NA has no truth value, nor has one of arrays
        return [None if is_missing(value) else value for value in values]


def is_missing(value: typing.Any) -> bool:
    """Whether a value is not equal to itself; values that cannot be compared are not missing."""
    try:
        differs = value != value
        if not isinstance(differs, bool) and differs is value:
            return True  # a comparison with NA returns NA
        return bool(differs)
    except INCOMPARABLE:
        return False


def values_by_name(frame: typing.Any) -> dict[Hashable, Values]:
    """Columns of a frame or an array by name, as lists of Python values."""
    return {name: values_of(each, "a column") for name, each in columns_in(frame)}


# --- Columns of the core


def value_at(column: Column, row: int) -> typing.Any:
    """One value of a column: a number, a nominal value, a label, or `None` if missing."""
    if column.codes is not None and column.codes[row] >= 0:
        return column.values[column.codes[row]]
    if column.numbers is None:
        return None
    number = float(column.numbers[row])
    return number if number == number else None


# --- Answers


def labels_of_codes(codes: npt.NDArray[typing.Any], labels: Values) -> Values:
    """Labels by their codes; `None` for -1."""
    return list(map([*labels, None].__getitem__, codes.tolist()))  # -1 is the index of None


def probabilities_of(
    shares: npt.NDArray[np.float64], labels: Values
) -> list[dict[Hashable, float]]:
    """Probabilities by label for each row, without labels that were unknown at that row."""
    labels = labels[: shares.shape[1]]
    shares = shares[:, : len(labels)]
    if not (shares != shares).any():
        return [dict(zip(labels, row, strict=True)) for row in shares.tolist()]
    return [
        {label: share for label, share in zip(labels, row, strict=True) if share == share}
        for row in shares.tolist()
    ]
