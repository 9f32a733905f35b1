"""The logistic regression, a member of the pool."""

import pickle
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import river_extra_trees as ret
from tests.naive.logistic import NaiveLogistic
from tests.tools.crowded import crowded
from tests.tools.estimators import frozen


def learned(model: Any, naive: NaiveLogistic, n: int, n_labels: int) -> None:
    """Let both learn samples whose values hardly ever return, but for those of a feature."""
    rng = random.Random(n_labels)
    known: list[int] = []
    for i in range(n):
        x = {"often": f"o{i % 9}", "a": rng.random(), "b": float(i % 5), "id": f"once {i}"}
        x |= {f"rare {j}": f"{rng.randrange(400)}" for j in range(3) if rng.random() < 0.7}
        x |= {"flag": rng.randrange(2), "late": rng.randrange(2) if i < 40 else rng.random()}
        y, w = (i if i < n_labels else rng.randrange(n_labels)), rng.choice([1.0, 0.5, 3.0])
        known += [y] if y not in known else []
        model.learn_one(x, y, w=w)
        nominal = {c for c, codes in enumerate(model._core.schema.codes) if codes is not None}
        row = [(c, v) for c, v in enumerate(model._core.row_of(x)) if v == v]
        naive.learn(tuple(row), nominal, len(known), known.index(y), w)


@pytest.mark.parametrize(("n", "n_labels"), [(60, 1), (300, 2), (700, 350)])
def test_it_learns_what_the_naive_one_learns(n: int, n_labels: int) -> None:
    """Also where values are forgotten: with 350 labels, there are at most 1,497 regressors."""
    model, naive = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1), NaiveLogistic()
    learned(model, naive, n, n_labels)
    found = model._core.logistic.state()
    assert found["n_learned"] == n == naive.n_learned
    keys = [
        (column, None if code < 0 else code)
        for column, code in zip(found["columns"].tolist(), found["codes"].tolist(), strict=True)
    ]
    assert keys == list(naive.regressors)
    for i, each in enumerate(naive.regressors.values()):
        slopes = [each.slopes.get(code, 0.0) for code in range(n_labels)]
        assert found["weights"][i] == pytest.approx(slopes, rel=1e-7, abs=1e-9)
    n_known = [column for column, _ in keys].count(model._core.schema.names.index("id"))
    assert n_known == n if n_labels < 350 else n_known < n


def test_columns_of_numbers() -> None:
    """Indicators, a column of 0, counts and others; one by one, in a frame and after a copy."""
    rng, samples = random.Random(1), []
    for _ in range(60):
        x: dict[str, Any] = {"bit": rng.randrange(2), "count": rng.randrange(3), "zero": 0.0}
        samples.append((x | {"size": rng.random()}, x["bit"] + x["count"] > 1))
    model, naive = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1), NaiveLogistic()
    frames = pickle.loads(pickle.dumps(model))
    known: list[bool] = []
    for i, (x, y) in enumerate(samples):
        model.learn_one(x, y)
        known += [y] if y not in known else []
        row = tuple((c, v) for c, v in enumerate(model._core.row_of(x)) if v == v)
        naive.learn(row, frozenset(), len(known), known.index(y), 1.0)
        if i in (0, 10):
            model = pickle.loads(pickle.dumps(model))
    found = model._core.logistic.state()
    assert len(found["columns"]) == len(naive.regressors) == 5
    for weights, each in zip(found["weights"], naive.regressors.values(), strict=True):
        assert weights == pytest.approx([each.slopes.get(c, 0.0) for c in (0, 1)], abs=1e-9)
    frames.learn_many(pd.DataFrame([x for x, _ in samples]), pd.Series([y for _, y in samples]))
    assert frozen(frames) == frozen(model)


def test_many_columns_values_and_labels_take_a_fixed_memory() -> None:
    """At most 9 MB for slopes, and 4,096 regressors of 64 bytes with their places."""
    model: Any = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1)
    for i in range(300):
        model.learn_one({j: f"value {i} {j}" for j in range(100)}, i)
    logistic = model._core.logistic
    assert len(logistic.state()["columns"]) <= 2**19 // 300
    assert logistic.__sizeof__() < 1.125 * 2**23 + 4096 * (64 + 16)
    copy = pickle.loads(pickle.dumps(model))
    x: dict[Any, Any] = {j: f"value 299 {j}" for j in range(100)}
    assert copy.predict_proba_one(x) == model.predict_proba_one(x)


@pytest.mark.parametrize("value", [1e308, -1e308, 5e-324])
def test_extreme_values_and_weights_leave_finite_slopes(value: float) -> None:
    model = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1)
    for i in range(60):
        x = {"a": value if i % 2 else 0.0, "b": value * (i % 3 - 1.0), "c": f"{i % 2}"}
        model.learn_one(x, i % 3, w=[1.0, 1e100, 1e-300][i % 3])
    weights = model._core.logistic.state()["weights"]
    assert np.isfinite(weights).all()
    assert np.abs(weights).max() <= 60 * 0.2


@pytest.mark.parametrize("weight", [1e100, 1e-100])
@pytest.mark.parametrize("when", [0, 199])
def test_one_enormous_weight_does_not_end_the_steps(weight: float, when: int) -> None:
    """Of four values, the classes are exchanged after 200 samples; 400 later, it knows them."""
    model = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1)
    for i in range(600):
        y = i % 2 if i < 200 else 1 - i % 2
        model.learn_one({"a": "abcd"[i % 4]}, y, w=weight if i == when else 1.0)
    first = model._core.logistic.state()["weights"][1:, 0]
    assert (np.sign(first) == [-1.0, 1.0, -1.0, 1.0]).all()


@pytest.mark.filterwarnings("ignore:the model holds")
def test_a_new_feature_has_no_slopes_of_the_one_that_had_its_column() -> None:
    model = crowded(ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1), n_columns=8)
    for i in range(391):
        model.learn_one({"a": f"{i % 2}", f"passing {i // 30}": "same", "b": i % 3}, i % 2)
    (column,) = (c for c, name in enumerate(model._core.schema.names) if name == "passing 13")
    columns = model._core.logistic.state()["columns"].tolist()
    assert model._core.schema.n_columns == 8
    assert columns.index(column) == len(columns) - 1, "the last sample has brought it"


@pytest.mark.filterwarnings("ignore:the model tells")
def test_a_new_label_has_no_slopes_of_the_one_that_had_its_code() -> None:
    """The sample that brings it has taught the regressors of its own values only."""
    model = crowded(ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1), n_labels=6)
    for i in range(2401):
        model.learn_one({"a": f"{i % 5}"}, i // 400)
    state, code = model._core.logistic.state(), model._core.labels.labels.index(6)
    assert len(model._core.labels.labels) == len(state["columns"]) == 6
    assert np.flatnonzero(state["squares"][:, code]).tolist() == [0, 1]


def test_a_wide_sample_displaces_no_regressor() -> None:
    """It adds none; in a frame, where all rows have its columns, rows of a few values do."""
    rows = [{"a": float(i % 3)} for i in range(20)]
    rows.append({"a": 1.0} | {f"w{j}": float(j) for j in range(1100)})
    rows.append({"a": 2.0, "b": 1.0})
    labels = [i % 2 == 0 for i in range(len(rows))]
    model = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1)
    frames = model.clone()
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
    frames.learn_many(pd.DataFrame(rows), pd.Series(labels))
    for each in model, frames:  # the intercept, a and b
        assert len(each._core.logistic.state()["columns"]) == 3
