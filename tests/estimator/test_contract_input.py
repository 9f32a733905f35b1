"""What every estimator does with unusual input: take it, or refuse it and stay as it was."""

from __future__ import annotations

import copy
import random
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from river_extra_trees import StreamDecisionTreeClassifier, persistence
from tests.tools.contract import (
    CORE_CLASSIFIERS,
    CORE_REGRESSORS,
    CORES,
    FIRST,
    FIRST_CLASSIFIERS,
    FIRST_REGRESSORS,
    Case,
    full_of_labels,
    is_finite,
    taught,
    told,
)
from tests.tools.estimators import (
    CASES,
    answers,
    frozen,
    learn,
    make,
    stream,
)
from tests.tools.inputs import (
    HUGE,
    LABELS,
    REFUSED_FEATURES,
    REFUSED_LABELS,
    REFUSED_TARGETS,
    REFUSED_WEIGHTS,
    TAKEN_FEATURES,
    TAKEN_TARGETS,
)


@pytest.mark.parametrize(("case", "value"), told(CORES, TAKEN_FEATURES))
def test_feature_is_taken(case: Case, value: Any) -> None:
    """A missing value, any kind of number and any name are learned, and the answers stay sane."""
    model, x, y = taught(case)
    for _ in range(30):
        model.learn_one({**x, "a": value}, y)
    assert is_finite(model, {**x, "a": value})
    assert is_finite(model, x)
    learn(model, stream(case, 60, seed=1))
    assert is_finite(model, x)


@pytest.mark.parametrize(("case", "refused"), told(CORES, REFUSED_FEATURES))
def test_feature_is_refused(case: Case, refused: tuple[Any, type[Exception]]) -> None:
    """What is neither missing nor a finite number nor a name is refused by name, unlearned."""
    value, error = refused
    model, x, y = taught(case)
    before = frozen(model)
    for name in ("a", "never seen"):
        with pytest.raises(error, match=f"feature '{name}'"):
            model.learn_one({**x, "new": 1.0, name: value}, y)
        with pytest.raises(error, match=f"feature '{name}'"):
            model.predict_one({**x, name: value})
    assert frozen(model) == before


@pytest.mark.parametrize(("case", "x"), told(CORES, [None, 1.0, "text", [("a", 1.0)]]))
def test_sample_must_be_a_mapping(case: Case, x: Any) -> None:
    """A sample that is no mapping is refused, unlearned."""
    model, _, y = taught(case)
    before = frozen(model)
    with pytest.raises(TypeError):
        model.learn_one(x, y)
    assert frozen(model) == before


@pytest.mark.parametrize(("case", "y"), told(CORE_REGRESSORS, REFUSED_TARGETS))
def test_target_is_refused(case: Case, y: Any) -> None:
    """A target that is no finite number is refused, unlearned."""
    model, x, _ = taught(case)
    before = frozen(model)
    with pytest.raises((TypeError, ValueError), match="target"):
        model.learn_one({**x, "new": 1.0}, y)
    assert frozen(model) == before


@pytest.mark.parametrize(("case", "y"), told(CORE_REGRESSORS, TAKEN_TARGETS))
def test_target_of_any_number_type(case: Case, y: Any) -> None:
    """Every kind of number is a target, and means what the float of it means."""
    model, x, _ = taught(case)
    twin = model.clone(include_attributes=True)
    model.learn_one(x, y)
    twin.learn_one(x, float(y))
    assert model.predict_one(x) == twin.predict_one(x)


@pytest.mark.parametrize(("case", "label"), told(CORE_CLASSIFIERS, REFUSED_LABELS))
def test_label_is_refused(case: Case, label: Any) -> None:
    """A label that is missing or cannot be a key is refused, unlearned."""
    model, x, _ = taught(case)
    before = frozen(model)
    with pytest.raises((TypeError, ValueError), match="label"):
        model.learn_one({**x, "new": 1.0}, label)
    assert frozen(model) == before


@pytest.mark.parametrize(("case", "labels"), told(CORE_CLASSIFIERS, LABELS))
def test_labels_of_any_kind(case: Case, labels: tuple[Any, Any]) -> None:
    """Labels of any hashable kind come back as they went in."""
    model = make(case)
    for i in range(120):
        model.learn_one({"a": float(i % 2), "b": i}, labels[i % 2])
    probabilities = model.predict_proba_one({"a": 0.0, "b": 3})
    assert set(probabilities) == set(labels)
    assert {type(label) for label in probabilities} == {type(label) for label in labels}
    assert model.predict_one({"a": 0.0, "b": 3}) == labels[0]
    assert model.predict_one({"a": 1.0, "b": 4}) == labels[1]
    for kind in (pd.DataFrame, pl.DataFrame):
        answers = model.predict_many(kind({"a": [0.0, 1.0, 0.0], "b": [3, 4, 3]})).to_list()
        assert answers == [labels[0], labels[1], labels[0]]
        assert len({repr(each) for each in answers}) == 2
        assert model.predict_many(kind({"a": [1.0], "b": [4]})).to_list() == [labels[1]]


