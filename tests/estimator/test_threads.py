"""Frames with several threads: equal to one thread and to one sample after the other."""

from __future__ import annotations

import itertools
import pickle
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import frames as naive
from tests.tools.estimators import CLASSES, stream

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


@pytest.mark.parametrize(("name", "parameters"), FORESTS)
@settings(max_examples=3)
@given(
    seed=st.integers(0, 1000),
    n_labels=st.sampled_from([1, 2, 10]),
    cuts=st.lists(st.integers(0, 260), max_size=3).map(sorted),
)
def test_number_of_threads(
    name: str, parameters: dict[str, Any], seed: int, n_labels: int, cuts: list[int]
) -> None:
    """The state is equal to the bit for any number of threads, and without a frame."""
    rows = list(stream((name, 0), 260, seed))
    X, y = pd.DataFrame([x for x, _ in rows]), [y for _, y in rows]
    if name.endswith("Classifier"):
        y = [f"{label} {i * n_labels // len(y)}" for i, label in enumerate(y)]  # some come late
    w = np.random.default_rng(seed).choice([0.0, 1.0, 1.0, 2.5], len(X)).tolist()
    one_by_one = CLASSES[name](**parameters, seed=4)
    expected, _ = naive.learn_many(one_by_one, X, y, w)
    many = pd.concat([X] * 8, ignore_index=True)  # enough rows for all threads
    later = [one_by_one.predict_one(x) for x in naive.rows_of(X)] * 8
    for n_jobs in (1, 2, 3, 8):
        model = CLASSES[name](**parameters, n_jobs=n_jobs, seed=4)
        said = []
        for start, stop in itertools.pairwise([0, *cuts, len(X)]):
            part = slice(start, stop)
            said += naive.values_of(model.predict_learn_many(X[part], y[part], w[part]))
        model._core.check()
        assert said == expected
        assert naive.values_of(model.predict_many(many)) == later
        assert pickle.dumps(model._core) == pickle.dumps(one_by_one._core)


@pytest.mark.parametrize(
    "name", [each for each in CLASSES if "n_jobs" in signature(CLASSES[each]).parameters]
)
def test_all_cores(name: str) -> None:
    """-1 stands for all cores."""
    model = CLASSES[name](n_jobs=-1, seed=1)
    assert model.n_jobs == -1
    assert 1 <= model._team().n_threads <= model._n_trees
