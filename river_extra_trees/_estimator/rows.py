"""Conversion of columns to rows, values, labels and probabilities."""

from __future__ import annotations

import typing
from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.columns import Column

from .columns import list_of_array
from .frames import Sample, into_frame, is_array

__all__ = [
    "chosen",
    "labels_of_codes",
    "probabilities_of",
    "rows_of",
    "value_at",
    "values_by_name",
    "values_of_column",
]

Rows = npt.NDArray[np.intp]
Values = list[typing.Any]


# --- Frames


def rows_of(frame: typing.Any) -> list[Sample]:
    """Rows of a result of `readable_frame` as dicts; missing values are `None` or NaN."""
    columns = values_by_name(frame)
    if not columns:
        return [{} for _ in range(len(frame))]
    names = list(columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def values_by_name(frame: typing.Any) -> dict[Hashable, Values]:
    """Columns of a frame or an array by name, as lists of Python values."""
    if is_array(frame):
        array = np.asarray(frame)  # a column of a matrix has two dimensions
        return {i: list_of_array(array[:, i]) for i in range(array.shape[1])}
    wrapped = into_frame(frame)
    return {name: wrapped[:, i].to_list() for i, name in enumerate(wrapped.columns)}


# --- Columns of the core


def chosen(column: Column, rows: Rows) -> Column:
    """Selected rows of a column without invalid values."""
    return Column(
        column.name,
        len(rows),
        None if column.numbers is None else column.numbers[rows],
        None if column.codes is None else column.codes[rows],
        column.values,
        are_distinct=column.are_distinct,
    )


def value_at(column: Column, row: int) -> typing.Any:
    """One value of a column: a number, a nominal value, a label, or `None` if missing."""
    if column.codes is not None and column.codes[row] >= 0:
        return column.values[column.codes[row]]
    if column.numbers is None:
        return None
    number = float(column.numbers[row])
    return number if number == number else None


def values_of_column(column: Column, part: slice) -> Values:
    """Values in a slice of a column; NaN or `None` where missing."""
    if column.codes is None:
        if column.numbers is None:
            return [None] * len(range(column.length)[part])
        numbers: Values = column.numbers[part].tolist()
        return numbers
    texts = labels_of_codes(column.codes[part], column.values)
    if column.numbers is None:
        return texts
    return [
        number if text is None and number == number else text
        for text, number in zip(texts, column.numbers[part].tolist(), strict=True)
    ]


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
