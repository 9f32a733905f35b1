"""The base class of learners whose prediction is a weighted mean of trees without linear models."""

from __future__ import annotations

import typing

from .explaining import trees_for_shap
from .inspection import Node
from .learner import TreeLearner

__all__ = ["SummedTrees"]


class SummedTrees(TreeLearner):
    """A learner whose trees another library can read."""

    def to_shap(self) -> dict[str, typing.Any]:
        """Convert the trees for `shap.TreeExplainer`, for what it does beside explanations.

        The output is the predicted number, or the probability of each label. `shap` takes the
        values of the features as an array, a column for each of `feature_names` of an
        `Explanation`, NaN where they are missing. A tree whose leaf is empty counts with 0; a
        stream or forgetful forest lets it not vote.

        Other learners have no such dict. Extra trees multiply powers of the probabilities of their
        groups, or add linear models to their leaves; so do dynamic trees, which also weigh what
        they have learned by its age at the next sample.

        Returns
        -------
        A dict of arrays, as `shap.TreeExplainer(model.to_shap())` takes it.

        Raises
        ------
        ValueError
            If a tree has a split on nominal values.

        Examples
        --------
        >>> import river_extra_trees as ret
        >>> from river import datasets

        >>> model = ret.StreamDecisionForestRegressor(n_models=10, seed=1)
        >>> for x, y in datasets.TrumpApproval():
        ...     model.learn_one(x, y)
        >>> len(model.to_shap()["trees"])
        10
        """
        trees = list(self._trees())
        names = self._core.schema.names
        return trees_for_shap(trees, self._tree_weights(len(trees)), names, self._leaf_answer)

    def _tree_weights(self, n: int) -> list[float]:
        """Return the weight of each of n trees in a prediction."""
        return [1.0 / n] * n

    def _leaf_answer(self, leaf: Node) -> list[float]:
        """Return what a leaf answers: the mean, or the share of each label."""
        if self._core.regression:
            return [leaf["values"][0]] if leaf["weight"] > 0.0 else [0.0]
        if not leaf["weight"] > 0.0:
            return [0.0] * len(leaf["values"])
        return [value / leaf["weight"] for value in leaf["values"]]
