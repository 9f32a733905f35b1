"""What every estimator answers, and its snapshot afterwards.

The same seed and the same stream give the same bits, however they arrive.
"""

import copy
import hashlib
import math
import os
import pickle
import random
import subprocess
import sys
from typing import Any

import pandas as pd
import pytest

from river_extra_trees import persistence
from tests.tools.contract import ENDS, Case
from tests.tools.estimators import (
    CASES,
    CLASSES,
    CLASSIFIERS,
    answers,
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
    answering += ["explain_one", "explain_many"]
    assert public == {"n_samples_seen", *answering}


# --- The same bits


def split_stream(case: Case) -> tuple[list[Any], list[Any], list[Any]]:
    """Return rows to learn first, rows to learn then, and rows to answer."""
    return (
        list(stream(case, 150)),
        list(stream(case, 130, seed=1)),
        list(stream(case, 60, seed=2)),
    )


def shuffled(rows: list[Any]) -> list[Any]:
    """The same samples with their keys in another order."""
    rng = random.Random(5)
    return [(dict(rng.sample(list(x.items()), len(x))), y) for x, y in rows]


@pytest.mark.parametrize("case", ENDS, ids=str)
def test_copies_go_on_alike(case: Case) -> None:
    """A copy made in mid-stream goes on as the original does, and apart from it; a clone is new.

    A model that is asked in between learns as one that is not, whatever the order of the keys.
    """
    first, then, asked = split_stream(case)
    model, quiet = make(case), learn(make(case), shuffled(first))
    for row in first:
        answers(model, [row, *asked[:2]])
        learn(model, [row])
    copies = [
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        persistence.load_bytes(persistence.save_bytes(model)),
        model.clone(include_attributes=True),
        quiet,
    ]
    before = answers(model, asked)
    learn(model, then)
    expected = answers(model, asked)
    for other in copies:
        with pytest.raises(AttributeError, match="seed"):
            other.seed = 5
        assert answers(other, asked) == before
        assert answers(learn(other, then), asked) == expected
    clone = model.clone()
    assert answers(learn(clone, then), asked) == answers(learn(make(case), then), asked)


@pytest.mark.parametrize("name", CLASSES)
def test_without_a_seed(name: str) -> None:
    """Without a seed a model draws one, once: its copies go on as it does."""
    case = (name, 0)
    first, then, asked = split_stream(case)
    model = learn(make(case, seed=None), first)
    other = copy.deepcopy(model)
    assert model.seed is None
    assert answers(learn(model, then), asked) == answers(learn(other, then), asked)


def digest_of_all_answers() -> str:
    """Return a digest of what every estimator says after learning."""
    digest = hashlib.sha256()
    for case in CASES:
        first, _, asked = split_stream(case)
        digest.update(repr((case, answers(learn(make(case), first), asked))).encode())
    return digest.hexdigest()


@pytest.mark.slow
def test_hash_seed() -> None:
    """Another interpreter, whatever the seed of its string hashes, comes to the same answers."""
    run = subprocess.run(
        [sys.executable, "-c", f"import {__name__} as tests; print(tests.digest_of_all_answers())"],
        env={**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == digest_of_all_answers()
