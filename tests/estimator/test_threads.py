"""Frames with several threads: equal to one thread and to one sample after the other."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import river_extra_trees as ret
from tests.tools.estimators import CLASSES
from tests.tools.systems import Alarm, needs_timers

# Enough trees and rows that the threads are used, with windows shorter than a stretch of rows.
FORESTS = [
    ("ExtraTreesClassifier", {"n_models": 20, "window_sizes": (5, 30, 100), "batch_size": 7}),
    ("ExtraTreesClassifier", {"n_models": 21, "window_sizes": (1, 40), "max_nodes": 25}),
    ("ExtraTreesRegressor", {"n_models": 24, "window_sizes": (5, 60), "batch_size": 9}),
    ("StreamDecisionForestClassifier", {"n_models": 20, "batch_size": 40}),
    ("StreamDecisionForestRegressor", {"n_models": 21, "batch_size": 30, "n_swaps": 2}),
    ("ForgetfulRandomForestClassifier", {"n_models": 22, "batch_size": 50, "bagging": True}),
    ("ForgetfulRandomForestRegressor", {"n_models": 20, "batch_size": 40}),
]


def stream(seed: int, n: int, n_labels: int, regression: bool) -> tuple[pd.DataFrame, list[Any]]:
    """Return rows with missing values, a late column, and late values and labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    X[rng.random((n, 3)) < 0.1] = np.nan
    X["d"] = rng.choice(list("uvwxyz"), n)
    X.loc[: n // 3, "d"] = "u"
    X["e"] = np.where(np.arange(n) < n // 2, np.nan, rng.integers(0, 4, n))
    score = X["a"].fillna(0) + (X["d"] == "v") + rng.normal(size=n) / 3
    if regression:
        return X, score.tolist()
    kinds = np.clip((score * n_labels / 4 + n_labels / 3).astype(int), 0, n_labels - 1)
    return X, kinds.tolist()


def learned(name: str, parameters: dict[str, Any], n_jobs: int, cuts: list[int], data: Any) -> Any:
    """Return what a model predicts in frames cut at some rows, and its state at the end."""
    X, y, w = data
    model = getattr(ret, name)(**parameters, n_jobs=n_jobs, seed=4)
    said = []
    for start, stop in zip([0, *cuts], [*cuts, len(X)], strict=True):
        rows, targets, weights = X[start:stop], y[start:stop], w[start:stop]
        said.append(model.predict_learn_many(rows, targets, weights).to_numpy().tolist())
    model._core.check()
    many = pd.concat([X] * 8, ignore_index=True)  # enough rows for all threads
    said.append(model.predict_many(many).to_numpy().tolist())
    return said, pickle.dumps(model._core)


@pytest.mark.parametrize("number", range(len(FORESTS)))
@settings(max_examples=3)
@given(
    seed=st.integers(0, 1000),
    n_labels=st.sampled_from([2, 5, 30]),
    cuts=st.lists(st.integers(0, 260), max_size=3),
)
def test_number_of_threads(number: int, seed: int, n_labels: int, cuts: list[int]) -> None:
    """The state is equal to the bit for any number of threads, and without a frame."""
    name, parameters = FORESTS[number]
    regression = name.endswith("Regressor")
    X, y = stream(seed, 260, n_labels, regression)
    w = np.random.default_rng(seed).choice([0.0, 1.0, 1.0, 2.5], len(X)).tolist()
    found = [learned(name, parameters, n, sorted(cuts), (X, y, w)) for n in (1, 2, 3, 8)]
    assert all(each == found[0] for each in found[1:])

    model = getattr(ret, name)(**parameters, seed=4)
    said = []
    for (_, row), target, weight in zip(X.iterrows(), y, w, strict=True):
        x = row.dropna().to_dict()
        said.append(model.predict_one(x))
        model.learn_one(x, target, weight)
    assert pickle.dumps(model._core) == found[0][1]
    theirs = [each for frame in found[0][0][:-1] for each in frame]
    assert [None if each != each else each for each in theirs] == said


@pytest.mark.parametrize(
    "name", [each for each in CLASSES if "n_jobs" in signature(CLASSES[each]).parameters]
)
def test_all_cores(name: str) -> None:
    """-1 stands for all cores."""
    model = CLASSES[name](n_jobs=-1, seed=1)
    assert model.n_jobs == -1
    assert 1 <= model._team().n_threads <= model._n_trees


@pytest.mark.slow
@needs_timers
@pytest.mark.parametrize("number", range(len(FORESTS)))
def test_interrupted(number: int, alarm: Callable[[float], None]) -> None:
    """After a signal, the model has learned the first rows, all of them in all trees."""
    name, parameters = FORESTS[number]
    X, y = stream(1, 3000, 3, name.endswith("Regressor"))
    seen = set()
    for milliseconds in (1, 5, 10, 20, 40, 80):
        model = getattr(ret, name)(**parameters, n_jobs=3, seed=4)
        with contextlib.suppress(Alarm):
            alarm(milliseconds / 1000)
            model.learn_many(X, y)
            alarm(0)
        n = model.n_samples_seen
        seen.add(n)
        twin = getattr(ret, name)(**parameters, seed=4)
        twin.learn_many(X[:n], y[:n])
        assert pickle.dumps(model._core) == pickle.dumps(twin._core)
    assert len(seen) > 1
