"""What every estimator answers, from the first sample on."""

from __future__ import annotations

import math

import pytest

from tests.tools.contract import ENDS, Case
from tests.tools.estimators import CLASSIFIERS, is_classifier, make, stream


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
        model.learn_one(x, 2.5)
        assert model.predict_one(x) == pytest.approx(2.5)
        assert not is_classifier(case) or model.predict_proba_one(x) == {2.5: 1.0}
