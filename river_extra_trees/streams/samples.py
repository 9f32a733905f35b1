"""Conversion of batches of a table to tables of the core, which learners read."""

from __future__ import annotations

from typing import Any

import numpy as np

from river_extra_trees._core.columns import Column, column_of_numbers, column_of_values
from river_extra_trees._core.table import Table
from river_extra_trees._estimator.columns import column_of

from .batch import Batch
from .values import Cells

__all__ = ["samples_of"]


def samples_of(batch: Batch, targets: Column | None = None) -> Table:
    """Return the rows of a batch of a table as a table of the core.

    Parameters
    ----------
    batch
        Rows of a table.
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
    columns = [column_of_cells(name, cells) for name, cells in batch.columns.items()]
    return Table(len(batch), columns, targets)


def column_of_cells(name: str, cells: Cells) -> Column:
    """Return the values of one column of a table as a column of the core."""
    if isinstance(cells, np.ndarray):
        return column_of_numbers(name, cells)
    if isinstance(cells, list):
        return column_of_values(name, cells)
    return column_of(name, chunked(cells))


def chunked(cells: Any) -> Any:
    """Return an array of pyarrow as the columns of tables hold it."""
    import pyarrow

    return pyarrow.chunked_array([cells])
