"""Metrics of a race: their names, and the positive label of those that need one."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from river import base, metrics, utils

from river_extra_trees import evaluate
from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._estimator.fit import near
from river_extra_trees.cli import UserError
from river_extra_trees.cli.learners import classes_in, created, parse

MOST_OF_A_LABEL = 0.8  # from this share of one label on, predicting it always is a rival


class ForLabel(metrics.base.BinaryMetric):
    """A metric of river that takes one label as positive, whatever the labels are.

    River's `ROCAUC` reads the probability of the label True, also if `pos_val` is another one.

    Parameters
    ----------
    metric
        The metric, which gets the labels True and False.
    label
        The positive label.
    spec
        The specification of the metric.
    """

    def __init__(self, metric: Any, label: Hashable, spec: str) -> None:
        self.metric, self.label, self.spec = metric, label, spec

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Add a sample."""
        if isinstance(y_pred, dict):
            share = y_pred.get(self.label, 0.0)
            y_pred = {True: share, False: 1.0 - share}
        else:
            y_pred = y_pred == self.label
        self.metric.update(y_true == self.label, y_pred)

    def get(self) -> float:
        """Return the value of the metric."""
        return float(self.metric.get())

    @property
    def requires_labels(self) -> bool:
        """Whether labels are scored, and not probabilities."""
        return bool(self.metric.requires_labels)

    @property
    def bigger_is_better(self) -> bool:
        """Whether a larger value is better."""
        return bool(self.metric.bigger_is_better)


class Scoring:
    """The metrics of a race.

    Parameters
    ----------
    specs
        Their specifications, by river's names or those of `river_extra_trees.evaluate`.
    first_labels
        Returns the labels of the first samples. The rarest is the positive one, unless the labels
        are 0 and 1 or truth values, or a specification sets `pos_val`.
    rolling
        Number of the latest samples that count; None counts all.
    """

    def __init__(
        self,
        specs: list[str],
        first_labels: Callable[[], Iterable[Hashable]],
        rolling: int | None = None,
    ) -> None:
        self.specs, self.rolling = specs, rolling
        self.first_labels = first_labels
        self.positive: dict[str, Hashable] = {}  # by specification

    def metrics_for(self, model: base.Estimator) -> dict[str, Any]:
        """Create the metrics of a model, by the names that the results show."""
        of = "" if self.rolling is None else f", last {self.rolling:,}"
        return {spec + of: self._made(spec, model) for spec in self.specs}

    def _made(self, spec: str, model: base.Estimator) -> Any:
        metric: Any = make_metric(spec, model)
        _, parameters = parse(spec)
        is_binary = isinstance(metric, metrics.base.BinaryMetric)
        label = parameters.pop("pos_val", None)
        n_labels = len(self.labels) if is_binary else 0
        if is_binary and label is None:
            label = self._rarest(spec)
            # The loss of two labels is the same, whichever is positive.
            if label is not True and not (isinstance(metric, metrics.LogLoss) and n_labels == 2):
                self.positive[spec] = label
        if self.rolling is not None:
            metric = utils.Rolling(type(metric), window_size=self.rolling, **parameters)
        elif is_binary:
            metric = created(spec, type(metric), parameters)
        return ForLabel(metric, label, spec) if is_binary else metric

    @functools.cached_property
    def labels(self) -> collections.Counter[Hashable]:
        """Number of the first samples by label."""
        return collections.Counter(self.first_labels())

    def _rarest(self, spec: str) -> Hashable:
        if all(isinstance(label, bool | int) and label in (0, 1) for label in self.labels):
            return True
        if len(self.labels) < 2:
            label = next(iter(self.labels), None)
            raise UserError(
                f"the first samples all have the label {safe_repr(label)}; name the positive label "
                f"of {spec}, as {of_label(spec)}"
            )
        return min(self.labels, key=lambda label: (self.labels[label], safe_repr(label)))

    def notes(self) -> Iterator[str]:
        """Say which label is positive, where no specification does."""
        for spec, label in self.positive.items():
            n = self.labels.total()
            share = f"{100 * self.labels[label] / n:.2g} % of the first {n:,}"
            yield (
                f"{spec} takes {safe_repr(label)}, the rarest label ({share}), as positive; "
                f"{of_label(spec)} names another"
            )


def of_label(spec: str) -> str:
    """Return a specification with a place for the positive label.

    Examples
    --------
    >>> from river_extra_trees.cli import scoring
    >>> scoring.of_label("F1"), scoring.of_label("FBeta:beta=2,pos_val=ok")
    ('F1:pos_val=LABEL', 'FBeta:beta=2,pos_val=LABEL')

    """
    name, parameters = parse(spec)
    given = [f"{key}={value!r}" for key, value in parameters.items() if key != "pos_val"]
    return f"{name}:{','.join([*given, 'pos_val=LABEL'])}"


def make_metric(spec: str, model: base.Estimator) -> metrics.base.Metric:
    """Create a metric by its name, if it can score the model with one number.

    Examples
    --------
    >>> from river import dummy
    >>> from river_extra_trees.cli import scoring
    >>> scoring.make_metric("FBeta:beta=2", dummy.NoChangeClassifier())
    FBeta: 0.00%

    """
    name, parameters = parse(spec)
    known = {
        **classes_in(metrics, metrics.base.Metric),
        **classes_in(evaluate, metrics.base.Metric),
    }
    if name not in known:
        raise UserError(f"there is no metric {name!r}{near(name, known)}")
    metric: metrics.base.Metric = created(name, known[name], parameters)
    try:
        float(metric.get())
    except (NotImplementedError, TypeError, ValueError):
        raise UserError(f"the metric {name} does not give a single number") from None
    if not metric.works_with(model):
        raise UserError(f"the metric {name} cannot score {type(model).__name__}")
    return metric


def notes_on(
    labels: collections.Counter[Any], metrics_by_learner: dict[str, dict[str, Any]]
) -> Iterator[str]:
    """Say that most labels are equal, and which scores are 0 because of the positive label."""
    if found := frequent(labels):
        label, share = found
        yield (
            f"{100 * share:.3g} % of the labels are {safe_repr(label)}: to predict it always has "
            f"an accuracy of {share:.4g}; compare with PriorClassifier, and by LogLoss"
        )
    silent: dict[tuple[str, str, Hashable], list[str]] = {}
    for learner, found_metrics in metrics_by_learner.items():
        for name, metric in found_metrics.items():
            if isinstance(metric, ForLabel) and metric.requires_labels and not metric.get():
                silent.setdefault((name, metric.spec, metric.label), []).append(learner)
    for (name, spec, label), names in silent.items():
        label = next((each for each in labels if each == label), label)  # 1, and not True
        why = (
            f"never predicted {safe_repr(label)} rightly"
            if label in labels
            else f"the positive label {safe_repr(label)} never comes; {of_label(spec)} names it"
        )
        yield f"{name} is 0 for {', '.join(names)}: {why}"


def frequent(labels: collections.Counter[Any]) -> tuple[Any, float] | None:
    """Return the label that most samples have, with its share; None if there is none.

    Examples
    --------
    >>> from collections import Counter
    >>> from river_extra_trees.cli import scoring
    >>> scoring.frequent(Counter({"ok": 94, "fraud": 6}))
    ('ok', 0.94)

    """
    for label, n in labels.most_common(1):
        if n >= MOST_OF_A_LABEL * labels.total() and len(labels) > 1:
            return label, n / labels.total()
    return None
