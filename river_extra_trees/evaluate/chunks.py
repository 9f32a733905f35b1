"""Conversion of frames, pairs of frames and targets, and tables to chunks of samples."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from river_extra_trees._core.safe_repr import with_text
from river_extra_trees._core.table import Table
from river_extra_trees._estimator.columns import check_lengths, labelled_table_of
from river_extra_trees._estimator.frames import (
    is_array,
    library_of,
    names_in,
    readable_frame,
    series_in,
    values_of,
    weights_of,
)
from river_extra_trees._estimator.refusals import refuse_lazy
from river_extra_trees._estimator.rows import rows_of, values_by_name
from river_extra_trees.streams import Batch

__all__ = ["SMALLEST_CHUNK", "Chunk", "chunks_of", "samples_of_chunks"]

# Fewer rows than this are learned faster one by one than as columns.
SMALLEST_CHUNK = 32


@dataclass
class Chunk:
    """Samples in columns.

    Parameters
    ----------
    frame
        The features: a result of `readable_frame`.
    targets
        The target of each row.
    weights
        The weight of each row; None for weights of 1.
    given
        The targets as they were given, if learners read them faster and alike; or None.
    target
        Position of the column of the targets, if it is in the frame.
    numbers
        The number of each row, if the rows are of a table.

    """

    frame: Any
    targets: list[Any]
    weights: list[Any] | None = None
    given: Any = None
    target: int | None = None
    numbers: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self.targets)

    def samples(self, regression: bool) -> Table:
        """Return the samples as a table of the core."""
        targets = self.targets if self.given is None else self.given
        weights = 1.0 if self.weights is None else self.weights
        return labelled_table_of(self.frame, targets, weights, regression, self.target)

    def with_number(self, error: Exception) -> Exception:
        """Return an error with the number of the row in the table, if the chunk is from a table."""
        found = re.match(r"row (\d+):", str(error))
        if found is None or self.numbers is None:
            return error
        number = self.numbers[int(found[1])]
        return with_text(error, f"row {number} of the table:{str(error)[found.end() :]}")

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield each sample in river's form: features, target, and the weight if there are weights.

        Missing values are absent.
        """
        columns = values_by_name(self.frame)
        if self.target is not None:
            del columns[list(columns)[self.target]]
        features: Iterator[dict[Any, Any]] = rows_of(columns, len(self))
        if self.weights is None:
            return zip(features, self.targets, strict=True)
        weights = ({"w": weight} for weight in self.weights)
        return zip(features, self.targets, weights, strict=True)


def samples_of_chunks(chunks: Iterable[Chunk]) -> Iterator[tuple[Any, ...]]:
    """Yield the samples of chunks in river's form."""
    return itertools.chain.from_iterable(chunk.rows() for chunk in chunks)


def chunks_of(dataset: Any, target: str | None, weight: str | None = None) -> Iterator[Any]:
    """Return the chunks of a data set, or its samples if they come one by one.

    Parameters
    ----------
    dataset
        A frame, or a pair ``(X, y)``; an iterable of frames, of pairs ``(X, y)``, of triples
        ``(X, y, w)`` or of samples in river's form; or a table of `river_extra_trees.streams`.
    target
        The column of the targets, for frames.
    weight
        The column of the weights, for frames that have the targets in a column, too.
    """
    refuse_lazy(dataset)
    if is_frame(dataset) or (isinstance(dataset, tuple) and dataset and is_frame(dataset[0])):
        return iter([_chunk(dataset, target, weight)])
    if isinstance(dataset, str | bytes | Mapping):
        raise refused(dataset)
    try:
        items = iter(dataset)
    except TypeError:
        raise refused(dataset) from None
    first = next(items, None)
    if first is None:
        return iter([])
    items = itertools.chain([first], items)
    if isinstance(first, tuple | list) and first and isinstance(first[0], Mapping):
        return items
    return (_chunk(item, target, weight) for item in items)


def is_frame(value: object) -> bool:
    """Return whether a value is a data frame, a record batch of pyarrow, or an array."""
    if library_of(value):
        return True
    from narwhals import dependencies

    return dependencies.is_into_dataframe(value) or is_record_batch(value)


def refused(item: object) -> TypeError:
    """Return the error that says what data to give instead of these."""
    return TypeError(
        f"cannot evaluate on {type(item).__name__!r}: give a frame, frames, pairs (X, y) of frame "
        "and targets, or a table opened by river_extra_trees.streams.open_table"
    )


def plain(targets: Any) -> tuple[list[Any], Any]:
    """Return targets as a list of Python objects, without numpy scalars.

    The second result is the targets themselves, if they hold the same objects; or None.
    """
    if is_array(targets, 1) and targets.dtype.kind in "biuf":
        return targets.tolist(), None
    values = values_of(targets, "y")
    if any(issubclass(kind, np.generic) for kind in set(map(type, values))):
        return [value.item() if isinstance(value, np.generic) else value for value in values], None
    return values, targets


def is_record_batch(value: object) -> bool:
    """Return whether a value is a record batch of pyarrow."""
    kind = type(value)
    return kind.__name__ == "RecordBatch" and kind.__module__.startswith("pyarrow")


def _chunk(item: Any, target: str | None, weight: str | None) -> Chunk:
    """Return a frame, a pair, a triple or a batch of a table as a chunk."""
    if isinstance(item, Batch):
        if item.targets is None:
            raise ValueError("the table is read without targets: open it with target=...")
        return Chunk(item.frame, item.targets, item.weights, numbers=item.numbers)
    is_labelled = isinstance(item, tuple | list) and len(item) in (2, 3)
    refuse_lazy(item[0] if is_labelled else item)
    weights = position = None
    if is_labelled and is_frame(item[0]):
        frame = readable_frame(item[0])
        targets, given = plain(item[1])
        if len(item) == 3:
            weights = weights_of(item[2], len(frame))
    elif is_frame(item) and not is_array(item):
        frame = readable_frame(item)
        if weight is not None:
            weights = weights_of(series_in(frame, position_of(weight, frame)), len(frame))
            frame = without(weight, frame)
        position = position_of(target, frame)
        targets, given = plain(series_in(frame, position))
    else:
        raise refused(item)
    check_lengths(len(frame), len(targets), None if weights is None else len(weights))
    return Chunk(frame, targets, weights, given, position)


def without(name: str, frame: Any) -> Any:
    """Return a frame without a column."""
    import narwhals

    return readable_frame(narwhals.from_native(frame, pass_through=True).drop(name).to_native())


def position_of(target: str | None, frame: Any) -> int:
    """Return the position of the column of the targets in a frame."""
    if target is None:
        raise ValueError("name the column of the targets: target=...")
    names = names_in(frame)
    if target not in names:
        raise ValueError(f"no column {target!r}; the frame has {', '.join(map(str, names))}")
    return names.index(target)
