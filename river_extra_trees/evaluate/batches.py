"""Batches of samples, from frames, pairs of frames and targets, and tables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from river_extra_trees._core.safe_repr import with_text
from river_extra_trees._estimator.frames import (
    columns_in,
    is_array,
    library_of,
    opened,
    readable_frame,
    values_of,
    weights_of,
)
from river_extra_trees._estimator.refusals import refuse_lazy
from river_extra_trees._estimator.rows import labels_of_codes, probabilities_of
from river_extra_trees._estimator.tables import check_lengths, labelled_table_of
from river_extra_trees.streams import Batch

__all__ = ["SMALLEST_BATCH", "batches_of", "predicted_and_learned", "samples_of"]

# Fewer rows than this are learned faster one by one than as columns.
SMALLEST_BATCH = 32


def samples_of(batch: Batch) -> Iterator[tuple[Any, ...]]:
    """Yield each sample in river's form: features, target, and the weight if there are weights.

    Missing values are absent.
    """
    targets = batch.targets or []
    if batch.weights is None:
        return zip(batch.rows(), targets, strict=True)
    return zip(batch.rows(), targets, ({"w": w} for w in batch.weights), strict=True)


def predicted_and_learned(model: Any, batch: Batch, *, probabilities: bool = False) -> list[Any]:
    """Predict each sample with a model of this package, then learn it.

    Returns
    -------
    The predictions, or the probabilities as `predict_proba_one` returns them.

    Raises
    ------
    ValueError, TypeError
        If a sample is invalid; nothing is learned then. The message names the row.
    """
    core = model._core
    weights = 1.0 if batch.weights is None else batch.weights
    try:
        table = labelled_table_of(batch.frame, batch.targets, weights, core.regression)
        reader = core.reader(table, learns=True)
        core.ask(reader, probabilities)
        model._read_rows(reader)
    except (TypeError, ValueError) as error:
        found = re.match(r"row (\d+):", str(error))
        if found is None:
            raise
        row = f"row {batch.numbers[int(found[1])]}:"
        raise with_text(error, row + str(error)[found.end() :]) from None
    if reader.numbers is not None:
        numbers: list[Any] = reader.numbers.tolist()
        return numbers
    if reader.shares is not None:
        return probabilities_of(reader.shares, reader.names)
    return labels_of_codes(reader.labels, reader.names)


def batches_of(dataset: Any, target: str | None, weight: str | None = None) -> Iterator[Any]:
    """Return the batches of a data set, or its samples if they come one by one.

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
        return iter([_batch(dataset, target, weight)])
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
    return (_batch(item, target, weight) for item in items)


def _batch(item: Any, target: str | None, weight: str | None) -> Batch:
    """Return a frame, a pair or a triple as a batch, whose rows are numbered from 0."""
    if isinstance(item, Batch):
        if item.targets is None:
            raise ValueError("the table is read without targets: open it with target=...")
        return item
    is_labelled = isinstance(item, tuple | list) and len(item) in (2, 3)
    refuse_lazy(item[0] if is_labelled else item)
    w = None
    if is_labelled and _is_frame(item[0]):
        frame, y = readable_frame(item[0]), item[1]
        w = item[2] if len(item) == 3 else None
    elif _is_frame(item) and not is_array(item):
        frame = readable_frame(item)
        if weight is not None:
            w, frame = _split(frame, weight)
        if target is None:
            raise ValueError("name the column of the targets: target=...")
        y, frame = _split(frame, target)
    else:
        raise _refused(item)
    weights = None if w is None else weights_of(w, len(frame))
    values = y.tolist() if is_array(y, 1) else values_of(y, "y")
    targets = [each.item() if isinstance(each, np.generic) else each for each in values]
    check_lengths(len(frame), len(targets), None if weights is None else len(weights))
    return Batch(range(len(frame)), frame, targets, weights)


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
    columns = dict(columns_in(frame))
    if name not in columns:
        raise ValueError(f"no column {name!r}; the frame has {', '.join(map(str, columns))}")
    native, library = opened(frame)
    if library == "pyarrow":
        rest = native.select([other for other in columns if other != name])
    else:
        rest = native.drop(columns=[name]) if library == "pandas" else native.drop(name)
    return columns[name], rest


def _refused(item: object) -> TypeError:
    """Return the error for data of an unknown form."""
    return TypeError(
        f"cannot evaluate on {type(item).__name__!r}: pass a frame, frames, pairs (X, y) of frame "
        "and targets, or a table opened by river_extra_trees.streams.open_table"
    )
