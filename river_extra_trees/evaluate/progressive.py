"""Progressive validation on frames: each sample is predicted, scored and then learned."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

from river import base, evaluate

from river_extra_trees._estimator.learner import reads_columns
from river_extra_trees.streams import Batch

from .batches import SMALLEST_BATCH, batches_of, predicted_and_learned, samples_of

__all__ = ["iter_progressive_val_score", "progressive_val_score"]

Delay = str | int | datetime.timedelta | Callable[..., Any] | None
Moment = str | Callable[..., Any] | None


def iter_progressive_val_score(
    dataset: Any,
    model: Any,
    metric: Any,
    moment: Moment = None,
    delay: Delay = None,
    step: int = 1,
    measure_time: bool = False,
    measure_memory: bool = False,
    yield_predictions: bool = False,
    *,
    target: str | None = None,
    weight: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Evaluate a model on frames, and yield the results after every `step` samples.

    Parameters
    ----------
    dataset, model, metric, moment, delay
        As for `progressive_val_score`.
    step
        Number of samples between two results; 0 yields none. From 32 on, models of this package
        learn whole frames, which is faster.
    measure_time
        Whether to measure the time.
    measure_memory
        Whether to measure the memory of the model.
    yield_predictions
        Whether to add the prediction of the last sample.
    target, weight
        As for `progressive_val_score`.

    Yields
    ------
    The same dicts as `river.evaluate.iter_progressive_val_score`.

    Examples
    --------
    >>> import pandas as pd
    >>> from river import datasets, metrics
    >>> from river_extra_trees import StreamDecisionTreeClassifier, evaluate
    >>> frame = pd.DataFrame([{**x, "y": y} for x, y in datasets.Phishing()])
    >>> for state in evaluate.iter_progressive_val_score(
    ...     frame, StreamDecisionTreeClassifier(seed=1), metrics.Accuracy(), step=500, target="y"
    ... ):
    ...     print(state)
    {'Accuracy': Accuracy: ...%, 'Step': 500}
    {'Accuracy': Accuracy: 8...%, 'Step': 1000}
    {'Accuracy': Accuracy: 8...%, 'Step': 1250}

    """
    dataset, model = _prepared(dataset, model, metric, moment, delay, step, target, weight)
    options = (step, measure_time, measure_memory, yield_predictions)
    return evaluate.iter_progressive_val_score(dataset, model, metric, moment, delay, *options)


def progressive_val_score(
    dataset: Any,
    model: Any,
    metric: Any,
    moment: Moment = None,
    delay: Delay = None,
    print_every: int = 0,
    show_time: bool = False,
    show_memory: bool = False,
    *,
    target: str | None = None,
    weight: str | None = None,
    **print_kwargs: Any,
) -> Any:
    """Evaluate a model on frames: each sample is predicted, scored and then learned.

    The result is the same, bit for bit, as that of `river.evaluate.progressive_val_score` on the
    rows. Models of this package learn whole frames. Other models of river, and models with delayed
    labels, learn row by row. Missing values (`None` and NaN) are absent from the rows. If a row is
    invalid, no row of its frame is learned after the last result.

    Parameters
    ----------
    dataset
        A frame of any library that narwhals supports (pandas, polars, pyarrow, ...); an iterable of
        frames, for data larger than memory; an iterable of pairs ``(X, y)`` or triples
        ``(X, y, w)`` of features, targets and weights; a table opened by
        `river_extra_trees.streams.open_table`; or an iterable of samples in river's form.
    model
        The model to evaluate.
    metric
        A metric, or several, joined by ``+``.
    moment
        The attribute used for measuring time, as in river.
    delay
        The time to wait before the target of a sample is revealed to the model, as in river.
    print_every
        Number of samples between two lines that show the metric; 0 prints none.
    show_time
        Whether the lines show the time.
    show_memory
        Whether the lines show the memory of the model.
    target
        The column of the targets, if it is in the frames.
    weight
        The column of the weights, if it is in the frames beside the targets. Samples are learned
        with their weights, and scored without, as in river.
    print_kwargs
        Arguments of `print`.

    Returns
    -------
    The metric.

    Raises
    ------
    ValueError, TypeError
        If the metric does not fit the model, if the data have another form, or if a row is invalid.

    Examples
    --------
    >>> import polars as pl
    >>> from river import datasets, metrics
    >>> from river_extra_trees import StreamDecisionTreeClassifier, evaluate
    >>> frame = pl.DataFrame([{**x, "y": y} for x, y in datasets.Phishing()])
    >>> evaluate.progressive_val_score(
    ...     frame, StreamDecisionTreeClassifier(seed=1), metrics.Accuracy(), target="y"
    ... )
    Accuracy: 8...%

    References
    ----------
    [^1]: Blum, A., Kalai, A. and Langford, J., 1999. Beating the hold-out: bounds for k-fold and
          progressive cross-validation. Proceedings of the 12th annual conference on computational
          learning theory, 203-208.

    """
    samples, learner = _prepared(dataset, model, metric, moment, delay, print_every, target, weight)
    options = (print_every, show_time, show_memory)
    return evaluate.progressive_val_score(
        samples, learner, metric, moment, delay, *options, **print_kwargs
    )


def _prepared(
    dataset: Any,
    model: Any,
    metric: Any,
    moment: Moment,
    delay: Delay,
    step: int,
    target: str | None,
    weight: str | None,
) -> tuple[Iterable[Any], Any]:
    """Return the samples and the model that river evaluates in place of the given ones."""
    items = batches_of(dataset, target, weight)
    first = next(items, None)
    items = itertools.chain([] if first is None else [first], items)
    if not isinstance(first, Batch):
        return items, model
    is_prompt = moment is None and delay is None and not 0 < step < SMALLEST_BATCH
    if is_prompt and reads_columns(model) and metric.works_with(model):
        kind = LearnedClassifier if isinstance(model, base.Classifier) else LearnedRegressor
        probabilities = kind is LearnedClassifier and not metric.requires_labels
        return _learned(items, model, probabilities, step), kind(model)
    return itertools.chain.from_iterable(map(samples_of, items)), model


def _learned(
    batches: Iterable[Batch], model: Any, probabilities: bool, step: int
) -> Iterator[tuple[Any, Any]]:
    """Predict and learn batches up to the next result; yield predictions and targets."""
    n = 0
    for batch in batches:
        due = range(step - n % step, len(batch), step) if step > 0 else ()
        for start, stop in itertools.pairwise([0, *due, len(batch)]):
            part = batch[start:stop] if due else batch
            predictions = predicted_and_learned(model, part, probabilities=probabilities)
            targets = part.targets or []
            if model._core.regression:  # metrics subtract floats from the targets
                targets = [float(y) if isinstance(y, Decimal) else y for y in targets]
            yield from zip(predictions, targets, strict=True)
        n += len(batch)


class Learned(base.Estimator):
    """A model that has already predicted and learned its samples.

    Parameters
    ----------
    model
        The model itself.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def _raw_memory_usage(self) -> int:
        return int(self.model._raw_memory_usage)

    def predict_one(self, x: Any) -> Any:
        """Return the prediction, which was passed in place of the features."""
        return x

    def learn_one(self, x: Any, y: Any) -> None:
        """Do nothing."""


class LearnedClassifier(Learned, base.Classifier):  # type: ignore[misc]
    """A classifier that has already predicted and learned its samples."""

    def predict_proba_one(self, x: Any) -> Any:
        """Return the probabilities, which were passed in place of the features."""
        return x


class LearnedRegressor(Learned, base.Regressor):
    """A regressor that has already predicted and learned its samples."""
