"""The rows of each key as one table, which threads learn and predict side by side."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from river import base

from river_extra_trees._core.columns import column_of_values
from river_extra_trees._core.table import Table

from .._estimator.learner import TreeLearner
from .._estimator.rows import labels_of_codes, probabilities_of
from .._estimator.tables import read_targets, read_weights
from .keys import Key, Part
from .rows import Rows

__all__ = ["learn_table", "predict_table", "rows_by_key", "side_by_side"]

# A row in a table of its key costs less than a dict if the table has some 25 rows or more.
MOST_KEYS = 1 / 25  # largest number of keys per row

Found = typing.TypeVar("Found")


def rows_by_key(model: typing.Any, rows: Rows) -> list[Part] | None:
    """Return the numbers of the rows of each key, if their model can read them as tables.

    Only learners of this package read tables; they do so without Python's lock. A class derived
    from one may do more with a sample.
    """
    parts: dict[Key, list[int]] = {}
    package = type(model).__module__.partition(".")[0]
    if not isinstance(model, TreeLearner) or package != "river_extra_trees":
        return None
    for number, key in enumerate(rows.keys):
        parts.setdefault(key, []).append(number)
    return list(parts.items()) if 0 < len(parts) <= MOST_KEYS * len(rows.keys) else None


def side_by_side(
    task: Callable[[Part], Found], parts: list[Part], n_threads: int
) -> Iterable[tuple[Part, Found]]:
    """Do a task for each key, in several threads; return the parts with their results."""
    if n_threads == 1:
        return [(part, task(part)) for part in parts]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(zip(parts, pool.map(task, parts), strict=True))


def table_of_rows(rows: Rows, numbers: list[int], regression: bool | None = None) -> Table:
    """Return some rows as a table, with targets and weights if the kind of targets is given."""
    columns = [
        column_of_values(name, [values[i] for i in numbers])
        for name, values in rows.columns.items()
    ]
    if regression is None:
        return Table(len(numbers), columns)
    targets = read_targets([rows.y[i] for i in numbers], regression)
    weights = read_weights([rows.w[i] for i in numbers], len(numbers))
    return Table(len(numbers), columns, targets, weights)


def learn_table(
    model: TreeLearner, rows: Rows, numbers: list[int], predicts: bool
) -> list[typing.Any]:
    """Learn some rows; return the predictions made before each, `None` if not requested.

    Raises
    ------
    TypeError, ValueError
        If a row is invalid. Then nothing is learned.
    """
    core = model._core
    reader = core.reader(table_of_rows(rows, numbers, core.regression), learns=True)
    if predicts:
        core.ask(reader)
    model._read_rows(reader)
    return plain_predictions(model, reader) if predicts else [None] * len(numbers)


def predict_table(
    model: TreeLearner, rows: Rows, numbers: list[int], probabilities: bool
) -> list[typing.Any]:
    """Predict some rows.

    Raises
    ------
    TypeError, ValueError
        If a row is invalid.
    """
    reader = model._predicted(table_of_rows(rows, numbers), probabilities)
    if probabilities:
        return probabilities_of(reader.shares, reader.names)
    return plain_predictions(model, reader)


def plain_predictions(model: TreeLearner, reader: typing.Any) -> list[typing.Any]:
    """Return the predicted numbers or labels."""
    if isinstance(model, base.Classifier):
        return labels_of_codes(reader.labels, reader.names)
    return typing.cast(list[typing.Any], reader.numbers.tolist())
