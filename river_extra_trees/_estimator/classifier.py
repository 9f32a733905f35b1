"""The base class of all classifiers."""

from __future__ import annotations

import typing
from collections.abc import Hashable

from river import base

from . import inspection
from .answers import PredictsLabels, check_labels, frame_of_shares, series_of_codes
from .columns import table_of
from .frames import Sample, readable_frame
from .learner import TreeLearner
from .snapshot import ClassifierSnapshot

if typing.TYPE_CHECKING:
    from river_extra_trees._core.columns import Column
    from river_extra_trees._core.table import Table

__all__ = ["TreeClassifier"]


class TreeClassifier(TreeLearner, PredictsLabels, base.MiniBatchClassifier):
    """A multi-class classifier that learns sample by sample or in mini-batches."""

    def snapshot(self) -> ClassifierSnapshot:
        """Take a read-only copy for serving, which keeps predicting as the model does now.

        It is smaller than the model, because it lacks the samples and other data that only learning
        needs.

        Returns
        -------
        The copy.
        """
        return ClassifierSnapshot(self._for_serving(), self.n_samples_seen)

    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the label of a sample.

        Parameters
        ----------
        x
            Features.

        Returns
        -------
        The most probable label, or `None` before the first sample is learned.
        """
        return self._core.predict_label(x)

    def predict_proba_one(self, x: Sample) -> dict[typing.Any, float]:
        """Predict the probability of each label learned so far.

        Parameters
        ----------
        x
            Features.

        Returns
        -------
        Probabilities by label; empty before the first sample is learned.
        """
        return self._core.predict_proba(x)

    @property
    def _multiclass(self) -> bool:
        return True

    def _check_label(self, y: typing.Any, coming: set[Hashable]) -> None:
        self._core.labels.foresee(y, coming)

    def _check_answers(self, frame: typing.Any, table: Table, shares: bool) -> None:
        targets = typing.cast("Column", table.targets)
        known = dict.fromkeys([*self._core.labels.labels, *targets.values])
        check_labels(list(known), frame, shares)

    def _predict_frame(self, frame: typing.Any) -> tuple[typing.Any, list[typing.Any]]:
        return self._answered(table_of(frame)).labels, self._core.labels.labels

    def _predict_proba_frame(self, frame: typing.Any) -> tuple[typing.Any, list[typing.Any]]:
        shares = self._answered(table_of(frame), True).shares
        return shares, self._core.labels.labels[: shares.shape[1]]

    def predict_learn_many(self, X: typing.Any, y: typing.Any, w: typing.Any = 1.0) -> typing.Any:
        """Predict each row of a data frame, then learn it: test-then-train in one call.

        Predictions and model are the same, bit for bit, as with `predict_one` and `learn_one` for
        each row in turn. If a row is invalid, nothing is learned.

        Parameters
        ----------
        X
            A data frame, as for `learn_many`.
        y
            A series or another sequence with the label of each row.
        w
            One weight for all rows, or a series or another sequence with the weight of each row.

        Returns
        -------
        A series of the library of X, as from `predict_many`. Predictions before the first label is
        learned are `None`.

        Raises
        ------
        ValueError, TypeError
            As `learn_many` and `predict_many`.
        """
        frame = readable_frame(X)
        reader = self._answered_and_learned(frame, y, w)
        return series_of_codes(reader.labels, self._core.labels.labels, frame)

    def predict_proba_learn_many(
        self, X: typing.Any, y: typing.Any, w: typing.Any = 1.0
    ) -> typing.Any:
        """Predict the class probabilities of each row of a data frame, then learn it.

        Predictions and model are the same, bit for bit, as with `predict_proba_one` and `learn_one`
        for each row in turn. If a row is invalid, nothing is learned.

        Parameters
        ----------
        X
            A data frame, as for `learn_many`.
        y
            A series or another sequence with the label of each row.
        w
            One weight for all rows, or a series or another sequence with the weight of each row.

        Returns
        -------
        A data frame of the library of X, as from `predict_proba_many`, with one column per label
        that is known after the last row. The probability of a label before its first sample is NaN.

        Raises
        ------
        ValueError, TypeError
            As `learn_many` and `predict_proba_many`.
        """
        frame = readable_frame(X)
        reader = self._answered_and_learned(frame, y, w, True)
        labels = self._core.labels.labels[: reader.shares.shape[1]]
        return frame_of_shares(reader.shares[:, : len(labels)], labels, frame)

    def _describe(self, node: inspection.Node) -> str:
        return inspection.describe_classes(node, self._core.labels.labels)
