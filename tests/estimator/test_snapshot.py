"""Snapshots answer as the model did, whatever it learns later, and are smaller."""

from __future__ import annotations

import pickle
from typing import Any

import pandas as pd
import pytest

from tests.tools.contract import ENDS, Case
from tests.tools.estimators import answers, is_classifier, learn, make, stream


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
