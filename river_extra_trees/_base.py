"""What every estimator of this package does, written once: parameters, seeds and mini-batches.

An estimator keeps its parameters untouched and a core object that does the work. Classifiers and
regressors of all families inherit `TreeClassifier` or `TreeRegressor`, and bring `learn_one`,
`predict_one` (and `predict_proba_one`), `_check_one`, and the hooks of `_inspection.TreeLearner`.
"""

from __future__ import annotations

import abc
import numbers
import random
import typing
from collections.abc import Hashable, Iterator

import narwhals
from river import base
from river.utils import dataframe

from ._inspection import Sample, TreeLearner
from .snapshot import ClassifierSnapshot, RegressorSnapshot

__all__ = ["TreeClassifier", "TreeRegressor", "check_parameter", "check_whole", "draw_seed"]

LARGEST = 2**31 - 1  # the core counts in 32 bits


def draw_seed(seed: int | None) -> int:
    """The seed as 64 bits without a sign; one drawn from the operating system for None."""
    if seed is None:
        return random.SystemRandom().getrandbits(64)
    check_parameter(is_whole(seed), "seed", seed, "None or a whole number")
    return int(seed) % 2**64


def is_whole(value: object) -> bool:
    """Whether a parameter is a whole number, of any type but bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_parameter(condition: bool, name: str, value: object, wanted: str) -> None:
    """Raise a ValueError that names the parameter unless the condition holds."""
    if not condition:
        raise ValueError(f"{name} must be {wanted}, not {value!r}")


def check_whole(name: str, value: typing.Any, least: int, optional: bool = False) -> None:
    """Raise a ValueError that names the parameter unless it is a whole number of at least that."""
    wanted = f"a whole number from {least} to {LARGEST}"
    check_parameter(
        (optional and value is None) or (is_whole(value) and least <= value <= LARGEST),
        name,
        value,
        f"None or {wanted}" if optional else wanted,
    )


def rows_of(frame: typing.Any) -> Iterator[dict[Hashable, typing.Any]]:
    """The rows of a narwhals frame as dicts of plain Python values."""
    names = frame.columns
    if not names:
        return ({} for _ in range(len(frame)))
    columns = [frame[:, i].to_list() for i in range(len(names))]
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def values_of(values: typing.Any) -> list[typing.Any]:
    """A series of any kind, or any other sequence, as a list of plain Python values."""
    values = narwhals.from_native(values, series_only=True, pass_through=True)
    return list(values.to_list() if isinstance(values, narwhals.Series) else values)


class LearnsMany(TreeLearner):
    """Mini-batches: `learn_many` is a loop of `learn_one`, whatever the frame is made of."""

    @abc.abstractmethod
    def _check_one(self, x: Sample, y: typing.Any, w: typing.Any) -> None:
        """Raise what `learn_one` would raise, and learn nothing."""

    def _check_label(self, y: typing.Any, coming: set[Hashable]) -> None:
        """Raise if a label, learned after those that are coming, were one too many; note it."""

    def _check_next(self, x: Sample, y: typing.Any, w: typing.Any, coming: set[Hashable]) -> None:
        """Raise what learning a sample after others would raise; note its label as coming, too."""
        self._check_one(x, y, w)
        if w:
            self._check_label(y, coming)

    def learn_many(self, X: typing.Any, y: typing.Any, w: typing.Any = 1.0) -> None:
        """Learn the rows of a data frame, one after the other.

        The model is afterwards the same, bit for bit, as after `learn_one` of each row. If a row is
        refused, nothing of the frame is learned.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows (pandas, polars, pyarrow, ...).
        y
            A series of targets, as long as the frame.
        w
            One weight for all rows, or a series of weights.

        Raises
        ------
        ValueError, TypeError
            If the lengths differ, or a row is refused; the message names the row.
        """
        frame = dataframe.into_frame(X)
        rows = list(rows_of(frame))
        targets = values_of(y)
        weights = values_of(w) if hasattr(w, "__len__") else [w] * len(rows)
        if not len(targets) == len(weights) == len(rows):
            raise ValueError(
                f"X has {len(rows)} rows, y has {len(targets)} and w has {len(weights)}"
            )
        samples = list(zip(rows, targets, weights, strict=True))
        coming: set[Hashable] = set()
        for i, (x, target, weight) in enumerate(samples):
            try:
                self._check_next(x, target, weight, coming)
            except (TypeError, ValueError) as error:
                raise type(error)(f"row {i}: {error}") from None
        for x, target, weight in samples:
            self.learn_one(x, target, w=weight)  # type: ignore[attr-defined]

    def predict_many(self, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows.

        Returns
        -------
        A series of the same kind.
        """
        frame = dataframe.into_frame(X)
        predictions = [self.predict_one(x) for x in rows_of(frame)]  # type: ignore[attr-defined]
        return dataframe.to_native_series(predictions, name="prediction", like=frame)


class TreeClassifier(LearnsMany, base.MiniBatchClassifier):
    """A classifier of any number of classes, learned one by one or in mini-batches."""

    def snapshot(self) -> ClassifierSnapshot:
        """Take a read-only copy for serving: it answers as the model does now, for ever.

        It is smaller than the model, as it lacks the samples and all else that only learning needs.
        (Logistic leaves of dynamic trees answer by the samples themselves, and keep them.)
        """
        return ClassifierSnapshot(self._bare(), self.n_samples_seen)

    @property
    def _multiclass(self) -> bool:
        return True

    def _check_label(self, y: typing.Any, coming: set[Hashable]) -> None:
        self._state()["core"].labels.foresee(y, coming)

    def predict_proba_many(self, X: typing.Any) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows.

        Returns
        -------
        A data frame of the same kind with a column per class. Kinds that allow only strings as
        column names get the labels as strings.
        """
        frame = dataframe.into_frame(X)
        answers = [self.predict_proba_one(x) for x in rows_of(frame)]
        labels = list(answers[0]) if answers else []
        columns = {label: [answer[label] for answer in answers] for label in labels}
        return dataframe.to_native_frame(columns, like=frame)


class TreeRegressor(LearnsMany, base.MiniBatchRegressor):
    """A regressor, learned one by one or in mini-batches."""

    def snapshot(self) -> RegressorSnapshot:
        """Take a read-only copy for serving: it answers as the model does now, for ever.

        It is smaller than the model, as it lacks the samples and all else that only learning needs.
        """
        return RegressorSnapshot(self._bare(), self.n_samples_seen)
