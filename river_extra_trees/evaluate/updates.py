"""Updates of river's metrics with many predictions at once.

Afterwards a metric is the same, bit for bit, as after `update` with each prediction: sums of
integer counts are exact in any order, and means are updated one prediction after the other. New
labels enter a confusion matrix in the order of their first sample, because sums over its classes
depend on this order.
"""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from river import metrics, stats, utils
from river.metrics.base import BinaryMetric, ClassificationMetric, MeanMetric

__all__ = ["updater_of"]

Update = Callable[[Sequence[Any], Sequence[Any]], None]

COUNTS = (ClassificationMetric.update, BinaryMetric.update, metrics.ConfusionMatrix.update)


def updater_of(metric: Any) -> Update:
    """Return a function that updates a metric with many targets and predictions.

    Parameters
    ----------
    metric
        A metric of river, a sum of them, or a rolling one.

    Examples
    --------
    >>> from river import metrics
    >>> from river_extra_trees.evaluate import updates
    >>> metric = metrics.Accuracy()
    >>> updates.updater_of(metric)([1, 0, 1], [1, 1, 1])
    >>> metric
    Accuracy: 66.67%

    """
    if isinstance(metric, metrics.base.Metrics):
        return _updater_of_all(metric)
    if type(metric) is utils.Rolling and counts_pairs(metric.obj) and has_pairs(metric.window):
        return lambda truths, answers: roll_pairs(metric, truths, answers)
    if counts_pairs(metric):
        return lambda truths, answers: add_pairs(metric, Counter(zip(truths, answers, strict=True)))
    if type(metric) is metrics.ROCAUC and all(map(is_whole, metric.cms)):
        return lambda truths, answers: update_thresholds(metric, truths, answers)
    if type(metric) is metrics.R2:
        return lambda truths, answers: update_r2(metric, truths, answers)
    if type(metric).update is MeanMetric.update:
        return lambda truths, answers: update_mean(metric, truths, answers)
    return lambda truths, answers: update_one_by_one(metric, truths, answers)


def _updater_of_all(sum_of_metrics: Any) -> Update:
    matrices = [id(metric.cm) for metric in sum_of_metrics if hasattr(metric, "cm")]
    if len(set(matrices)) < len(matrices):  # several metrics update one matrix in turn
        return lambda truths, answers: update_one_by_one(sum_of_metrics, truths, answers)
    updaters = [(metric, updater_of(metric)) for metric in sum_of_metrics]

    def update(truths: Sequence[Any], answers: Sequence[Any]) -> None:
        labels: list[Any] | None = None
        # As in river: if one metric needs probabilities, the others get the most probable labels.
        mixed = bool(answers) and isinstance(answers[0], dict)
        for metric, updater in updaters:
            if mixed and metric.requires_labels:
                labels = labels or [max(answer, key=answer.get) for answer in answers]
                updater(truths, labels)
            else:
                updater(truths, answers)

    return update


def update_one_by_one(metric: Any, truths: Iterable[Any], answers: Iterable[Any]) -> None:
    """Update any metric."""
    for truth, answer in zip(truths, answers, strict=True):
        metric.update(y_true=truth, y_pred=answer)


# --- Confusion matrices


def is_whole(matrix: Any) -> bool:
    """Return whether all counts of a confusion matrix are whole numbers."""
    return type(matrix) is metrics.ConfusionMatrix and all(
        float(count).is_integer() for row in matrix.data.values() for count in row.values()
    )


def matrix_of(metric: Any) -> Any:
    """Return the confusion matrix that a metric updates."""
    return metric if isinstance(metric, metrics.ConfusionMatrix) else metric.cm


def counts_pairs(metric: Any) -> bool:
    """Return whether the state of a metric is a confusion matrix of integer counts."""
    return type(metric).update in COUNTS and is_whole(matrix_of(metric))


