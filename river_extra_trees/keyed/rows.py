"""Data frames with a key for each row: their samples, and predictions of several models."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Iterator
from itertools import compress

import numpy as np

from .._estimator.frames import (
    Sample,
    is_one_weight,
    opened,
    readable_frame,
    values_of,
    weights_of,
)
from .._estimator.predictions import frame_of_shares, series_of_codes, series_of_numbers
from .._estimator.rows import rows_of, values_by_name
from .._estimator.tables import check_lengths
from .keys import Key, plain_key

__all__ = ["Rows", "frame_of_probabilities", "labelled_rows", "rows_in", "series_of_predictions"]


class Rows(typing.NamedTuple):
    """Rows of a data frame, as lists of Python values.

    Attributes
    ----------
    keys
        Their keys.
    columns
        Their features, a list for each name.
    y, w
        Their targets and weights; empty for a prediction.
    """

    keys: list[Key]
    columns: dict[Hashable, list[typing.Any]]
    y: list[typing.Any]
    w: list[typing.Any]

    def samples(self) -> Iterator[tuple[Key, Sample]]:
        """Return the key and the features of each row."""
        return zip(self.keys, rows_of(self.columns, len(self.keys)), strict=True)

    def take(self, mask: list[bool]) -> Rows:
        """Return the rows for which a mask is true."""
        columns = {name: list(compress(each, mask)) for name, each in self.columns.items()}
        keys, y, w = (list(compress(each, mask)) for each in (self.keys, self.y, self.w))
        return Rows(keys, columns, y, w)


def rows_in(keys: typing.Any, X: typing.Any) -> Rows:
    """Return the rows of a data frame; see `KeyedMethods.predict_many`.

    Raises
    ------
    TypeError, ValueError
        If there is not a key for each row, or if a key is not a string, bytes or an integer.
    """
    frame = readable_frame(X)
    plain = [plain_key(key) for key in values_of(keys, "keys")]
    if len(plain) != len(frame):
        raise ValueError(f"X has {len(frame)} rows, and there are {len(plain)} keys")
    return Rows(plain, values_by_name(frame), [], [])


def labelled_rows(keys: typing.Any, X: typing.Any, y: typing.Any, w: typing.Any) -> Rows:
    """Return the rows of a data frame with targets and weights; see `KeyedMethods.learn_many`.

    Raises
    ------
    TypeError, ValueError
        As `rows_in`, or if there is not a target for each row, or neither one weight nor one for
        each row.
    """
    rows = rows_in(keys, X)
    n = len(rows.keys)
    targets, weights = values_of(y, "y"), weights_of(w, n)
    check_lengths(n, len(targets), None if is_one_weight(w) else len(weights))
    return rows._replace(y=targets, w=weights)


def series_of_predictions(predictions: list[typing.Any], X: typing.Any) -> typing.Any:
    """Make a series of the library of the frame X from predictions; `None` becomes missing."""
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
    """Make a frame of the library of X from probabilities; those of unknown labels become NaN."""
    labels = list(dict.fromkeys(label for prediction in predictions for label in prediction))
    shares = [[prediction.get(label, np.nan) for label in labels] for prediction in predictions]
    array = np.array(shares, dtype=float).reshape(len(predictions), len(labels))
    return frame_of_shares(array, labels, readable_frame(X))
