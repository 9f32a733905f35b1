"""What every estimator answers, from the first sample on, and its snapshot afterwards."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pandas as pd
import pytest

from tests.tools.contract import ENDS, Case
from tests.tools.estimators import CLASSIFIERS, answers, is_classifier, learn, make, stream


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


def said(snapshot: Any, case: Case, rows: list[Any]) -> list[str]:
    if not is_classifier(case):
        return [repr(snapshot.predict_one(x)) for x, _ in rows]
    return [
        repr((snapshot.predict_one(x), sorted(snapshot.predict_proba_one(x).items(), key=repr)))
        for x, _ in rows
    ]


@pytest.mark.parametrize("case", ENDS, ids=str)
def test_snapshot(case: Case) -> None:
    """It says to the last bit what the model said, also out of a pickle, and cannot learn."""
    model, asked = make(case), list(stream(case, 40, seed=2))
    empty = model.snapshot()
    assert said(empty, case, asked) == answers(model, asked)
    learn(model, stream(case, 170))
    expected = answers(model, asked)
    snapshot = model.snapshot()
    message = pickle.dumps(snapshot, 5)
    assert snapshot._raw_memory_usage < model._raw_memory_usage
    assert len(message) < len(pickle.dumps(model, 5))
    frame = pd.DataFrame([x for x, _ in asked])
    answering = ["predict_many", "predict_proba_many"][: 1 + is_classifier(case)]
    for name in answering:
        assert getattr(snapshot, name)(frame).equals(getattr(model, name)(frame))
    learn(model, stream(case, 100, seed=3))
    assert said(snapshot, case, asked) == expected
    assert said(pickle.loads(message), case, asked) == expected
    assert snapshot.n_samples_seen == 170
    public = {name for name in dir(snapshot) if not name.startswith("_")}
    answering = ["predict_one", "predict_many", "predict_proba_one", "predict_proba_many"]
    assert public == {"n_samples_seen", *answering}
