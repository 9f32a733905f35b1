"""Progressive validation on frames: each sample is predicted, scored and then learned."""

from __future__ import annotations

import datetime
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

from river import base, evaluate, metrics, utils
from river.active.base import ActiveLearningClassifier

from river_extra_trees._estimator.learner import reads_columns

from .chunks import SMALLEST_CHUNK, Chunk, chunks_of

__all__ = ["iter_progressive_val_score", "progressive_val_score", "score"]

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
    dataset
        The data, as for `progressive_val_score`.
    model
        The model to evaluate.
    metric
        A metric, or several, joined by ``+``.
    moment
        The attribute used for measuring time, as in river.
    delay
        The time to wait before the target of a sample is revealed to the model, as in river.
    step
        Number of samples between two results; 0 yields none. From 32 on, models of this package
        learn whole frames, which is faster.
    measure_time
        Whether to measure the time.
    measure_memory
        Whether to measure the memory of the model.
    yield_predictions
        Whether to add the prediction of the last sample.
    target
        The column of the targets, if it is in the frames.
    weight
        The column of the weights, if it is in the frames beside the targets. Samples are learned
        with their weights, and scored without, as in river.

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
    data = chunks_of(dataset, target, weight)
    first: Any = next(data, None)
    data = itertools.chain([] if first is None else [first], data)
    options = (step, measure_time, measure_memory, yield_predictions)
    if isinstance(first, Chunk):
        is_prompt = moment is None and delay is None
        if is_prompt and reads_columns(model) and not 0 < step < SMALLEST_CHUNK:
            # For a negative step, river yields nothing.
            return _states(data, model, metric, max(0, step), *options[1:])
        data = itertools.chain.from_iterable(chunk.rows() for chunk in data)
    return evaluate.iter_progressive_val_score(data, model, metric, moment, delay, *options)


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
    states = iter_progressive_val_score(
        dataset,
        model,
        metric,
        moment,
        delay,
        print_every,
        show_time,
        show_memory,
        target=target,
        weight=weight,
    )
    for state in states:
        parts = [f"[{state['Step']:,d}] {metric}"]
        if isinstance(model, ActiveLearningClassifier):
            parts.append(f"{state['Samples used']:,d} samples used")
        if show_time:
            hours, rest = divmod(state["Time"].seconds, 3600)
            parts.append(f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}")
        if show_memory:
            parts.append(utils.pretty.humanize_bytes(state["Memory"]))
        print(" \N{EN DASH} ".join(parts), **print_kwargs)
    return metric


def _states(
    chunks: Iterator[Chunk],
    model: Any,
    metric: Any,
    step: int,
    measure_time: bool,
    measure_memory: bool,
    yield_predictions: bool,
) -> Iterator[dict[str, Any]]:
    """Evaluate a model that learns columns; yield the results as river does."""
    parts = list(metric) if isinstance(metric, metrics.base.Metrics) else [metric]
    if not metric.works_with(model):
        names = " + ".join(type(getattr(part, "obj", part)).__name__ for part in parts)
        raise ValueError(f"{names} cannot score {type(model).__name__}")
    probabilities = isinstance(model, base.Classifier) and not metric.requires_labels
    start = time.perf_counter()
    n, prediction = 0, None

    def state() -> dict[str, Any]:
        found: dict[str, Any] = {type(part).__name__: part for part in parts}
        found["Step"] = n
        if measure_time:
            found["Time"] = datetime.timedelta(seconds=time.perf_counter() - start)
        if measure_memory:
            found["Memory"] = model._raw_memory_usage
        if yield_predictions:
            found["Prediction"] = prediction
        return found

    for chunk in chunks:
        due = range(step - n % step, len(chunk), step) if step else ()
        for part in _cut(chunk, due):
            answers = part.predicted_and_learned(model, probabilities=probabilities)
            targets = part.targets
            if model._core.regression and isinstance(targets[0], Decimal):
                targets = list(map(float, targets))  # metrics subtract floats from them
            score(metric, targets, answers)
            n, prediction = n + len(part), answers[-1]
            if step and n % step == 0:
                yield state()
    prediction = None
    if step and n > step and n % step:
        yield state()


def _cut(chunk: Chunk, stops: Iterable[int]) -> Iterator[Chunk]:
    """Yield the parts of a chunk that end at these positions, and the rest."""
    ends = [0, *stops, len(chunk)]
    if len(ends) == 2:
        return iter([chunk] if len(chunk) else [])
    return (chunk[start:stop] for start, stop in itertools.pairwise(ends))


def score(metric: Any, targets: Iterable[Any], predictions: Iterable[Any]) -> None:
    """Update a metric; as in river, missing predictions are not scored."""
    for y, prediction in zip(targets, predictions, strict=True):
        if prediction is not None and prediction != {}:
            metric.update(y_true=y, y_pred=prediction)
