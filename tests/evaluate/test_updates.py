"""Metrics that are updated by many answers are those that are updated one by one."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import metrics, utils

from river_extra_trees.evaluate.updates import updater_of
from tests.tools.metrics import state_of

CHANCES = st.floats(0, 1) | st.sampled_from([0, 1 / 9, 2 / 9, 0.5, 1])
NUMBERS = st.floats(-1e6, 1e6)
LABELS = st.sampled_from([True, False, 0, 1, 2, 1.0, "a", "b", None])


def is_made_of(name: str, base: type) -> bool:
    kind = getattr(metrics, name, None)
    return inspect.isclass(kind) and issubclass(kind, base)


LABEL_METRICS = [
    name
    for name in metrics.__all__
    if is_made_of(name, metrics.base.ClassificationMetric)
    and name != "ClassificationReport"
    and "FBeta" not in name  # which need a beta; F1 is one of them
    and getattr(metrics, name)().requires_labels
]
NUMBER_METRICS = [
    name
    for name in metrics.__all__
    if is_made_of(name, metrics.base.RegressionMetric) and name != "RMSLE"
]


def assert_alike(made: Any, pairs: list[tuple[Any, Any]], cuts: list[int]) -> None:
    """Update in parts, with other updates in between, and compare with one by one."""
    expected, found = pickle.loads(pickle.dumps(made)), made
    for truth, answer in pairs:
        expected.update(y_true=truth, y_pred=answer)
    start = 0
    for stop in [*sorted(min(cut, len(pairs)) for cut in cuts), len(pairs)]:
        truths, answers = [t for t, _ in pairs[start:stop]], [a for _, a in pairs[start:stop]]
        updater_of(found)(truths, answers)
        start = stop
    assert state_of(found) == state_of(expected)


CUTS = st.lists(st.integers(0, 40), max_size=3)


@pytest.mark.parametrize("name", LABEL_METRICS)
@settings(max_examples=25)
@given(pairs=st.lists(st.tuples(LABELS, LABELS), max_size=40), cuts=CUTS)
def test_metrics_of_labels(name: str, pairs: list[tuple[Any, Any]], cuts: list[int]) -> None:
    """Confusion matrices hold the same counts, in the same order."""
    assert_alike(getattr(metrics, name)(), pairs, cuts)


@pytest.mark.parametrize("name", NUMBER_METRICS)
@settings(max_examples=40)
@given(pairs=st.lists(st.tuples(NUMBERS | st.integers(), NUMBERS), max_size=40), cuts=CUTS)
def test_metrics_of_numbers(name: str, pairs: list[tuple[Any, Any]], cuts: list[int]) -> None:
    """Means and variances have the same bits."""
    assert_alike(getattr(metrics, name)(), pairs, cuts)


@pytest.mark.parametrize("name", ["ROCAUC", "LogLoss", "CrossEntropy"])
@settings(max_examples=40)
@given(pairs=st.lists(st.tuples(st.booleans(), CHANCES), max_size=40), cuts=CUTS)
def test_metrics_of_probabilities(
    name: str, pairs: list[tuple[Any, float]], cuts: list[int]
) -> None:
    """At their thresholds, too; a label without a probability is absent."""
    answers = [
        (truth, {True: chance, False: 1 - chance} if chance else {False: 1.0})
        for truth, chance in pairs
    ]
    assert_alike(getattr(metrics, name)(), answers, cuts)


@given(
    pairs=st.lists(st.tuples(LABELS, LABELS), max_size=40),
    cuts=CUTS,
    window=st.integers(1, 50),
    kind=st.sampled_from([metrics.Accuracy, metrics.MacroF1, metrics.F1, metrics.ConfusionMatrix]),
)
def test_rolling_metrics(
    pairs: list[tuple[Any, Any]], cuts: list[int], window: int, kind: Any
) -> None:
    """The window is the same, whatever is longer, the window or the part."""
    assert_alike(utils.Rolling(kind, window_size=window), pairs, cuts)


@given(pairs=st.lists(st.tuples(st.booleans(), CHANCES), max_size=40), cuts=CUTS)
def test_sums_of_metrics(pairs: list[tuple[Any, float]], cuts: list[int]) -> None:
    """Where one needs probabilities, the others get the likeliest label."""
    answers = [(truth, {False: 1 - chance, True: chance}) for truth, chance in pairs]
    assert_alike(metrics.Accuracy() + metrics.LogLoss(), answers, cuts)
    labels = [(truth, chance > 0.5) for truth, chance in pairs]
    assert_alike(metrics.Accuracy() + metrics.F1() + metrics.CohenKappa(), labels, cuts)


def test_metrics_that_share_a_matrix() -> None:
    """It is updated by all of them, answer by answer."""
    matrix = metrics.ConfusionMatrix()
    both = metrics.Accuracy(cm=matrix) + metrics.F1(cm=matrix, pos_val="a")
    assert_alike(both, [("a", "b"), ("b", "a"), ("c", "c")], [])


def test_weights_of_earlier_updates_are_kept() -> None:
    """Where the counts are no whole numbers, sums are taken one by one."""
    metric = metrics.Accuracy()
    metric.update(1, 1, w=0.1)
    assert_alike(metric, [(1, 1)] * 30, [])


class Own(metrics.Accuracy):
    """A metric with an update of its own."""

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        super().update(y_true, y_true if y_pred == "joker" else y_pred, w)


def test_metrics_of_others_are_updated_one_by_one() -> None:
    """They may do what they like."""
    assert_alike(Own(), [(1, "joker"), (2, 1)], [])
