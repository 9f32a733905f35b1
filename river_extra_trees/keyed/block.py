"""Batches of samples with their keys, which can be sent to other processes."""

from __future__ import annotations

import typing
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.columns import Column
from river_extra_trees._core.table import Table

from .._estimator.columns import check_lengths, codes_of, labelled_table_of, table_of
from .._estimator.frames import Sample, is_one_weight, readable_frame, values_of, weights_of
from .._estimator.learner import reads_columns
from .._estimator.rows import rows_of, value_at, values_by_name
from .keys import PLAIN, Key, plain_key

__all__ = ["KeyedBlock"]

Rows = npt.NDArray[np.intp]


class KeyedBlock:
    """Consecutive samples of a stream with their keys.

    The features are stored as columns if the model learns columns and all values are valid, and
    otherwise as dicts. Columns of numbers are arrays, which pickle protocol 5 sends without a copy.

    Parameters
    ----------
    keys
        The distinct keys.
    codes
        Position in `keys` of the key of each sample.
    table
        Features, targets and weights as columns; `None` if the features are dicts.
    rows
        The features of each sample as a dict; `None` if there is a table.
    targets
        The target of each row, if there is no table; `None` if the block is for prediction only.
    weights
        The weight of each row, if there is no table; `None` stands for 1.

    Examples
    --------
    >>> import pandas as pd
    >>> import river_extra_trees as ret
    >>> from river_extra_trees.keyed import KeyedBlock
    >>> frame = pd.DataFrame({"x": [0.5, 1.5, 2.5]})
    >>> model = ret.StreamDecisionTreeRegressor(seed=42)
    >>> block = KeyedBlock.from_frame(model, ["a", "b", "a"], frame, [1.0, 5.0, 2.0])
    >>> len(block), block.keys
    (3, ['a', 'b'])
    >>> block.sample(1)
    ('b', {'x': 1.5}, 5.0, 1.0)
    >>> block.take([2]).sample(0)
    ('a', {'x': 2.5}, 2.0, 1.0)
    """

    def __init__(
        self,
        keys: list[Key],
        codes: Rows,
        table: Table | None = None,
        rows: list[Sample] | None = None,
        targets: list[typing.Any] | None = None,
        weights: list[float] | None = None,
    ) -> None:
        self.keys, self.codes, self.table = keys, codes, table
        self.rows, self.targets, self.weights = rows, targets, weights

    @classmethod
    def from_frame(
        cls,
        model: typing.Any,
        keys: typing.Any,
        X: typing.Any,
        y: typing.Any = None,
        w: typing.Any = 1.0,
    ) -> typing.Self:
        """Make a block of the rows of a data frame.

        Parameters
        ----------
        model
            The model that is cloned for each key. It determines how the frame is read.
        keys
            A series or another sequence with the key of each row.
        X
            A data frame of any library that narwhals supports, or a two-dimensional array.
        y
            A series or another sequence with the target of each row; `None` if the block is for
            prediction only.
        w
            One weight for all rows, or a series or another sequence with the weight of each row.

        Returns
        -------
        The block.

        Raises
        ------
        TypeError, ValueError
            If the lengths differ, or if a key is not a string, bytes or an integer.
        """
        distinct, codes = coded_keys(keys)
        frame = readable_frame(X)
        if len(frame) != len(codes):
            raise ValueError(f"X has {len(frame)} rows, and there are {len(codes)} keys")
        if reads_columns(model):
            table = (
                table_of(frame)
                if y is None
                else labelled_table_of(frame, y, w, model._core.regression)
            )
            if not table.is_refused():
                return cls(distinct, codes, table)
        targets, weights = None, None
        if y is not None:
            targets, weights = values_of(y, "y"), weights_of(w, len(frame))
            check_lengths(len(frame), len(targets), None if is_one_weight(w) else len(weights))
        rows: list[Sample] = list(rows_of(values_by_name(frame), len(frame)))
        return cls(distinct, codes, None, rows, targets, weights)

    @classmethod
    def from_samples(
        cls, keys: Sequence[typing.Any], samples: Sequence[tuple[Sample, typing.Any, float]]
    ) -> typing.Self:
        """Make a block of samples.

        Parameters
        ----------
        keys
            The key of each sample.
        samples
            The features, the target and the weight of each sample.

        Returns
        -------
        The block.
        """
        distinct, codes = coded_keys(keys)
        rows, targets, weights = map(list, zip(*samples, strict=True)) if samples else ([], [], [])
        return cls(distinct, codes, None, rows, targets, weights)

    def __len__(self) -> int:
        return len(self.codes)

    def check_learnable(self, model: typing.Any) -> None:
        """Raise an error unless a model can learn these samples.

        Parameters
        ----------
        model
            The model that is cloned for each key.

        Raises
        ------
        ValueError
            If there are no targets.
        TypeError
            If the block was made for another kind of models.
        """
        if (self.targets if self.table is None else self.table.targets) is None:
            raise ValueError("there are no targets to learn: y is None")
        if self.table is None or self.table.targets is None or not len(self):
            return
        if not reads_columns(model):
            raise TypeError(f"the samples are columns, which {type(model).__name__} does not read")
        if model._core.regression == (self.table.targets.codes is not None):
            kinds = (
                ("numbers", "labels") if self.table.targets.codes is None else ("labels", "numbers")
            )
            raise TypeError(
                f"the targets are {kinds[0]}, and {type(model).__name__} learns {kinds[1]}"
            )

    def take(self, rows: typing.Any) -> KeyedBlock:
        """Make a block of some of the samples.

        Parameters
        ----------
        rows
            Numbers of the samples, from 0, in the order of the new block.

        Returns
        -------
        The new block.
        """
        rows = np.asarray(rows, dtype=np.intp)
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        keys = [self.keys[code] for code in used.tolist()]
        if self.table is not None:
            return KeyedBlock(keys, codes, self.table.take(rows))
        numbers = rows.tolist()
        rest = (
            None if each is None else [each[i] for i in numbers]
            for each in (self.rows, self.targets, self.weights)
        )
        return KeyedBlock(keys, codes, None, *rest)

    def sample(self, row: int) -> tuple[Key, Sample, typing.Any, float]:
        """Return the key, features, target and weight of a sample.

        Parameters
        ----------
        row
            Number of the sample, from 0.

        Returns
        -------
        The four values. Without targets, the target is `None`.
        """
        key = self.keys[self.codes[row]]
        if self.table is None:
            x = typing.cast(list[Sample], self.rows)[row]
            y = None if self.targets is None else self.targets[row]
            return key, x, y, 1.0 if self.weights is None else self.weights[row]
        columns = {column.name: [value_at(column, row)] for column in self.table.columns}
        (x,) = rows_of(columns, 1)
        y = None if self.table.targets is None else value_at(self.table.targets, row)
        return key, x, y, 1.0 if self.table.weights is None else value_at(self.table.weights, row)

    def target(self, row: int) -> tuple[typing.Any, float]:
        """Return the target and the weight of a sample; the block must have a table with targets.

        Parameters
        ----------
        row
            Number of the sample, from 0.

        Returns
        -------
        The two values.
        """
        table = typing.cast(Table, self.table)
        y = value_at(typing.cast(Column, table.targets), row)
        return y, 1.0 if table.weights is None else value_at(table.weights, row)


def coded_keys(keys: typing.Any) -> tuple[list[Key], Rows]:
    """Distinct keys of a series, and the position of the key of each row among them."""
    found = codes_of(keys, "keys")
    if isinstance(found, tuple) and (found[0] >= 0).all():
        codes, plain = found[0], [plain_key(key) for key in found[1]]
        if len(set(plain)) == len(plain):  # a pyarrow dictionary may contain a value twice
            return plain, codes.astype(np.intp)
    known: dict[typing.Any, int] = {}
    given = found if isinstance(found, list) else values_of(keys, "keys")
    # Keys of other types may equal a plain key: True and 1, for example.
    values = [key if type(key) in PLAIN else plain_key(key) for key in given]
    codes = np.array([known.setdefault(key, len(known)) for key in values], dtype=np.intp)
    return list(known), codes
