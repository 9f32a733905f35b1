"""What every estimator answers and holds: from the first sample on, and within its memory."""

from __future__ import annotations

import math
import random
from typing import Any

import narwhals
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.tools.estimators import (
    CASES,
    CLASSES,
    CLASSIFIERS,
    REGRESSORS,
    TIGHTEST,
    answers,
    frozen,
    is_classifier,
    learn,
    make,
    stream,
)

Case = tuple[str, int]


@pytest.mark.parametrize("case", CLASSIFIERS, ids=str)
def test_classifier_without_a_sample(case: Case) -> None:
    """A classifier that has learned nothing knows no label."""
    model = make(case)
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}


@pytest.mark.parametrize("case", REGRESSORS, ids=str)
def test_regressor_without_a_sample(case: Case) -> None:
    """A regressor that has learned nothing answers a finite number."""
    assert math.isfinite(make(case).predict_one({"a": 1.0}))


@pytest.mark.parametrize("case", CLASSIFIERS, ids=str)
def test_every_label_from_the_first_sample_on(case: Case) -> None:
    """Probabilities sum to one and name every label ever learned, at every moment."""
    model = make(case)
    labels = set()
    for x, y in stream(case, 250):
        model.learn_one(x, y)
        labels.add(y)
        probabilities = model.predict_proba_one(x)
        assert set(probabilities) == labels
        assert math.isclose(sum(probabilities.values()), 1.0)
        assert probabilities[model.predict_one(x)] == max(probabilities.values())


@pytest.mark.parametrize("case", CLASSIFIERS, ids=str)
def test_one_label_only(case: Case) -> None:
    """A classifier that has met one label is sure of it."""
    model = make(case)
    for x, _ in stream(case, 250):
        model.learn_one(x, "only")
        assert model.predict_one(x) == "only"
        assert model.predict_proba_one(x) == {"only": 1.0}


@pytest.mark.parametrize("case", REGRESSORS, ids=str)
def test_one_target_only(case: Case) -> None:
    """A regressor that has met one target answers it."""
    model = make(case)
    for x, _ in stream(case, 250):
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


@pytest.mark.parametrize("case", TIGHTEST, ids=str)
def test_memory_counts_what_is_held(case: Case) -> None:
    """The size a model reports covers at least the state that its pickle holds."""
    model = learn(make(case), stream(case, 2000))
    assert model._raw_memory_usage >= 0.5 * len(frozen(model))


# --- Data frames

MAKERS = {
    "pandas": (pd.DataFrame, pd.Series),
    "polars": (pl.DataFrame, pl.Series),
    "pyarrow": (pa.table, lambda values: pa.chunked_array([values])),
}


def table(case: Case, n: int, seed: int = 0) -> tuple[dict[str, list[Any]], list[Any]]:
    """Return columns with missing values and names, and targets."""
    rows = list(stream(case, n, seed))
    columns = {name: [x.get(name) for x, _ in rows] for name in ("a", "b", "c")}
    return columns, [y for _, y in rows]


def rows_of(columns: dict[str, list[Any]], targets: list[Any]) -> list[Any]:
    return [
        ({name: column[i] for name, column in columns.items()}, y) for i, y in enumerate(targets)
    ]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_learn_many(case: Case) -> None:
    """Frames of any library, cut anywhere, are learned as their rows are, to the last bit."""
    columns, targets = table(case, 170)
    one_by_one = learn(make(case), rows_of(columns, targets))
    asked = list(stream(case, 60, seed=2))
    expected = answers(one_by_one, asked)
    for kind, (frame, series) in MAKERS.items():
        model = make(case)
        for start, stop in ((0, 1), (1, 1), (1, 64), (64, 170)):
            part = {name: column[start:stop] for name, column in columns.items()}
            model.learn_many(frame(part), series(targets[start:stop]))
        assert answers(model, asked) == expected, kind


@pytest.mark.parametrize("case", CASES, ids=str)
def test_predict_many(case: Case) -> None:
    """The answers for a frame come in its own library's kind and are those of its rows."""
    columns, targets = table(case, 100)
    model = learn(make(case), rows_of(columns, targets))
    asked, some = table(case, 40, seed=2)
    expected = [model.predict_one(x) for x, _ in rows_of(asked, some)]
    for kind, (frame, series) in MAKERS.items():
        predictions = model.predict_many(frame(asked))
        assert type(predictions) is type(series(some))
        found = predictions.to_pylist() if kind == "pyarrow" else predictions.to_list()
        assert found == expected, kind


@pytest.mark.parametrize("case", CLASSIFIERS, ids=str)
def test_predict_proba_many(case: Case) -> None:
    """The probabilities for a frame come in its own library's kind and are those of its rows."""
    columns, targets = table(case, 100)
    model = learn(make(case), rows_of(columns, targets))
    asked, some = table(case, 40, seed=2)
    expected = [model.predict_proba_one(x) for x, _ in rows_of(asked, some)]
    for kind, (frame, _) in MAKERS.items():
        result = model.predict_proba_many(frame(asked))
        assert type(result) is type(frame(asked))
        table_of_shares = narwhals.from_native(result)
        assert list(table_of_shares.iter_rows(named=True)) == expected, kind


@pytest.mark.parametrize("case", CASES, ids=str)
def test_learn_many_refuses_a_frame_whole(case: Case) -> None:
    """If one row of a frame is refused, the message names it and no row is learned."""
    columns, targets = table(case, 50)
    model = learn(make(case), rows_of(columns, targets))
    before = frozen(model)
    columns["a"][31] = float("inf")
    with pytest.raises(ValueError, match="31"):
        model.learn_many(pd.DataFrame(columns), pd.Series(targets))
    with pytest.raises(ValueError, match="50"):
        model.learn_many(pd.DataFrame(columns), pd.Series(targets[1:]))
    assert frozen(model) == before
