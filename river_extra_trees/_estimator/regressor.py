"""The base classes of all regressors."""

from __future__ import annotations

import abc
import typing

from river import base

from . import inspection
from .columns import batch_of
from .frames import PredictsNumbers, Sample, readable_frame, series_of_numbers
from .learner import TreeLearner
from .rows import rows_of
from .snapshot import RegressorSnapshot

__all__ = ["DistributionRegressor", "TreeRegressor"]


class TreeRegressor(TreeLearner, PredictsNumbers, base.MiniBatchRegressor):
    """A regressor that learns sample by sample or in mini-batches."""

    def snapshot(self) -> RegressorSnapshot:
        """Take a read-only copy for serving, which keeps predicting as the model does now.

        It is smaller than the model, because it lacks the samples and other data that only learning
        needs.

        Returns
        -------
        The copy.
        """
        return RegressorSnapshot(self._for_serving(), self.n_samples_seen)

    def predict_one(self, x: Sample) -> float:
        """Predict the target of a sample.

        Parameters
        ----------
        x
            Features.

        Returns
        -------
        The predicted target; 0 before the first sample is learned.
        """
        return self._core.predict_number(x)

    def _predict_frame(self, frame: typing.Any) -> typing.Any:
        return self._answered(batch_of(frame)).numbers

    def predict_learn_many(self, X: typing.Any, y: typing.Any, w: typing.Any = 1.0) -> typing.Any:
        """Predict each row of a data frame, then learn it: test-then-train in one call.

        Predictions and model are the same, bit for bit, as with `predict_one` and `learn_one` for
        each row in turn. If a row is invalid, nothing is learned.

        Parameters
        ----------
        X
            A data frame, as for `learn_many`.
        y
            A series or another sequence with the target of each row.
        w
            One weight for all rows, or a series or another sequence with the weight of each row.

        Returns
        -------
        A series of the library of X, as from `predict_many`.

        Raises
        ------
        ValueError, TypeError
            As `learn_many`.
        """
        frame = readable_frame(X)
        reader = self._answered_and_learned(frame, y, w)
        return series_of_numbers(reader.numbers, frame)

    def _describe(self, node: inspection.Node) -> str:
        return inspection.describe_number(node)


class DistributionRegressor(TreeRegressor):
    """A regressor that can predict distributions."""

    @abc.abstractmethod
    def predict_one(self, x: Sample, with_dist: bool = False) -> typing.Any:
        """Predict the target of a sample, or its distribution."""

    def predict_many(self, X: typing.Any, with_dist: bool = False) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any library that narwhals supports, or a two-dimensional array, whose
            columns are named 0, 1, ...
        with_dist
            Return the predictive distributions instead of their means.

        Returns
        -------
        A series of the library of X; with `with_dist`, a list with the distribution of each row, as
        from `predict_one`.

        Raises
        ------
        TypeError
            If X is not a data frame.
        ValueError, TypeError
            If a row is invalid, as for `predict_one`.
        """
        if not with_dist:
            return super().predict_many(X)
        frame = readable_frame(X)
        self._core.reader(batch_of(frame))  # an error names the row
        return [self.predict_one(x, with_dist=True) for x in rows_of(frame)]
