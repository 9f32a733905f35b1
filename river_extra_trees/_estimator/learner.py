"""What every estimator of this package does, written once: parameters, seeds, samples and frames.

An estimator keeps its parameters untouched and a core object that does the work. Classifiers and
regressors of all families inherit `TreeClassifier` or `TreeRegressor`, and bring the hooks of
`_inspection.TreeLearner`. The core object calls its `learner` back where a policy decides.
"""

from __future__ import annotations

import typing
from collections.abc import Hashable

from river import base
from river.utils import dataframe

from .._core.learner import WaitingBatch
from .._core.state import FAINTEST_WEIGHT
from .frames import PredictsMany, PredictsProbaMany, rows_of, values_of, weights_of
from .inspection import Sample, TreeLearner, describe_classes, describe_number
from .snapshot import ClassifierSnapshot, RegressorSnapshot

__all__ = ["TreeClassifier", "TreeRegressor"]


class Learns(TreeLearner):
    """Learning: `learn_many` is a loop of `learn_one`, whatever the frame is made of."""

    def _check_one(self, x: Sample, y: typing.Any, w: typing.Any) -> None:
        """Raise what `learn_one` would raise, and learn nothing."""
        self._core.validate(x, y, w)

    def learn_one(self, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        """Learn a sample.

        Parameters
        ----------
        x
            Features. Numbers are numeric, other hashable values nominal; absent, `None` and NaN
            values are missing.
        y
            The target.
        w
            Weight of the sample; 0 learns nothing.

        Raises
        ------
        ValueError, TypeError
            If a feature is infinite or neither a number nor hashable, the target is missing, not
            finite or not hashable, or the weight is negative or not finite. The message names it,
            and nothing is learned.
        """
        try:
            batch_is_full = self._core.learn(x, y, w)
        except WaitingBatch:
            self._grow()
            batch_is_full = self._core.learn(x, y, w)
        if batch_is_full:
            self._grow()

    def _grow(self) -> None:
        """Plan the growth on the batch that is full, and let the core carry it out.

        A failure leaves the batch as it is; the next `learn_one` tries again.
        """
        raise NotImplementedError

    def _check_label(self, y: typing.Any, coming: set[Hashable]) -> None:
        """Raise if a label, learned after those that are coming, were one too many; note it."""

    def _check_next(self, x: Sample, y: typing.Any, w: typing.Any, coming: set[Hashable]) -> None:
        """Raise what learning a sample after others would raise; note its label as coming, too."""
        self._check_one(x, y, w)
        is_learned = float(w) >= FAINTEST_WEIGHT
        self._check_label(y, coming if is_learned else set(coming))

    def learn_many(self, X: typing.Any, y: typing.Any, w: typing.Any = 1.0) -> None:
        """Learn the rows of a data frame, one after the other.

        The model is afterwards the same, bit for bit, as after `learn_one` of each row. If a row is
        refused, nothing of the frame is learned.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows (pandas, polars, pyarrow, ...).
        y
            A series of targets, or another sequence of them, as long as the frame. They belong to
            the rows by their position: an index, as pandas has it, is not looked at.
        w
            One weight for all rows, or a series of weights, likewise by their position.

        Raises
        ------
        ValueError, TypeError
            If the lengths differ, y or w is no sequence (a frame, a mapping, a set or a text has
            no values by position), or a row is refused; the message names the row.
        """
        frame = dataframe.into_frame(X)
        rows = list(rows_of(frame))
        targets = values_of(y, "y")
        weights = weights_of(w, len(rows))
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
            self.learn_one(x, target, w=weight)


class TreeClassifier(Learns, PredictsProbaMany, base.MiniBatchClassifier):
    """A classifier of any number of classes, learned one by one or in mini-batches."""

    def snapshot(self) -> ClassifierSnapshot:
        """Take a read-only copy for serving: it answers as the model does now, for ever.

        It is smaller than the model, as it lacks the samples and all else that only learning needs.
        (Logistic leaves of dynamic trees answer by the samples themselves, and keep them.)
        """
        return ClassifierSnapshot(self._bare(), self.n_samples_seen)

    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the label of a sample: `None` before the first sample was learned.

        Parameters
        ----------
        x
            Features.
        """
        return self._core.predict_label(x)

    def predict_proba_one(self, x: Sample) -> dict[typing.Any, float]:
        """Predict the probability of every label learned so far.

        Parameters
        ----------
        x
            Features.
        """
        return self._core.predict_proba(x)

    @property
    def _multiclass(self) -> bool:
        return True

    def _check_label(self, y: typing.Any, coming: set[Hashable]) -> None:
        self._core.labels.foresee(y, coming)

    def _describe(self, node: dict[str, typing.Any]) -> str:
        return describe_classes(node, self._core.labels.labels)


class TreeRegressor(Learns, PredictsMany, base.MiniBatchRegressor):
    """A regressor, learned one by one or in mini-batches."""

    def snapshot(self) -> RegressorSnapshot:
        """Take a read-only copy for serving: it answers as the model does now, for ever.

        It is smaller than the model, as it lacks the samples and all else that only learning needs.
        """
        return RegressorSnapshot(self._bare(), self.n_samples_seen)

    def predict_one(self, x: Sample) -> float:
        """Predict the target of a sample: 0 before the first sample was learned.

        Parameters
        ----------
        x
            Features.
        """
        return self._core.predict_number(x)

    def _describe(self, node: dict[str, typing.Any]) -> str:
        return describe_number(node)
