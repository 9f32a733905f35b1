"""Chunks of samples, from frames, pairs of frames and targets, and tables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from river_extra_trees._core.safe_repr import with_text
from river_extra_trees._estimator.columns import check_lengths, labelled_table_of
from river_extra_trees._estimator.frames import (
    is_array,
    library_of,
    names_in,
    opened,
    readable_frame,
    series_in,
    values_of,
    weights_of,
)
from river_extra_trees._estimator.refusals import refuse_lazy
from river_extra_trees._estimator.rows import (
    labels_of_codes,
    probabilities_of,
    rows_of,
    values_by_name,
)
from river_extra_trees.streams import Batch

__all__ = ["SMALLEST_CHUNK", "Chunk", "chunks_of"]

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
    numbers
        The number of each row in its frame or table.
    of_table
        Whether the rows are those of a table.

    """

    frame: Any
    targets: list[Any]
    weights: list[Any] | None = None
    numbers: Sequence[int] | None = None
    of_table: bool = False

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, rows: slice) -> Chunk:
        """Return some successive rows."""
        native, library = opened(self.frame)
        start, stop, _ = rows.indices(len(self))
        if library == "pyarrow":
            native = native.slice(start, stop - start)
        else:
            native = native.iloc[rows] if library == "pandas" else native[rows]
        numbers = range(len(self)) if self.numbers is None else self.numbers
        weights = None if self.weights is None else self.weights[rows]
        return Chunk(native, self.targets[rows], weights, numbers[rows], self.of_table)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield each sample in river's form: features, target, and the weight if there are weights.

        Missing values are absent.
        """
        features = rows_of(values_by_name(self.frame), len(self))
        if self.weights is None:
            return zip(features, self.targets, strict=True)
        weights = ({"w": weight} for weight in self.weights)
        return zip(features, self.targets, weights, strict=True)

    def predicted_and_learned(self, model: Any, *, probabilities: bool = False) -> list[Any]:
        """Let a model of this package predict each sample and then learn it.

        Returns
        -------
        The predictions, or the probabilities as `predict_proba_one` returns them.

        Raises
        ------
        ValueError, TypeError
            If a sample is invalid; nothing is learned then. The message names the row.
        """
        core = model._core
        weights = 1.0 if self.weights is None else self.weights
        try:
            table = labelled_table_of(self.frame, self.targets, weights, core.regression)
            reader = core.reader(table, learns=True)
            core.ask(reader, probabilities)
            model._read_rows(reader)
        except (TypeError, ValueError) as error:
            raise self._with_number(error) from None
        if reader.numbers is not None:
            numbers: list[Any] = reader.numbers.tolist()
            return numbers
        labels = core.labels.labels
        if reader.shares is not None:
            return probabilities_of(reader.shares, labels)
        return labels_of_codes(reader.labels, labels)

    def _with_number(self, error: Exception) -> Exception:
        """Return an error with the number of the row in its frame or table."""
        found = re.match(r"row (\d+):", str(error))
        if found is None or self.numbers is None:
            return error
        row = f"row {self.numbers[int(found[1])]}{' of the table' if self.of_table else ''}"
        return with_text(error, f"{row}:{str(error)[found.end() :]}")


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
    if _is_frame(dataset) or (isinstance(dataset, tuple) and dataset and _is_frame(dataset[0])):
        return iter([_chunk(dataset, target, weight)])
    if isinstance(dataset, str | bytes | Mapping):
        raise _refused(dataset)
    try:
        items = iter(dataset)
    except TypeError:
        raise _refused(dataset) from None
    first = next(items, None)
    if first is None:
        return iter([])
    items = itertools.chain([first], items)
    if isinstance(first, tuple | list) and first and isinstance(first[0], Mapping):
        return items
    return (_chunk(item, target, weight) for item in items)


def _chunk(item: Any, target: str | None, weight: str | None) -> Chunk:
    """Return a frame, a pair, a triple or a batch of a table as a chunk."""
    if isinstance(item, Batch):
        if item.targets is None:
            raise ValueError("the table is read without targets: open it with target=...")
        return Chunk(item.frame, item.targets, item.weights, item.numbers, of_table=True)
    is_labelled = isinstance(item, tuple | list) and len(item) in (2, 3)
    refuse_lazy(item[0] if is_labelled else item)
    weights = None
    if is_labelled and _is_frame(item[0]):
        frame, y = readable_frame(item[0]), item[1]
        if len(item) == 3:
            weights = weights_of(item[2], len(frame))
    elif _is_frame(item) and not is_array(item):
        frame = readable_frame(item)
        if weight is not None:
            values, frame = _split(frame, weight)
            weights = weights_of(values, len(frame))
        if target is None:
            raise ValueError("name the column of the targets: target=...")
        y, frame = _split(frame, target)
    else:
        raise _refused(item)
    values = y.tolist() if is_array(y, 1) else values_of(y, "y")
    targets = [y.item() if isinstance(y, np.generic) else y for y in values]
    check_lengths(len(frame), len(targets), None if weights is None else len(weights))
    return Chunk(frame, targets, weights)


def _is_frame(value: object) -> bool:
    """Return whether a value is a data frame, a record batch of pyarrow, or an array."""
    if library_of(value):
        return True
    from narwhals import dependencies

    kind = type(value)
    is_record_batch = kind.__name__ == "RecordBatch" and kind.__module__.startswith("pyarrow")
    return dependencies.is_into_dataframe(value) or is_record_batch


def _split(frame: Any, name: str) -> tuple[Any, Any]:
    """Return a column of a frame, and the frame without it."""
    names = names_in(frame)
    if name not in names:
        raise ValueError(f"no column {name!r}; the frame has {', '.join(map(str, names))}")
    native, library = opened(frame)
    if library == "pyarrow":
        rest = native.select([other for other in names if other != name])
    else:
        rest = native.drop(columns=[name]) if library == "pandas" else native.drop(name)
    return series_in(frame, names.index(name)), rest


def _refused(item: object) -> TypeError:
    """Return the error that says what data to pass instead."""
    return TypeError(
        f"cannot evaluate on {type(item).__name__!r}: pass a frame, frames, pairs (X, y) of frame "
        "and targets, or a table opened by river_extra_trees.streams.open_table"
    )
