"""Metrics of how well probabilities rank the samples of a rare label."""

from __future__ import annotations

import abc
import array
from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
from river import metrics
from scipy import stats

__all__ = ["AveragePrecision", "ExactROCAUC"]


class Ranking(metrics.base.BinaryMetric):
    """Keeps the probabilities of the latest samples, and which of them are positive."""

    def __init__(self, pos_val: Hashable = True, max_samples: int = 1_000_000) -> None:
        self.pos_val = pos_val
        self.max_samples = max_samples
        self._shares = array.array("d")
        self._positive = bytearray()
        self._n = 0  # of the latest samples that count

    @property
    def requires_labels(self) -> bool:
        """Whether labels are scored; probabilities are."""
        return False

    @property
    def bigger_is_better(self) -> bool:
        """Whether a larger value is better."""
        return True

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Add a sample.

        Parameters
        ----------
        y_true
            The label.
        y_pred
            The probabilities by label, or that of the positive label.
        w
            Has no effect: each sample counts once.
        """
        is_dict = isinstance(y_pred, dict)
        self._shares.append(y_pred.get(self.pos_val, 0.0) if is_dict else float(y_pred))
        self._positive.append(y_true == self.pos_val)
        self._n = min(self._n + 1, self.max_samples)
        if len(self._shares) >= 2 * self.max_samples:
            del self._shares[: -self.max_samples], self._positive[: -self.max_samples]

    def revert(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Remove the oldest sample, as `river.utils.Rolling` does."""
        self._n -= 1

    def get(self) -> float:
        """Return the value; NaN until both a positive and another sample have come."""
        first = len(self._shares) - self._n
        positive = np.array(self._positive[first:], bool)
        if positive.all() or not positive.any():
            return float("nan")
        return self._value(np.array(self._shares[first:]), positive)

    @staticmethod
    @abc.abstractmethod
    def _value(shares: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_]) -> float: ...


class ExactROCAUC(Ranking):
    """The exact area under the ROC curve.

    It is the probability that a positive sample has a larger predicted probability than another
    sample, where a tie counts half[^1]. `river.metrics.ROCAUC` approximates it by ten thresholds,
    which all lie above the probabilities of a rare label.

    Parameters
    ----------
    pos_val
        The positive label.
    max_samples
        The latest samples that count. Each takes 9 bytes, up to twice that many.

    Examples
    --------
    >>> from river_extra_trees import evaluate
    >>> metric = evaluate.ExactROCAUC(pos_val="fraud")
    >>> for label, share in [("ok", 0.01), ("fraud", 0.03), ("ok", 0.02), ("fraud", 0.02)]:
    ...     metric.update(label, {"ok": 1 - share, "fraud": share})
    >>> metric
    ExactROCAUC: 87.50%

    References
    ----------
    [^1]: Hanley, J. A. and McNeil, B. J., 1982. The meaning and use of the area under a receiver
          operating characteristic (ROC) curve. Radiology 143(1), 29-36.
    """

    @staticmethod
    def _value(shares: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_]) -> float:
        return float(
            stats.mannwhitneyu(shares[positive], shares[~positive], method="asymptotic").statistic
            / (positive.sum() * (~positive).sum())
        )


class AveragePrecision(Ranking):
    """The average precision of a ranking by the predicted probability.

    It is the mean of the precision at each positive sample, where samples of equal probability
    share a rank[^1]. A random ranking has the share of the positive label. For rare labels it tells
    more than the area under the ROC curve.

    Parameters
    ----------
    pos_val
        The positive label.
    max_samples
        The latest samples that count. Each takes 9 bytes, up to twice that many.

    Examples
    --------
    >>> from river_extra_trees import evaluate
    >>> metric = evaluate.AveragePrecision()
    >>> for rank in range(100, 0, -1):
    ...     metric.update(rank in (1, 4), 1 / rank)
    >>> metric  # of the first rank, 1 of 1 is positive, of the first four 2
    AveragePrecision: 75.00%

    References
    ----------
    [^1]: Davis, J. and Goadrich, M., 2006. The relationship between precision-recall and ROC
          curves. Proceedings of the 23rd international conference on machine learning, 233-240.
    """

    @staticmethod
    def _value(shares: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_]) -> float:
        n_above = stats.rankdata(-shares, "max")  # samples of at least this probability
        n_positive = stats.rankdata(-shares[positive], "max")
        return float((n_positive / n_above[positive]).mean())
