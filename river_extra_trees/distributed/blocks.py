"""Blocks of samples, in the shape in which they travel between processes.

Numbers lie in one array, which pickle's protocol 5 transfers without a copy; other values are kept
as they are. A learner learns the same, bit for bit, from a block as from the samples it was made
of. (A feature that is absent from a sample may come out as a missing value.)
"""

from __future__ import annotations

import itertools
import typing
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .._estimator.columns import list_of_array
from .._estimator.frames import Sample, into_frame, is_array, values_of, weights_of

__all__ = ["Block", "check_sample"]

EXACT = 2**53  # doubles hold all whole numbers up to here
CHUNK = 64  # rows that are turned into dicts at a time

Numbers = npt.NDArray[np.float64]


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
        The target of each sample; `None` if the block is only to be predicted.
    weights
        The weight of each sample; `None` for 1.

    Examples
    --------
    >>> from river_extra_trees.distributed import Block
    >>> block = Block([{"a": 0.5, "b": "red"}, {"a": 1.5}], ["yes", "no"])
    >>> len(block)
    2
    >>> list(block.samples())
    [({'a': 0.5, 'b': 'red'}, 'yes', 1.0), ({'a': 1.5, 'b': None}, 'no', 1.0)]
    """

    def __init__(
        self,
        rows: Sequence[Sample],
        targets: Sequence[typing.Any] | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        for row in rows:
            check_sample(row)
        rows = [row if type(row) is dict else dict(row.items()) for row in rows]
        features = dict.fromkeys(itertools.chain.from_iterable(rows))
        self._fill(
            len(rows),
            {name: [row.get(name) for row in rows] for name in features},
            targets,
            weights,
        )

    def _fill(
        self,
        n: int,
        columns: dict[Hashable, typing.Any],
        targets: Sequence[typing.Any] | None,
        weights: Sequence[float] | None,
    ) -> None:
        self.n = n
        numbers = {name: as_numbers(column) for name, column in columns.items()}
        doubles = {name: column for name, column in numbers.items() if column is not None}
        self.others = [list(columns[name]) for name in columns if name not in doubles]
        self.names = [*doubles, *(name for name in columns if name not in doubles)]
        self.numbers: Numbers = np.empty((n, len(doubles)))
        for i, column in enumerate(doubles.values()):
            self.numbers[:, i] = column
        self.targets = None if targets is None else compact(targets, "targets", n)
        self.weights = None if weights is None else compact(weights, "weights", n)

    @classmethod
    def from_frame(
        cls, frame: typing.Any, targets: typing.Any = None, weights: typing.Any = None
    ) -> Block:
        """Make a block from a data frame, with sequences of targets and weights.

        Parameters
        ----------
        frame
            The rows.
        targets
            As many targets, or `None`.
        weights
            One weight for all rows, as many weights, or `None` for 1.
        """
        frame = into_frame(frame)
        block = cls.__new__(cls)
        block._fill(
            len(frame),
            columns_of(frame),
            targets,
            None if weights is None else weights_of(weights, len(frame)),
        )
        return block

    def __len__(self) -> int:
        return self.n

    def take(self, numbers: Sequence[int]) -> Block:
        """Make a block of some of the samples.

        Parameters
        ----------
        numbers
            The numbers of the samples, in the order wanted.
        """
        block = Block.__new__(Block)
        block.n, block.names = len(numbers), self.names
        block.numbers = self.numbers[numbers]
        block.others = [[column[i] for i in numbers] for column in self.others]
        block.targets = None if self.targets is None else chosen(self.targets, numbers)
        block.weights = None if self.weights is None else chosen(self.weights, numbers)
        return block

    def rows(self, start: int = 0) -> Iterator[dict[Hashable, typing.Any]]:
        """The features of the samples from a given one on.

        Parameters
        ----------
        start
            Number of the first sample.
        """
        for at in range(start, self.n, CHUNK):
            others = zip(*(column[at : at + CHUNK] for column in self.others), strict=True)
            numbers = self.numbers[at : at + CHUNK].tolist()
            for first, then in itertools.zip_longest(numbers, others, fillvalue=()):
                yield dict(zip(self.names, itertools.chain(first, then), strict=True))

    def samples(
        self, start: int = 0
    ) -> Iterator[tuple[dict[Hashable, typing.Any], typing.Any, float]]:
        """The samples from a given one on: features, target and weight.

        Parameters
        ----------
        start
            Number of the first sample.
        """
        if self.targets is None:
            raise ValueError("this block has no targets to learn")
        weights = itertools.repeat(1.0) if self.weights is None else values(self.weights, start)
        yield from zip(self.rows(start), values(self.targets, start), weights, strict=False)


def columns_of(frame: typing.Any) -> dict[Hashable, typing.Any]:
    """The columns of a frame, or of an array, by their names."""
    if is_array(frame):
        return {i: list_of_array(frame[:, i]) for i in range(frame.shape[1])}
    return {name: column_of(frame, i) for i, name in enumerate(frame.columns)}


def column_of(frame: typing.Any, number: int) -> Numbers | list[typing.Any]:
    """A column of a frame: an array if it holds doubles, else a list."""
    series = frame[:, number]
    if str(series.dtype) == "Float64":
        column: Numbers = series.to_numpy()
        return column
    values: list[typing.Any] = series.to_list()
    return values


def as_numbers(values: Numbers | list[typing.Any]) -> Numbers | None:
    """A column as doubles, NaN where missing; None if doubles do not hold all values exactly."""
    if isinstance(values, np.ndarray) or all(map(is_double, values)):
        return np.asarray(values, dtype=float)
    return None


def is_double(value: typing.Any) -> bool:
    """Whether a value is missing, or a number that a double holds exactly."""
    if type(value) in (float, np.float64, bool) or value is None:
        return True
    return type(value) is int and -EXACT <= value <= EXACT


def compact(given: typing.Any, name: str, n: int) -> Numbers | list[typing.Any]:
    """Targets or weights of n samples: floats as an array, anything else as a list."""
    values = values_of(given, name)
    if len(values) != n:
        raise ValueError(f"there are {n} rows and {len(values)} {name}")
    return np.array(values, dtype=float) if all(type(each) is float for each in values) else values


def values(column: Numbers | list[typing.Any], start: int) -> list[typing.Any]:
    """The entries of a column from a given one on, as plain Python values."""
    part = column[start:]
    return part if isinstance(part, list) else part.tolist()


def chosen(
    column: Numbers | list[typing.Any], numbers: Sequence[int]
) -> Numbers | list[typing.Any]:
    """Some entries of a column."""
    if isinstance(column, list):
        return [column[i] for i in numbers]
    return column[numbers]