@pytest.mark.parametrize(("case", "w"), told(CORES, REFUSED_WEIGHTS))
def test_weight_is_refused(case: Case, w: Any) -> None:
    """A weight that is no finite number from zero on is refused, unlearned."""
    model, x, y = taught(case)
    before = frozen(model)
    with pytest.raises((TypeError, ValueError), match=r"\bw\b"):
        model.learn_one({**x, "new": 1.0}, y, w=w)
    assert frozen(model) == before


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_a_name_that_cannot_be_written_is_a_name(case: Case) -> None:
    """By samples and by frames alike."""
    (one, x, y), (other, _, _) = taught(case), taught(case)
    frame = pd.DataFrame({"a": [0.1, 0.2, 0.3], HUGE: [None, None, 3.0]})
    one.learn_many(frame, [y] * 3)
    for row in ({"a": 0.1}, {"a": 0.2}, {"a": 0.3, HUGE: 3.0}):
        other.learn_one(row, y)
    assert frozen(one) == frozen(other)
    assert one.predict_one({**x, HUGE: 1.0}) == other.predict_one({**x, HUGE: 1.0})


@pytest.mark.parametrize("case", CASES, ids=str)
def test_weight_zero_learns_nothing(case: Case) -> None:
    """A sample of weight zero leaves the model as it was, new feature and all."""
    model, x, y = taught(case)
    before = frozen(model)
    model.learn_one({**x, "new": 1.0}, y, w=0)
    assert frozen(model) == before


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_refused_before_the_first_sample(case: Case) -> None:
    """A refusal leaves even a model without a sample as it was."""
    model = make(case)
    model.predict_one({"a": 1.0})
    before = frozen(model)
    with pytest.raises(ValueError, match="a"):
        model.learn_one({"a": float("inf")}, 1)
    assert frozen(model) == before


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_features(case: Case) -> None:
    """Samples without features are learned and answered by frequencies or the mean."""
    model = make(case)
    for _, y in stream(case, 120):
        model.learn_one({}, y)
        assert is_finite(model, {})


@pytest.mark.slow
@pytest.mark.parametrize("case", [*CORES, ("ExtraTreesRegressor", 0)], ids=str)
def test_ten_thousand_features(case: Case) -> None:
    """Ten thousand features are learned and answered."""
    model = make(case)
    for i, (_, y) in enumerate(stream(case, 60)):
        model.learn_one({f"f{k}": float((i * k) % 11) for k in range(10_000)}, y)
    assert is_finite(model, {f"f{k}": 1.0 for k in range(0, 10_000, 3)})


@pytest.mark.parametrize("case", CASES, ids=str)
def test_monotone_streams(case: Case) -> None:
    """Constant, sorted and reversely sorted features are learned and answered."""
    for step in (0, 1, -1):
        model = make(case)
        for i, (_, y) in enumerate(stream(case, 200)):
            model.learn_one({"a": step * i, "b": "same"}, y)
        assert is_finite(model, {"a": 100 * step, "b": "same"}), step


@pytest.mark.parametrize("case", CASES, ids=str)
def test_feature_that_changes_its_kind(case: Case) -> None:
    """A feature may be now a number, now a name, now missing."""
    model = make(case)
    for i, (_, y) in enumerate(stream(case, 300)):
        model.learn_one({"a": (0.5, "half", None, i, True)[i % 5], "b": i % 7}, y)
        assert is_finite(model, {"a": ("half", 0.5, None)[i % 3], "b": 1})


@pytest.mark.parametrize("case", FIRST_REGRESSORS, ids=str)
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


@pytest.mark.parametrize("case", CASES, ids=str)
def test_input_is_left_alone(case: Case) -> None:
    """Samples are neither changed nor kept."""
    model = make(case)
    rows = list(stream(case, 120))
    twin = learn(make(case), rows)
    for x, y in rows:
        copy = dict(x)
        model.learn_one(x, y)
        model.predict_one(x)
        assert repr(x) == repr(copy)
        x.clear()
    rest = list(stream(case, 50, seed=1))
    assert answers(model, rest) == answers(twin, rest)


@pytest.mark.parametrize("case", CORE_CLASSIFIERS, ids=str)
def test_too_many_labels(case: Case) -> None:
    """A stream of ever-new labels is refused from the 1,025th label on; known ones go on."""
    model = full_of_labels(case)
    for i in range(1020, 1024):
        model.learn_one({"a": float(i % 10)}, f"label {i}")
    before = frozen(model)
    with pytest.raises(ValueError, match="label 1024"):
        model.learn_one({"a": 1.0, "new": 2.0}, "label 1024")
    assert frozen(model) == before
    model.learn_one({"a": 1.0}, "label 7")
    assert len(model.predict_proba_one({"a": 1.0})) == 1024


