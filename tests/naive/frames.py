"""What a frame means to a learner: its rows as dicts, learned and answered one after the other."""

import copy
from typing import Any

import narwhals
import numpy as np
import pyarrow as pa

Row = dict[Any, Any]


def values_of(series: Any, n: int = 0) -> list[Any]:
    """A series of any kind as a list, or one value for all n rows."""
    if isinstance(series, pa.Array):
        return series.to_pylist()
    wrapped = narwhals.from_native(series, allow_series=True, pass_through=True)
    if isinstance(wrapped, narwhals.Series):
        return wrapped.to_list()
    return list(series) if hasattr(series, "__len__") else [series] * n


def rows_of(X: Any) -> list[Row]:
    """The rows of a frame of any kind; the columns of an array are numbered."""
    if isinstance(X, np.ndarray):
        return [dict(enumerate(row)) for row in X.tolist()]
    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    frame = narwhals.from_native(X, eager_only=True)
    columns = {name: frame[:, i].to_list() for i, name in enumerate(frame.columns)}
    return [{name: column[i] for name, column in columns.items()} for i in range(len(frame))]


def learn_many(model: Any, X: Any, y: Any, w: Any = 1.0) -> tuple[list[Any], list[Any]]:
    """Answer and learn each row; if one is refused, say which, and learn none.

    Returns the answers before each row: predictions, and probabilities of a classifier.
    """
    rows = rows_of(X)
    samples = list(zip(rows, values_of(y), values_of(w, len(rows)), strict=True))
    trial = copy.deepcopy(model)
    for i, (x, target, weight) in enumerate(samples):
        try:
            trial.learn_one(x, target, w=weight)
        except (TypeError, ValueError) as error:
            raise type(error)(f"row {i}: {error}") from None
    answers, shares = [], []
    for x, target, weight in samples:
        answers.append(model.predict_one(x))
        if hasattr(model, "predict_proba_one"):
            shares.append(model.predict_proba_one(x))
        model.learn_one(x, target, w=weight)
    return answers, shares