def add_pairs(metric: Any, pairs: dict[tuple[Any, Any], int]) -> None:
    """Update with pairs of target and prediction, and the number of times that each occurred."""
    matrix = matrix_of(metric)
    for (truth, answer), count in pairs.items():
        metric.update(truth, answer, w=float(count))
        matrix.n_samples += count - 1


def has_pairs(window: Iterable[tuple[tuple[Any, ...], dict[str, Any]]]) -> bool:
    """Return whether a window holds targets and predictions without weights."""
    return all(len(args) == 2 or len(named) == 2 for args, named in window)


def roll_pairs(rolling: Any, truths: Sequence[Any], answers: Sequence[Any]) -> None:
    """Update a rolling metric: add new pairs, and revert those that leave the window."""
    window, metric = rolling.window, rolling.obj
    entering: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {"y_true": truth, "y_pred": answer})
        for truth, answer in zip(truths, answers, strict=True)
    ]
    n_leaving = max(0, len(window) + len(entering) - rolling.window_size)
    leaving = Counter(
        args or (named["y_true"], named["y_pred"])
        for args, named in itertools.islice(itertools.chain(window, entering), n_leaving)
    )
    add_pairs(metric, Counter(zip(truths, answers, strict=True)))
    matrix = matrix_of(metric)
    for (truth, answer), count in leaving.items():
        metric.revert(truth, answer, w=float(count))
        matrix.n_samples -= count - 1
    window.extend(entering)


def update_thresholds(metric: Any, truths: Sequence[Any], answers: Sequence[Any]) -> None:
    """Update the confusion matrices of ROCAUC, one for each threshold."""
    positive = [truth == metric.pos_val for truth in truths]
    passed = [bisect.bisect_left(metric.thresholds, answer.get(True, 0.0)) for answer in answers]
    for (truth, n_passed), count in Counter(zip(positive, passed, strict=True)).items():
        for i, matrix in enumerate(metric.cms):
            matrix.update(truth, n_passed > i, float(count))
            matrix.n_samples += count - 1


# --- Means


def absolute_errors(truths: Sequence[Any], answers: Sequence[Any]) -> Iterable[Any]:
    """Return absolute errors, whose mean is the MAE."""
    return [abs(truth - answer) for truth, answer in zip(truths, answers, strict=True)]


def squared_errors(truths: Sequence[Any], answers: Sequence[Any]) -> Iterable[Any]:
    """Return squared errors, whose mean is the MSE."""
    return [(truth - answer) ** 2 for truth, answer in zip(truths, answers, strict=True)]


ERRORS: dict[Any, Callable[[Sequence[Any], Sequence[Any]], Iterable[Any]]] = {
    metrics.MAE._eval: absolute_errors,
    metrics.MSE._eval: squared_errors,
}


def update_mean(metric: Any, truths: Sequence[Any], answers: Sequence[Any]) -> None:
    """Update a metric that is a mean, as `stats.Mean.update` does."""
    errors = ERRORS.get(type(metric)._eval, lambda *both: map(metric._eval, *both))
    mean = metric._mean
    n, value = mean.n, mean._mean
    for error in errors(truths, answers):
        n += 1.0
        value += (1.0 / n) * (error - value)
    mean.n, mean._mean = n, value


def update_r2(metric: Any, truths: Sequence[Any], answers: Sequence[Any]) -> None:
    """Update R2, as `stats.Var.update` and the sum of squared residuals do."""
    variance: stats.Var = metric._y_var
    n, mean, squares = variance.mean.n, variance.mean._mean, variance._S
    residual = metric._residual_sum_of_squares
    for truth, answer in zip(truths, answers, strict=True):
        n += 1.0
        before = mean
        mean += (1.0 / n) * (truth - before)
        squares += (truth - before) * (truth - mean)
        residual += (truth - answer) * (truth - answer)
    variance.mean.n, variance.mean._mean, variance._S = n, mean, squares
    metric._residual_sum_of_squares = residual
