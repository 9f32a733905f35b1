"""The methods of one model per key, wherever the models are."""

from __future__ import annotations

import abc
import typing
from collections.abc import Hashable

from .._estimator.frames import Sample
from .keys import Key, plain_key
from .rows import Rows, frame_of_probabilities, labelled_rows, rows_in, series_of_predictions

if typing.TYPE_CHECKING:
    from .._estimator.frames import Frame, Series, Weights

__all__ = ["KeyedMethods"]


class KeyedMethods(abc.ABC):
    """Frames and keys, for `KeyedModels` and `DistributedKeyedModels`."""

    @abc.abstractmethod
    def _learn_rows(self, rows: Rows, predicts: bool) -> list[typing.Any]:
        """Learn rows; return the predictions made before, `None` if they are not requested."""

    @abc.abstractmethod
    def _predict_rows(self, rows: Rows, probabilities: bool) -> list[typing.Any]:
        """Predict rows."""

    @abc.abstractmethod
    def _call(self, method: str, key: Key, *arguments: typing.Any) -> typing.Any:
        """Call a method of the `KeyedModels` that has a key."""

    @abc.abstractmethod
    def close(self) -> None:
        """End the use of the models."""

    def learn_many(self, keys: Series, X: Frame, y: Series, w: Weights = 1.0) -> None:
        """Learn the rows of a data frame.

        The models are the same, bit for bit, as after `KeyedModels.learn_one` of each row in turn.

        Parameters
        ----------
        keys
            A series or another sequence with the key of each row.
        X
            A data frame of any library that narwhals supports (pandas, polars, pyarrow, ...), or a
            two-dimensional array, whose columns are named 0, 1, ...
        y
            A series or another sequence with the target of each row.
        w
            One weight for all rows, or a series or another sequence with the weight of each row.

        Raises
        ------
        TypeError, ValueError
            If a key is not a string, bytes or an integer, or if the lengths differ. Then nothing is
            learned.
        """
        self._learn_rows(labelled_rows(keys, X, y, w), predicts=False)

    def predict_learn_many(self, keys: Series, X: Frame, y: Series, w: Weights = 1.0) -> typing.Any:
        """Predict each row of a data frame, then learn it: test-then-train in one call.

        Predictions and models are the same, bit for bit, as with `predict_one` and
        `KeyedModels.learn_one` for each row in turn.

        Parameters
        ----------
        keys, X, y, w
            As for `learn_many`.

        Returns
        -------
        A series of the library of X, as from `predict_many`. The prediction for a row that is
        invalid for its model is missing.

        Raises
        ------
        TypeError, ValueError
            As `learn_many`.
        """
        rows = labelled_rows(keys, X, y, w)
        return series_of_predictions(self._learn_rows(rows, predicts=True), X)

    def predict_one(self, key: Key, x: Sample) -> typing.Any:
        """Predict the label or target of a sample.

        Parameters
        ----------
        key
            Key of the sample.
        x
            Features.

        Returns
        -------
        The prediction; `None` for an unknown key, unless there is a pooled model.
        """
        return self._call("_predict", plain_key(key), x, False)

    def predict_proba_one(self, key: Key, x: Sample) -> dict[Hashable, float]:
        """Predict the probability of each label.

        Parameters
        ----------
        key
            Key of the sample.
        x
            Features.

        Returns
        -------
        Probabilities by label; empty for an unknown key, unless there is a pooled model.
        """
        return typing.cast(dict[Hashable, float], self._call("_predict", plain_key(key), x, True))

    def predict_many(self, keys: Series, X: Frame) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        keys, X
            As for `learn_many`.

        Returns
        -------
        A series of the library of X with the prediction for each row; those for unknown keys are
        missing. If no type of the library holds all predictions, the series holds Python objects;
        pyarrow has no series of objects, so that a TypeError is raised.

        Raises
        ------
        TypeError, ValueError
            As `learn_many`, and if a row is invalid for its model.
        """
        return series_of_predictions(self._predict_rows(rows_in(keys, X), False), X)

    def predict_proba_many(self, keys: Series, X: Frame) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame.

        Parameters
        ----------
        keys, X
            As for `learn_many`.

        Returns
        -------
        A data frame of the library of X, with one column for each label that a model of these rows
        has learned, in the order of their first row. The probability of a label that the model of a
        row does not know is NaN.

        Raises
        ------
        TypeError, ValueError
            As `predict_many`.
        """
        return frame_of_probabilities(self._predict_rows(rows_in(keys, X), True), X)

    def __contains__(self, key: Key) -> bool:
        return self._call("_has", plain_key(key))

    def model_of(self, key: Key) -> typing.Any:
        """Return a copy of the model of a key.

        Parameters
        ----------
        key
            The key.

        Returns
        -------
        The copy, or `None` for an unknown key.
        """
        return self._call("_copy", plain_key(key))

    def forget(self, key: Key) -> bool:
        """Drop the model of a key; the next sample of the key starts a new one.

        A pooled model keeps what it has learned from the key. The model leaves the store with the
        next `commit`.

        Parameters
        ----------
        key
            The key.

        Returns
        -------
        Whether there was a model.
        """
        return self._call("_forget", plain_key(key))

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
