"""Snapshots answer as the model did, whatever it learns later, and are smaller."""

from __future__ import annotations

import pickle
from typing import Any

import pandas as pd
import pytest

from river_extra_trees import persistence
from tests.tools.contract import ENDS, FIRST, Case
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
    learn(model, stream(case, 100, seed=3))
    assert said(snapshot, case, asked) == expected
    assert said(pickle.loads(message), case, asked) == expected
    assert snapshot.n_samples_seen == 170
    assert not hasattr(snapshot, "learn_one")


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_a_snapshot_does_not_become_a_learner(case: Case) -> None:
    """Its copy of the model lacks what learning needs: nothing public leads to the copy."""
    snapshot = learn(make(case), stream(case, 60)).snapshot()
    public = {name for name in dir(snapshot) if not name.startswith("_")}
    answering = {"predict_one", "predict_many", "predict_proba_one", "predict_proba_many"}
    assert public <= {"n_samples_seen", *answering}
    with pytest.raises(TypeError, match=r"only the estimators .* can be saved"):
        persistence.save_bytes(snapshot)


@pytest.mark.parametrize(
    "case", [("ShrubEnsembleClassifier", 2), ("DynamicTreeRegressor", 0)], ids=str
)
def test_snapshot_of_frames(case: Case) -> None:
    """It takes frames, and the options of the model."""
    model = learn(make(case), stream(case, 100))
    snapshot = model.snapshot()
    frame = pd.DataFrame([x for x, _ in stream(case, 20, seed=2)])
    assert snapshot.predict_many(frame).equals(model.predict_many(frame))
    if is_classifier(case):
        assert snapshot.predict_proba_many(frame).equals(model.predict_proba_many(frame))
    else:
        x = next(stream(case, 1, seed=2))[0]
        answer = snapshot.predict_one(x, with_dist=True)
        assert answer.interval() == model.predict_one(x, with_dist=True).interval()


@pytest.mark.parametrize("case", ENDS, ids=str)
def test_samples_seen(case: Case) -> None:
    """Every learner counts the samples that it has learned, also after a pickle."""
    model = learn(make(case), stream(case, 60))
    x, y = next(stream(case, 1, seed=2))
    model.learn_one(x, y, w=0.0)
    assert model.n_samples_seen == 60
    model = learn(pickle.loads(pickle.dumps(model)), stream(case, 20, seed=3))
    assert model.n_samples_seen == 80
    assert model.clone().n_samples_seen == 0
