"""What every estimator answers and holds: from the first sample on, and within its memory."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from tests.tools.contract import ENDS, Case
from tests.tools.estimators import (
    CASES,
    CLASSES,
    CLASSIFIERS,
    TIGHTEST,
    is_classifier,
    learn,
    make,
    stream,
)


@pytest.mark.parametrize("case", CLASSIFIERS, ids=str)
def test_every_label_from_the_first_sample_on(case: Case) -> None:
    """Probabilities sum to one and name every label ever learned, at every moment."""
    model = make(case)
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    labels = set()
    for x, y in stream(case, 250):
        model.learn_one(x, y)
        labels.add(y)
        probabilities = model.predict_proba_one(x)
        assert set(probabilities) == labels
        assert math.isclose(sum(probabilities.values()), 1.0)
        assert probabilities[model.predict_one(x)] == max(probabilities.values())


@pytest.mark.parametrize("case", ENDS, ids=str)
def test_one_target_only(case: Case) -> None:
    """A model that has met one label is sure of it; with one number, it answers that."""
    model = make(case)
    for x, _ in stream(case, 250):
        if is_classifier(case):
            model.learn_one(x, "only")
            assert model.predict_proba_one(x) == {"only": 1.0}
            assert model.predict_one(x) == "only"
        else:
            model.learn_one(x, 2.5)
            assert model.predict_one(x) == pytest.approx(2.5)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_something_is_learned(case: Case) -> None:
    """On a stream with a rule the second half is answered better than without looking at it."""
    model = make(case)
    right = error = spread = 0.0
    rows = list(stream(case, 1500))
    targets = [y for _, y in rows]
    for i, (x, y) in enumerate(rows):
        if i >= 750:
            answer = model.predict_one(x)
            if is_classifier(case):
                right += answer == y
            else:
                error += abs(answer - y)
                spread += abs(sum(targets) / len(targets) - y)
        model.learn_one(x, y)
    if is_classifier(case):
        usual = max(targets[750:].count(label) for label in set(targets))
        assert right > usual
    else:
        assert error < spread


@pytest.mark.parametrize("case", TIGHTEST, ids=str)
def test_memory_is_bounded(case: Case) -> None:
    """Once a model has filled its bounds it stays about as large as it is."""
    model = learn(make(case), stream(case, 2000))
    size = model._raw_memory_usage
    learn(model, stream(case, 4000, seed=1))
    # Three times as many samples: unbounded growth would be threefold, a last doubling of one of
    # several arrays is not.
    assert model._raw_memory_usage <= 1.5 * size


@pytest.mark.parametrize("n_columns", [8, 64])
@pytest.mark.parametrize(
    ("name", "parameters", "n_kept"),
    [
        ("DynamicTreeClassifier", {"window": 1000, "n_particles": 2}, 1000),
        ("ForgetfulDecisionTreeClassifier", {"max_retained": 1000}, 1000),
        ("ShrubEnsembleClassifier", {"window_size": 500, "n_models": 1}, 500),
        ("StreamDecisionTreeClassifier", {"batch_size": 1000}, 1000),
        ("StreamDecisionForestRegressor", {"n_models": 1, "batch_size": 1000}, 1000),
    ],
)
def test_memory_per_sample(
    name: str, parameters: dict[str, Any], n_kept: int, n_columns: int
) -> None:
    """What the page on reliability promises of windows and the space in which trees are grown."""
    model = CLASSES[name](seed=1, **parameters)
    rng = random.Random(1)
    for _ in range(1100):
        model.learn_one({f"f{k}": rng.random() for k in range(n_columns)}, rng.random() > 0.5)
    assert model._raw_memory_usage <= n_kept * (45 * n_columns + 350)
