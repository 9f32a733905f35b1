"""Blocks of samples, which can be sent to other processes.

A block stores its samples as columns, which learners read. It is pickled as a few arrays, which
protocol 5 of pickle transfers without a copy. A learner learns the same, bit for bit, from a block
as from the samples of which it was made.
"""

from __future__ import annotations

import itertools
import typing
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.columns import Column, column_of_values
from river_extra_trees._core.table import Table

from .._estimator.columns import read_targets, read_weights, table_of
from .._estimator.frames import Sample, is_array, readable_frame, values_of, weights_of

__all__ = ["Block", "check_sample"]

Numbers = npt.NDArray[np.float64]
Array = npt.NDArray[typing.Any]
Values = list[typing.Any]


def check_sample(x: object) -> None:
    """Raise the TypeError of the learners unless x is a mapping.

    Parameters
    ----------
    x
        The features of a sample.
    """
    if not isinstance(x, Mapping):
        raise TypeError(f"x must be a mapping of feature names to values, not {type(x).__name__!r}")


class Block:
    """Consecutive samples of a stream.

    Parameters
    ----------
    rows
        The features of each sample.
    targets
        The target of each sample; `None` if the block is for prediction only.
    weights
        The weight of each sample; `None` stands for 1.

    Examples
    --------
    >>> from river_extra_trees.distributed import Block
    >>> block = Block([{"a": 0.5, "b": "red"}, {"a": 1.5}], ["yes", "no"])
    >>> len(block)
    2
    >>> [column.name for column in block.columns]
    ['a', 'b']
    """

    n: int
    columns: list[Column]
    targets: Array | Values | None
    has_numpy_targets: bool  # whether labels have to stay numpy scalars
    weights: Numbers | Values | None
    _batches: dict[bool | None, Table]  # key: whether the targets are numbers; None: no targets

    def __init__(
        self,
        rows: Sequence[Sample],
        targets: Sequence[typing.Any] | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        for row in rows:
            check_sample(row)
        rows = [row if type(row) is dict else dict(row.items()) for row in rows]
        names = dict.fromkeys(itertools.chain.from_iterable(rows))
        self.n = len(rows)
        self.columns = [column_of_values(name, [row.get(name) for row in rows]) for name in names]
        self._take_targets(targets, weights)

    def _take_targets(self, targets: typing.Any, weights: typing.Any) -> None:
        self.targets = None if targets is None else compact(targets, "targets", self.n)
        self.has_numpy_targets = is_array(targets, 1) and self.targets is not None
        self.weights = None if weights is None else as_numbers(compact(weights, "weights", self.n))
        self._batches = {}

    @classmethod
    def from_frame(
        cls, frame: typing.Any, targets: typing.Any = None, weights: typing.Any = None
    ) -> Block:
        """Make a block from a data frame, with sequences of targets and weights.

        Parameters
        ----------
        frame
            A data frame of any library that narwhals supports, or a two-dimensional array.
        targets
            A sequence with the target of each row, or `None`.
        weights
            One weight for all rows, a sequence with the weight of each row, or `None` for 1.

        Returns
        -------
        The block.
        """
        frame = readable_frame(frame)
        batch = table_of(frame)
        block = cls.__new__(cls)
        block.n, block.columns = len(batch), batch.columns
        if weights is not None and not is_array(weights, 1):
            weights = weights_of(weights, block.n)
        block._take_targets(targets, weights)
        return block

    def __len__(self) -> int:
        return self.n

    def __reduce__(self) -> tuple[typing.Any, ...]:
        """Pickle numbers as one array, and codes as another one."""
        numbers = [each.numbers for each in self.columns if each.numbers is not None]
        codes = [each.codes for each in self.columns if each.codes is not None]
        plan = [
            (
                each.name,
                each.numbers is not None,
                each.codes is not None,
                each.values,
                each.refused,
                each.error,
            )
            for each in self.columns
        ]
        arrays = (
            np.array(numbers, np.float64).reshape(len(numbers), self.n),
            np.array(codes, np.intc).reshape(len(codes), self.n),
        )
        targets = (self.targets, self.has_numpy_targets)
        return unpacked, (self.n, plan, *arrays, *targets, self.weights)

    def batch(self, regression: bool | None = None) -> Table:
        """Return the samples as a table of the core.

        Parameters
        ----------
        regression
            Whether the targets are numbers instead of labels; `None` leaves them out.

        Returns
        -------
        The batch.
        """
        found = self._batches.get(regression)
        if found is None:
            targets = weights = None
            if regression is not None:
                if self.targets is None:
                    raise ValueError("this block has no targets to learn")
                targets = read_targets(self.targets if regression else self._labels(), regression)
                weights = None if self.weights is None else read_weights(self.weights, self.n)
            found = self._batches[regression] = Table(self.n, self.columns, targets, weights)
        return found

    def _labels(self) -> typing.Any:
        """Targets with their original types."""
        targets = typing.cast("Array | Values", self.targets)
        return list(targets) if self.has_numpy_targets else as_list(targets)


def unpacked(
    n: int,
    plan: list[tuple[typing.Any, ...]],
    numbers: Numbers,
    codes: npt.NDArray[np.intc],
    targets: Array | Values | None,
    has_numpy_targets: bool,
    weights: Numbers | Values | None,
) -> Block:
    """Make a block from its pickled parts."""
    block = Block.__new__(Block)
    next_numbers, next_codes = iter(numbers), iter(codes)
    block.n = n
    block.columns = [
        Column(
            name,
            n,
            next(next_numbers) if has_numbers else None,
            next(next_codes) if has_codes else None,
            *rest,
        )
        for name, has_numbers, has_codes, *rest in plan
    ]
    block.targets, block.has_numpy_targets = targets, has_numpy_targets
    block.weights, block._batches = weights, {}
    return block


def compact(given: typing.Any, name: str, n: int) -> Array | Values:
    """Convert targets or weights to an array if all n are floats, otherwise to a list."""
    is_compact = is_array(given, 1) and given.dtype.kind in "biuf"
    values = given.copy() if is_compact else values_of(given, name)
    if len(values) != n:
        raise ValueError(f"there are {n} rows and {len(values)} {name}")
    if is_compact or not all(type(each) is float for each in values):
        return values
    return np.array(values, dtype=float)


def as_numbers(weights: Array | Values) -> Numbers | Values:
    """Convert an array of weights to doubles; return a list unchanged."""
    return weights if isinstance(weights, list) else weights.astype(np.float64, copy=False)


def as_list(values: Array | Values) -> Values:
    """Values as a list of Python objects."""
    return values if isinstance(values, list) else values.tolist()
