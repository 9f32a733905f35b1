"""Read-only copies of learners, for serving."""

from __future__ import annotations

import typing
from collections.abc import Hashable

from .frames import PredictsLabels, PredictsNumbers, Sample

__all__ = ["ClassifierSnapshot", "RegressorSnapshot"]


class _Snapshot:
    """What both kinds of snapshots share."""

    def __init__(self, model: typing.Any, n_samples_seen: int) -> None:
        self._model = model
        self.n_samples_seen = n_samples_seen

    def predict_one(self, x: Sample, **options: typing.Any) -> typing.Any:
        """Predict the target of a sample, as the model did.

        Parameters
        ----------
        x
            Features.
        options
            Other arguments of `predict_one` of the model.
        """
        return self._model.predict_one(x, **options)

    def _predict_frame(self, frame: typing.Any) -> typing.Any:
        return self._model._predict_frame(frame)

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes in memory."""
        return int(self._model._raw_memory_usage)

    def __repr__(self) -> str:
        learner, n = type(self._model).__name__, self.n_samples_seen
        return f"{type(self).__name__}({learner}, n_samples_seen={n})"


class RegressorSnapshot(_Snapshot, PredictsNumbers):
    """A read-only copy of a regressor, without the memory that only learning needs.

    Take one with `snapshot()` of a regressor of this package.

    Parameters
    ----------
    model
        Model to wrap; ownership is transferred.
    n_samples_seen
        Number of samples that the model has learned.

    Examples
    --------
    >>> import pickle
    >>> import river_extra_trees as ret
    >>> from river import datasets

    >>> model = ret.StreamDecisionForestRegressor(seed=42)
    >>> for x, y in datasets.TrumpApproval().take(500):
    ...     model.learn_one(x, y)
    >>> snapshot = model.snapshot()
    >>> snapshot
    RegressorSnapshot(StreamDecisionForestRegressor, n_samples_seen=500)
    >>> snapshot.predict_one(x) == model.predict_one(x)
    True
    >>> len(pickle.dumps(snapshot)) < len(pickle.dumps(model))
    True
    """

    def predict_many(self, X: typing.Any, **options: typing.Any) -> typing.Any:
        """Predict the rows of a data frame, as the model did.

        Parameters
        ----------
        X
            A data frame, or an array of two dimensions.
        options
            Other arguments of `predict_many` of the model.
        """
        return self._model.predict_many(X, **options)


class ClassifierSnapshot(_Snapshot, PredictsLabels):
    """A read-only copy of a classifier, without the memory that only learning needs.

    Take one with `snapshot()` of a classifier of this package.

    Parameters
    ----------
    model
        Model to wrap; ownership is transferred.
    n_samples_seen
        Number of samples that the model has learned.
    """

    def predict_proba_one(self, x: Sample) -> dict[Hashable, float]:
        """Predict the probabilities of the labels, as the model did.

        Parameters
        ----------
        x
            Features.
        """
        answer: dict[Hashable, float] = self._model.predict_proba_one(x)
        return answer

    def _predict_proba_frame(self, frame: typing.Any) -> typing.Any:
        return self._model._predict_proba_frame(frame)
