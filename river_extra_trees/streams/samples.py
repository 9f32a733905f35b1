"""Conversion of batches of a table to batches of the core, which learners read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from river_extra_trees._core.batch import Batch as Samples
from river_extra_trees._core.columns import Column, column_of_numbers, column_of_values
from river_extra_trees._estimator.columns import column_of

from .batch import Batch
from .values import Cells

if TYPE_CHECKING:
    from river_extra_trees._core.schema import Schema

__all__ = ["samples_of"]


def samples_of(
    batch: Batch, schema: Schema | None = None, targets: Column | None = None
) -> Samples:
    """Return the rows of a batch of a table as a batch of the core.

    Parameters
    ----------
    batch
        Rows of a table.
    schema
        The schema of the model that will read the rows; texts that it knows are not created again.
    targets
        The targets, if the rows are to be learned.

    Examples
    --------
    >>> import numpy as np
    >>> from river_extra_trees import streams
    >>> from river_extra_trees.streams.samples import samples_of
    >>> batch = streams.Batch([1, 2], {"size": np.array([1.0, 2.0]), "hue": ["red", None]}, None)
    >>> [column.name for column in samples_of(batch).columns]
    ['size', 'hue']

    """
    columns = [column_of_cells(name, cells, schema) for name, cells in batch.columns.items()]
    return Samples(len(batch), columns, targets)


def column_of_cells(name: str, cells: Cells, schema: Schema | None) -> Column:
    """Return the values of one column of a table as a column of the core."""
    if isinstance(cells, np.ndarray):
        return column_of_numbers(name, cells)
    if isinstance(cells, list):
        return column_of_values(name, cells)
    return column_of(name, chunked(cells), schema)


def chunked(cells: Any) -> Any:
    """Return an array of pyarrow as the columns of tables hold it."""
    import pyarrow

    return pyarrow.chunked_array([cells])
