"""The base classes of all regressors."""

from __future__ import annotations

import abc
import typing

from river import base

from . import inspection
from .frames import Sample, readable_frame
from .learner import TreeLearner
from .predictions import series_of_numbers
from .rows import rows_of, values_by_name
from .tables import table_of

if typing.TYPE_CHECKING:
    from river_extra_trees.explanation import Explanation

    from .frames import Frame, Series, Weights

if typing.TYPE_CHECKING:
    from .mixture import StudentMixture

__all__ = ["DistributionRegressor", "TreeRegressor"]


class TreeRegressor(TreeLearner, base.MiniBatchRegressor):
    """A regressor that learns sample by sample or in mini-batches."""

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

    def predict_many(self, X: Frame) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        X
            A data frame, as for `learn_many`.

        Returns
        -------
        A series of the library of X, or an array.

        Raises
        ------
        ValueError, TypeError
            If X is not a data frame, or a row is invalid.
        """
        frame = readable_frame(X)
        return series_of_numbers(self._predicted(table_of(frame)).numbers, frame)

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
        A series of the library of X, as from `predict_many`.

        Raises
        ------
        ValueError, TypeError
            As `learn_many`.
        """
        frame = readable_frame(X)
        reader = self._predicted_and_learned(frame, y, w)
        return series_of_numbers(reader.numbers, frame)

    def explain_one(self, x: Sample, method: str = "shapley") -> Explanation:
        """Divide a prediction among the features.

        Two methods divide the difference between the base value and the prediction. "shapley" gives
        exact path-dependent Shapley values of each tree (Lundberg et al. 2020), computed by
        quadrature (Quadrature-TreeSHAP, arXiv 2605.04497). "path" gives each split on the path of
        the sample the change of the mean there (Saabas 2014); it takes less time, and favours
        splits near the leaves. If a feature is not known, both sides of its splits count by the
        weights that the leaves have now.

        Contributions to a mean of trees are exact. A linear model in a tree adds slope times
        (value - mean of the feature); where a prediction is limited to the targets seen, all
        contributions shrink in proportion.

        Parameters
        ----------
        x
            Features.
        method
            "shapley" or "path".

        Returns
        -------
        The base value and the contributions; they add up to `predict_one(x)`.

        Raises
        ------
        ValueError
            If there is no such method.
        """
        return self._explain_one(x, None, method)

    def explain_many(self, X: Frame, method: str = "shapley") -> Explanation:
        """Divide the prediction for each row of a data frame among the features.

        Parameters
        ----------
        X
            A data frame, as for `learn_many`.
        method
            As of `explain_one`.

        Returns
        -------
        The explanations of all rows in one object.

        Raises
        ------
        ValueError, TypeError
            If X is not a data frame, a row is invalid, or there is no such method.
        """
        return self._explain_many(X, None, method)

    def _describe(self, node: inspection.Node) -> str:
        return inspection.describe_number(node)


class DistributionRegressor(TreeRegressor):
    """A regressor with linear models in its trees that can predict distributions."""

    seed: int | None

    @typing.overload
    def predict_one(self, x: Sample, with_dist: typing.Literal[False] = False) -> float: ...

    @typing.overload
    def predict_one(self, x: Sample, with_dist: typing.Literal[True]) -> StudentMixture: ...

    def predict_one(self, x: Sample, with_dist: bool = False) -> float | StudentMixture:
        """Predict the target of a sample; 0 before the first sample is learned.

        Parameters
        ----------
        x
            Features.
        with_dist
            Return the whole predictive distribution instead of its mean. With a seed, its draws
            are determined by the seed, the learned samples and x.

        Returns
        -------
        The mean, or a distribution with `mean`, `interval(level)`, `quantile(p)`, `cdf(y)` and
        `sample()`.
        """
        if with_dist:
            from .mixture import StudentMixture, seed_of  # imports scipy.special

            components = self._mixture(x)
            return StudentMixture(components, seed=seed_of(components, self.seed))
        return self._core.predict_number(x)

    @abc.abstractmethod
    def _mixture(self, x: Sample) -> list[tuple[float, float, float, float]]:
        """Return the components of the predictive distribution for `StudentMixture`."""

    def predict_many(self, X: Frame, with_dist: bool = False) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        X
            A data frame, as for `learn_many`.
        with_dist
            Return the predictive distributions instead of their means.

        Returns
        -------
        A series of the library of X; with `with_dist`, a list with the distribution of each row, as
        from `predict_one`.

        Raises
        ------
        ValueError, TypeError
            If X is not a data frame, or a row is invalid.
        """
        if not with_dist:
            return super().predict_many(X)
        frame = readable_frame(X)
        self._core.reader(table_of(frame))  # an error names the row
        return [
            self.predict_one(x, with_dist=True) for x in rows_of(values_by_name(frame), len(frame))
        ]

    def _nodes(self, tree: int) -> list[inspection.Node]:
        """Return the nodes of a tree, with the slopes of their linear models by feature.

        `linear_model` describes what the prediction adds to the mean of a node; it is empty if the
        mean is the whole prediction.
        """
        nodes = super()._nodes(tree)
        names = self._schema.names
        for node in nodes:
            slopes = node.get("coefficients", {})
            node["coefficients"] = {names[column]: slope for column, slope in slopes.items()}
            node["linear_model"] = self._linear_model_of(node, tree) if slopes else ""
        return nodes

    @abc.abstractmethod
    def _linear_model_of(self, node: inspection.Node, tree: int) -> str:
        """Describe in words what a node with slopes adds to its mean."""

    def _describe_answer(self, leaf: inspection.Node, tree: int, x: Sample) -> str:
        if not leaf["linear_model"]:
            return self._describe(leaf)
        return f"{self._describe(leaf)} = {self._core.number_of_tree(tree, x):.6g}"