@pytest.mark.parametrize("case", FIRST_CLASSIFIERS, ids=str)
def test_one_class_only(case: Case) -> None:
    """A stream with one label is answered by it, for sure; before the first sample by none."""
    model = make(case)
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    for x, _ in stream(case, 120):
        model.learn_one(x, "only")
    assert model.predict_proba_one({"a": 0.5}) == {"only": 1.0}
    assert model.predict_one({}) == "only"


@pytest.mark.parametrize("case", FIRST_CLASSIFIERS, ids=str)
def test_label_that_comes_late(case: Case) -> None:
    """A label is not among the answers until it is learned, and is from then on."""
    model, x, _ = taught(case)
    assert "late" not in model.predict_proba_one(x)
    for _ in range(60):
        model.learn_one(x, "late")
    assert "late" in model.predict_proba_one(x)
    assert is_finite(model, x)


@pytest.mark.parametrize("y", [1e308, -1e200])
@pytest.mark.parametrize("case", FIRST_REGRESSORS, ids=str)
def test_target_too_large(case: Case, y: float) -> None:
    """A target whose square is no float any more is refused, unlearned."""
    model, x, _ = taught(case)
    before = frozen(model)
    with pytest.raises(ValueError, match="target"):
        model.learn_one(x, y)
    assert frozen(model) == before


@pytest.mark.parametrize("w", [1e-300, 1e-5, 1e50])
@pytest.mark.parametrize("case", FIRST, ids=str)
def test_weight_of_any_size(case: Case, w: float) -> None:
    """Very light and very heavy samples are learned, and the answers stay finite."""
    model, x, y = taught(case)
    for _ in range(30):
        model.learn_one(x, y, w=w)
        assert is_finite(model, x)
    learn(model, stream(case, 60, seed=1))
    assert is_finite(model, x)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_weights_of_all_sizes_in_one_stream(case: Case) -> None:
    """Light samples vanish beside heavy ones, and what rounding leaves of them does no harm."""
    for exponents in ((0.0, 25.0), (-300.0, 99.0)):
        rng = random.Random(1)
        model = make(case)
        for i, (x, y) in enumerate(stream(case, 120)):
            model.learn_one(x, y, w=10.0 ** rng.uniform(*exponents))
            assert i < 3 or is_finite(model, x)
        model._core.check()
        assert answers(copy.deepcopy(model), [(x, y)]) == answers(model, [(x, y)])


@pytest.mark.parametrize("w", [5e-324, 1e-310])
@pytest.mark.parametrize("case", FIRST, ids=str)
def test_weight_too_faint_counts_as_none(case: Case, w: float) -> None:
    """It has no full precision, and what is divided by it overflows."""
    model = make(case)
    for x, y in stream(case, 30):
        model.learn_one(x, y, w=w)
    assert persistence.save_bytes(model) == persistence.save_bytes(make(case))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_faintest_weight(case: Case) -> None:
    """The faintest one that counts gives answers, from the first sample on."""
    model = make(case)
    for x, y in stream(case, 30):
        model.learn_one(x, y, w=sys.float_info.min)
        assert is_finite(model, x)


@pytest.mark.parametrize("case", FIRST_CLASSIFIERS, ids=str)
def test_labels_of_mixed_types(case: Case) -> None:
    """Labels are told apart as keys of a dict: 1, True, numpy's 1 and 1.0 are one, "1" is not."""
    model = make(case)
    for i in range(120):
        model.learn_one({"a": float(i % 2)}, (1, "1", True, "1", np.int64(1), "1")[i % 6])
    assert list(map(repr, model.predict_proba_one({"a": 0.0}))) == ["1", "'1'"]
    assert model.predict_one({"a": 1.0}) == "1"


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_duplicates(case: Case) -> None:
    """One sample over and over, with one target or with several, is learned and answered."""
    model = make(case)
    x, targets = {"a": 0.1, "b": "same"}, [y for _, y in stream(case, 300)]
    for y in targets:
        model.learn_one(x, y)
    assert is_finite(model, x)


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_unknown_features_only(case: Case) -> None:
    """A sample of which no feature was ever learned is answered."""
    model, _, _ = taught(case)
    assert is_finite(model, {"never": 1.0, "seen": "before"})


def test_names_that_no_file_holds_as_text_are_shown() -> None:
    """Half a surrogate pair is a text to Python, but none in UTF-8: tables have it as it is."""
    model = StreamDecisionTreeClassifier(batch_size=8, seed=1)
    for i in range(64):
        model.learn_one({"\ud800": "\udc00x"[i % 2]}, "\udfffy"[i % 2])
    table = model.to_dataframe()
    assert table["feature"][0] == "\ud800"
    assert table["threshold"][0] in ("\udc00", "x")
    assert "\udfff (100%)" in list(table["prediction"])
    assert table["depth"].dtype == int
    loaded = persistence.load_bytes(persistence.save_bytes(model))
    assert repr(loaded.to_dataframe()) == repr(table)
    assert list(make(("StreamDecisionTreeClassifier", 0)).to_dataframe()["is_leaf"]) == [True]


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
