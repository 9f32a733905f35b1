"""Data frames with a key for each row: their samples, and predictions of several models."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Iterator

import numpy as np

from .._estimator.answers import frame_of_shares, series_of_codes, series_of_numbers
from .._estimator.columns import check_lengths
from .._estimator.frames import (
    Sample,
    is_one_weight,
    opened,
    readable_frame,
    values_of,
    weights_of,
)
from .._estimator.rows import rows_of, values_by_name
from .keys import Key, plain_key

__all__ = [
    "frame_of_probabilities",
    "keyed_rows",
    "keys_of",
    "labelled_rows",
    "series_of_predictions",
    "targets_of",
]


def keys_of(keys: typing.Any, n: int) -> list[Key]:
    """Return the keys of the n rows of a data frame.

    Raises
    ------
    TypeError, ValueError
        If there are not n keys, or if a key is not a string, bytes or an integer.
    """
    plain = [plain_key(key) for key in values_of(keys, "keys")]
    if len(plain) != n:
        raise ValueError(f"X has {n} rows, and there are {len(plain)} keys")
    return plain


def targets_of(y: typing.Any, w: typing.Any, n: int) -> tuple[list[typing.Any], list[typing.Any]]:
    """Return the targets and the weights of the n rows of a data frame.

    Raises
    ------
    TypeError, ValueError
        If there are not n targets, or neither one weight nor n.
    """
    targets, weights = values_of(y, "y"), weights_of(w, n)
    check_lengths(n, len(targets), None if is_one_weight(w) else len(weights))
    return targets, weights


def keyed_rows(keys: typing.Any, X: typing.Any) -> Iterator[tuple[Key, Sample]]:
    """Return the key and the features of each row; see `KeyedModels.predict_many`."""
    frame = readable_frame(X)
    plain = keys_of(keys, len(frame))
    return zip(plain, rows_of(values_by_name(frame), len(plain)), strict=True)


def labelled_rows(
    keys: typing.Any, X: typing.Any, y: typing.Any, w: typing.Any
) -> Iterator[tuple[Key, Sample, typing.Any, float]]:
    """Return key, features, target and weight of each row; see `KeyedModels.learn_many`."""
    frame = readable_frame(X)
    plain, n = keys_of(keys, len(frame)), len(frame)
    return zip(plain, rows_of(values_by_name(frame), n), *targets_of(y, w, n), strict=True)


def series_of_predictions(predictions: list[typing.Any], X: typing.Any) -> typing.Any:
    """Make a series of the library of a frame from predictions; `None` becomes missing.

    Parameters
    ----------
    predictions
        The prediction for each row.
    X
        The frame.
    """
    frame = readable_frame(X)
    if all(type(each) in (float, type(None)) for each in predictions):
        library = opened(frame)[1]
        if None in predictions and library in ("polars", "pyarrow"):  # these have null
            import narwhals

            dtype, backend = narwhals.Float64(), typing.cast(typing.Any, library)
            return narwhals.new_series(
                "prediction", predictions, dtype, backend=backend
            ).to_native()
        return series_of_numbers(np.array(predictions, dtype=float), frame)  # None becomes NaN
    # Equal labels of different types, such as 1 and True, are different predictions.
    labels: dict[tuple[type, typing.Any], int] = {}
    codes = [
        -1 if each is None else labels.setdefault((type(each), each), len(labels))
        for each in predictions
    ]
    return series_of_codes(np.array(codes, dtype=np.intp), [label for _, label in labels], frame)


def frame_of_probabilities(predictions: list[dict[Hashable, float]], X: typing.Any) -> typing.Any:
    """Make a frame of the library of X from probabilities; those of unknown labels become NaN.

    Parameters
    ----------
    predictions
        The probabilities for each row.
    X
        The frame.
    """
    labels = list(dict.fromkeys(label for prediction in predictions for label in prediction))
    shares = [[prediction.get(label, np.nan) for label in labels] for prediction in predictions]
    array = np.array(shares, dtype=float).reshape(len(predictions), len(labels))
    return frame_of_shares(array, labels, readable_frame(X))
