"""Read-only copies of learners, for serving."""

from __future__ import annotations

import typing
from collections.abc import Hashable

from .frames import Sample

if typing.TYPE_CHECKING:
    from river_extra_trees.explanation import Explanation

    from .frames import Frame

__all__ = ["Snapshot"]


class Snapshot:
    """A read-only copy of a learner, without the data that only learning needs.

    The method `snapshot` of a learner makes one. Probabilities are those of classifiers.

    Parameters
    ----------
    model
        Model to wrap. Nothing else may use it afterwards.
    n_samples_seen
        Number of samples that the model has learned.

    Examples
    --------
    >>> import pickle
    >>> import river_extra_trees as ret
    >>> from river import datasets

    >>> model = ret.ExtraTreesClassifier(seed=42)
    >>> for x, y in datasets.Phishing().take(500):
    ...     model.learn_one(x, y)
    >>> snapshot = model.snapshot()
    >>> snapshot
    Snapshot(ExtraTreesClassifier, n_samples_seen=500)
    >>> snapshot.predict_proba_one(x) == model.predict_proba_one(x)
    True
    >>> len(pickle.dumps(snapshot)) < len(pickle.dumps(model))
    True
    """

    def __init__(self, model: typing.Any, n_samples_seen: int) -> None:
        self._model = model
        self.n_samples_seen = n_samples_seen

    def predict_one(self, x: Sample, **options: typing.Any) -> typing.Any:
        """Predict the label or target of a sample, as the model did.

        Parameters
        ----------
        x
            Features.
        options
            Other arguments of `predict_one` of the model.

        Returns
        -------
        The prediction of the model at the time of the snapshot.
        """
        return self._model.predict_one(x, **options)

    def predict_many(self, X: Frame, **options: typing.Any) -> typing.Any:
        """Predict the rows of a data frame, as the model did.

        Parameters
        ----------
        X
            A data frame, or a two-dimensional array.
        options
            Other arguments of `predict_many` of the model.

        Returns
        -------
        A series of the library of X.
        """
        return self._model.predict_many(X, **options)

    def predict_proba_one(self, x: Sample) -> dict[Hashable, float]:
        """Predict the probability of each label, as the model did.

        Parameters
        ----------
        x
            Features.

        Returns
        -------
        Probabilities by label.
        """
        return typing.cast(dict[Hashable, float], self._model.predict_proba_one(x))

    def predict_proba_many(self, X: Frame) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame, as the model did.

        Parameters
        ----------
        X
            A data frame, or a two-dimensional array.

        Returns
        -------
        A data frame of the library of X.
        """
        return self._model.predict_proba_many(X)

    def explain_one(self, x: Sample, **options: typing.Any) -> Explanation:
        """Divide a prediction among the features, as the model did.

        Parameters
        ----------
        x
            Features.
        options
            Other arguments of `explain_one` of the model.

        Returns
        -------
        The explanation.
        """
        return typing.cast("Explanation", self._model.explain_one(x, **options))

    def explain_many(self, X: Frame, **options: typing.Any) -> Explanation:
        """Divide the prediction for each row of a data frame among the features.

        Parameters
        ----------
        X
            A data frame, or a two-dimensional array.
        options
            Other arguments of `explain_many` of the model.

        Returns
        -------
        The explanations of all rows.
        """
        return typing.cast("Explanation", self._model.explain_many(X, **options))

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes in memory."""
        return int(self._model._raw_memory_usage)

    def __repr__(self) -> str:
        learner, n = type(self._model).__name__, self.n_samples_seen
        return f"Snapshot({learner}, n_samples_seen={n})"
