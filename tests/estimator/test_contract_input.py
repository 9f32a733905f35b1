"""What every estimator does with unusual input: take it, or refuse it and stay as it was."""

import collections
import contextlib
import copy
from typing import Any

import pandas as pd
import polars as pl
import pytest

from river_extra_trees import StreamDecisionTreeClassifier, persistence
from tests.tools.contract import CORE_CLASSIFIERS, CORE_REGRESSORS, CORES, FIRST, Case, taught, told
from tests.tools.estimators import frozen, is_classifier, learn, make, stream
from tests.tools.inputs import (
    HUGE,
    LABELS,
    REFUSED_FEATURES,
    REFUSED_LABELS,
    REFUSED_TARGETS,
    REFUSED_WEIGHTS,
    TAKEN_TARGETS,
)

REFUSED = [
    *told(CORES, [("feature", value, error) for value, error in REFUSED_FEATURES]),
    *told(CORES, [("sample", x, TypeError) for x in (None, 1.0, "text", [("a", 1.0)])]),
    *told(CORES, [("weight", w, None) for w in REFUSED_WEIGHTS]),
    *told(CORE_REGRESSORS, [("target", y, None) for y in REFUSED_TARGETS]),
    *told(CORE_CLASSIFIERS, [("label", y, None) for y in REFUSED_LABELS]),
]


@pytest.mark.parametrize(("case", "refused"), REFUSED)
def test_refused(case: Case, refused: tuple[str, Any, type[Exception] | None]) -> None:
    """Features by name, all else by what it is; nothing is learned."""
    what, value, error = refused
    model, x, y = taught(case)
    before = frozen(model)
    errors = (TypeError, ValueError) if error is None else error
    if what == "feature":
        for name in ("a", "c", "never seen"):
            with pytest.raises(errors, match=f"^feature '{name}'"):
                model.predict_one({**x, name: value})
            with pytest.raises(errors, match=f"^feature '{name}'"):
                model.learn_one({**x, "c": "never met", "new": 1.0, name: value}, y)
    elif what == "sample":
        with pytest.raises(errors):
            model.learn_one(value, y)
    elif what == "weight":
        with pytest.raises(errors, match=r"\bw\b"):
            model.learn_one({**x, "new": 1.0}, y, w=value)
    else:
        with pytest.raises(errors, match=what):
            model.learn_one({**x, "new": 1.0}, value)
    assert frozen(model) == before


@pytest.mark.parametrize(("case", "y"), told(CORE_REGRESSORS, TAKEN_TARGETS))
def test_target_of_any_number_type(case: Case, y: Any) -> None:
    """Every kind of number is a target, and means what the float of it means."""
    model, x, _ = taught(case)
    twin = model.clone(include_attributes=True)
    model.learn_one(x, y)
    twin.learn_one(x, float(y))
    assert model.predict_one(x) == twin.predict_one(x)


@pytest.mark.parametrize(("case", "labels"), told(CORE_CLASSIFIERS, LABELS))
def test_labels_of_any_kind(case: Case, labels: tuple[Any, Any]) -> None:
    """Labels of any hashable kind come back as they went in."""
    model = make(case)
    for i in range(120):
        model.learn_one({"a": float(i % 2), "b": i}, labels[i % 2])
    y = pd.Index(labels) if isinstance(labels[0], int | float) else list(labels)
    model.learn_many(pd.DataFrame({"a": [0.0, 1.0], "b": [120, 121]}), y)
    probabilities = model.predict_proba_one({"a": 0.0, "b": 3})
    assert list(map(repr, probabilities)) == list(map(repr, labels))
    assert model.predict_one({"a": 0.0, "b": 3}) == labels[0]
    assert model.predict_one({"a": 1.0, "b": 4}) == labels[1]
    for kind in (pd.DataFrame, pl.DataFrame):
        answers = model.predict_many(kind({"a": [0.0, 1.0, 0.0], "b": [3, 4, 3]})).to_list()
        assert answers == [labels[0], labels[1], labels[0]]
        assert len({repr(each) for each in answers}) == 2


@pytest.mark.parametrize("w", [0, 5e-324, 1e-310])
@pytest.mark.parametrize("case", FIRST, ids=str)
def test_weight_that_counts_as_none(case: Case, w: float) -> None:
    """A sample without weight leaves the model as it was, new feature and all.

    A weight too faint has no full precision, and what is divided by it overflows.
    """
    model, x, y = taught(case)
    before = frozen(model)
    model.learn_one(collections.UserDict({**x, "new": 1.0}), y, w=w)
    assert frozen(model) == before


@pytest.mark.parametrize("case", [case for case in FIRST if not is_classifier(case)], ids=str)
def test_answers_stay_near_the_targets(case: Case) -> None:
    """However far off a sample lies, the answer stays within one range of the targets seen."""
    model = make(case)
    rows = list(stream(case, 300))
    low, high = min(y for _, y in rows), max(y for _, y in rows)
    for x, y in rows:
        model.learn_one(x, y)
        for far in (1e300, -1e300):
            answer = model.predict_one({**x, "a": far, 7: -far})
            assert 2 * low - high <= answer <= 2 * high - low


@pytest.mark.filterwarnings("ignore:the model tells 1,024 labels")
@pytest.mark.parametrize("case", CORE_CLASSIFIERS, ids=str)
def test_many_labels(case: Case) -> None:
    """The 1,025th takes the place of another, or is refused; rows without weight bring none."""
    model = learn(make(case), [({"a": float(i % 10)}, f"label {i}") for i in range(1020)])
    labels = [f"label {i}" for i in (3, 1020, 1021, 1021, 1022, 1023, 1024)]
    frame = pd.DataFrame({"a": [float(i) for i in range(7)]})
    for w in (0.0, 1e-310, 1.0):
        full = copy.deepcopy(model)
        with contextlib.suppress(ValueError):
            full.learn_many(frame, labels, [*[1.0] * 5, w, 1.0])
        known = full.predict_proba_one({}).keys()
        assert (len(known) <= 1024, "label 3" in known) == (True, True)
        assert ("label 1023" in known, full.n_samples_seen >= 1026) == (w == 1.0, True)
        assert w == 1.0 or "label 1024" in known


def test_a_label_that_cannot_be_written() -> None:
    """A number of more digits than Python writes is a label, and told as what it is."""
    rows = [({"a": float(i % 2), (HUGE, 1): 1.0}, (HUGE, "x")[i % 2]) for i in range(60)]
    model = StreamDecisionTreeClassifier(batch_size=20, seed=1)
    for x, y in rows:
        model.learn_one({**x, "b": (HUGE, 1)}, y)
    assert model.predict_one({"a": 0.0}) == HUGE
    text = "<int that cannot be written>"
    assert text in model.to_text()
    assert text in model.debug_one({"a": 0.0})
    assert text in list(model.to_dataframe()["prediction"])[1]
    assert any(text in box.get_text() for box in model.draw(max_depth=None).texts_)
    assert StreamDecisionTreeClassifier(seed=HUGE)._repr_html_().count("cannot be written") == 1
    assert model.predict_many(pd.DataFrame({"a": [0.0]})).to_list() == [HUGE]
    assert model.predict_proba_many(pl.DataFrame({"a": [0.0]})).columns == [text, "x"]
    loaded = persistence.load_bytes(persistence.save_bytes(model))
    assert loaded.predict_proba_one({"a": 0.0}) == model.predict_proba_one({"a": 0.0})
