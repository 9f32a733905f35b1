"""The base class of all classifiers."""

from __future__ import annotations

import typing
from collections.abc import Hashable

from river import base

from . import inspection
from .frames import Sample, readable_frame
from .learner import TreeLearner
from .predictions import check_labels, frame_of_shares, series_of_codes
from .tables import table_of

if typing.TYPE_CHECKING:
    from river_extra_trees.explanation import Explanation

    from .frames import Frame, Series, Weights

if typing.TYPE_CHECKING:
    from river_extra_trees._core.columns import Column
    from river_extra_trees._core.table import Table

__all__ = ["TreeClassifier"]


class TreeClassifier(TreeLearner, base.MiniBatchClassifier):
    """A multi-class classifier that learns sample by sample or in mini-batches."""

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

    def _labels(self) -> list[typing.Any]:
        """Return the labels that the model knows."""
        return [label for label in self._core.labels.labels if label is not None]

    def _check_label(self, y: typing.Any, coming: set[Hashable]) -> None:
        self._core.foresee(y, coming)

    def _check_predictions(self, frame: typing.Any, table: Table, shares: bool) -> None:
        targets = typing.cast("Column", table.targets)
        known = dict.fromkeys([*self._labels(), *targets.values])
        check_labels(list(known), frame, shares)

    def predict_many(self, X: Frame) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        X
            A data frame, as for `learn_many`.

        Returns
        -------
        A series of the library of X, or an array. Its type depends on all labels learned so far. If
        no type of the library holds all labels, such as 1 and "one" together or the members of an
        `Enum`, the series holds Python objects.

        Raises
        ------
        ValueError, TypeError
            If X is not a data frame, a row is invalid, or the labels need a series of Python
            objects, which pyarrow does not have.
        """
        frame = readable_frame(X)
        reader = self._predicted(table_of(frame))
        return series_of_codes(reader.labels, reader.names, frame)

    def predict_proba_many(self, X: Frame) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame.

        Parameters
        ----------
        X
            A data frame, as for `learn_many`.

        Returns
        -------
        A data frame of the library of X with one column per label learned so far. If column names
        must be strings, the name is `str(label)`; for labels with the same `str`, such as 1 and
        "1", and labels that UTF-8 cannot encode, it is `repr(label)`. For an array, an array with
        one column per label in the order of `predict_proba_one`.

        Raises
        ------
        ValueError, TypeError
            If X is not a data frame, a row is invalid, or two labels have the same `repr`.
        """
        frame = readable_frame(X)
        reader = self._predicted(table_of(frame), True)
        return frame_of_shares(reader.shares, reader.names, frame)

    def predict_learn_many(self, X: Frame, y: Series, w: Weights = 1.0) -> typing.Any:
        """Predict each row of a data frame, then learn it: test-then-train in one call.

        Predictions and model are the same, bit for bit, as with `predict_one` and `learn_one` for
        each row in turn. If a row is invalid, nothing is learned.

        Parameters
        ----------
        X, y, w
            As for `learn_many`.

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
        reader = self._predicted_and_learned(frame, y, w)
        return series_of_codes(reader.labels, reader.names, frame)

    def predict_proba_learn_many(self, X: Frame, y: Series, w: Weights = 1.0) -> typing.Any:
        """Predict the class probabilities of each row of a data frame, then learn it.

        Predictions and model are the same, bit for bit, as with `predict_proba_one` and `learn_one`
        for each row in turn. If a row is invalid, nothing is learned.

        Parameters
        ----------
        X, y, w
            As for `learn_many`.

        Returns
        -------
        A data frame of the library of X, as from `predict_proba_many`, with one column per label
        that is known before any row or after it. The probability of a label in a row that does not
        know it is NaN.

        Raises
        ------
        ValueError, TypeError
            As `learn_many` and `predict_proba_many`.
        """
        frame = readable_frame(X)
        reader = self._predicted_and_learned(frame, y, w, True)
        return frame_of_shares(reader.shares[:, : len(reader.names)], reader.names, frame)

    def explain_one(
        self, x: Sample, label: typing.Any = None, method: str = "shapley"
    ) -> Explanation:
        """Divide the log odds of a label, log(p / (1 - p)), among the features.

        Two methods divide the difference between the base value and the prediction. "shapley" gives
        exact path-dependent Shapley values of each tree (Lundberg et al. 2020), computed by
        quadrature (Quadrature-TreeSHAP, arXiv 2605.04497). "path" gives each split on the path of
        the sample the change of the mean there (Saabas 2014); it takes less time, and favours
        splits near the leaves. If a feature is not known, both sides of its splits count by the
        weights that the leaves have now.

        Contributions to a mean of probabilities are exact. What follows is a rule, by which they
        always add up: all contributions to p are multiplied by the slope of the log odds between
        the base value and the prediction (the rescale rule of G-DeepSHAP: Chen, Lundberg and Lee
        2022), with p between 1e-6 and 1 - 1e-6. Extra trees combine their groups by a product of
        powers of probabilities, to which the same rule is applied.

        Parameters
        ----------
        x
            Features.
        label
            The label; `None`: the predicted one.
        method
            "shapley" or "path".

        Returns
        -------
        The base value and the contributions; they add up to the log odds of the label.

        Raises
        ------
        ValueError
            If the label has not been learned, or there is no such method.
        """
        return self._explain_one(x, label, method)

    def explain_many(
        self, X: Frame, label: typing.Any = None, method: str = "shapley"
    ) -> Explanation:
        """Divide the log odds of a label among the features, for each row of a data frame.

        Parameters
        ----------
        X
            A data frame, as for `learn_many`.
        label, method
            As of `explain_one`. `None` stands for the predicted label of each row.

        Returns
        -------
        The explanations of all rows in one object.

        Raises
        ------
        ValueError, TypeError
            If X is not a data frame, a row is invalid, the label has not been learned, or there is
            no such method.
        """
        return self._explain_many(X, label, method)

    def _describe(self, node: inspection.Node) -> str:
        return inspection.describe_classes(node, self._core.labels.labels)
