"""One model per key in one process: the same as a dict of models, with bounds and without."""

from __future__ import annotations

import copy
import math
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from river import linear_model, naive_bayes, preprocessing

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees.keyed import KeyedModels
from tests.naive import keyed as naive

MODELS = {
    "tree": ret.StreamDecisionTreeClassifier(batch_size=4, min_samples_leaf=1, seed=1),
    "regression tree": ret.StreamDecisionTreeRegressor(batch_size=4, min_samples_leaf=1, seed=1),
    "forest": ret.StreamDecisionForestClassifier(n_models=3, seed=1),
    "dynamic tree": ret.DynamicTreeRegressor(n_particles=5, window=6, seed=1),
    "shrubs": ret.ShrubEnsembleClassifier(seed=1),
    "naive Bayes of river": naive_bayes.GaussianNB(),
    "pipeline of river": preprocessing.StandardScaler() | linear_model.LinearRegression(),
}
REGRESSIONS = {"regression tree", "dynamic tree", "pipeline of river"}
RIVER = {"naive Bayes of river", "pipeline of river"}

Samples = list[tuple[Any, dict[str, Any], Any, float]]


def samples_of(name: str, keys: list[Any], seed: int, bad: float = 0.0) -> Samples:
    """A sample for each key; some of which every model refuses."""
    rng = np.random.default_rng(seed)
    found: Samples = []
    for key in keys:
        x: dict[str, Any] = {"a": float(rng.integers(5)), "b": float(rng.random())}
        if rng.random() < bad:
            x["a"] = [] if name in RIVER else math.inf
        if name not in RIVER:
            x["c"] = str(rng.choice(["red", "green", "blue"]))
        y: Any = float(rng.normal()) if name in REGRESSIONS else str(rng.choice(["no", "yes"]))
        w = 1.0 if name in RIVER else float(rng.choice([1.0, 0.5, 0.0]))
        found.append((key, x, y, w))
    return found


def frame_of(samples: Samples, library: str = "pandas") -> tuple[Any, Any, Any, Any]:
    """Samples as keys, a frame, targets and weights."""
    keys, rows, targets, weights = map(list, zip(*samples, strict=True))
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    if library == "polars":
        series = pl.Series(keys), pl.DataFrame(columns), pl.Series(targets), pl.Series(weights)
    elif library == "pyarrow":
        parts = [pa.chunked_array([pa.array(each)]) for each in (keys, targets, weights)]
        series = parts[0], pa.table(columns), parts[1], parts[2]  # type: ignore[assignment]
    else:
        series = (  # type: ignore[assignment]
            pd.Series(keys),
            pd.DataFrame(columns),
            pd.Series(targets),
            pd.Series(weights),
        )
    return series


def as_list(series: Any) -> list[Any]:
    values = narwhals.from_native(series, series_only=True).to_list()
    return [None if value is None or value != value else value for value in values]


def same(one: Any, other: Any) -> bool:
    """Whether two models are equal to the bit; those of river, whether they answer alike."""
    if one is None or other is None or not type(one).__module__.startswith("river_extra_trees"):
        probes: Samples = samples_of("pipeline of river", list(range(5)), 0)
        other = copy.deepcopy(other)  # models of river may note what they are asked
        return (one is None) == (other is None) and all(
            one is None or one.predict_one(x) == other.predict_one(x) for _, x, _, _ in probes
        )
    return persistence.save_bytes(one) == persistence.save_bytes(other)


def check_same(models: KeyedModels, plain: naive.KeyedModels, keys: Any) -> None:
    plain.expire(plain.now + 1)
    assert len(models) == len(plain.models) == models.n_models
    for key in keys:
        assert (key in models) == (key in plain.models)
        assert same(models.model_of(key), plain.models.get(key))
    counts = models.counts()
    assert counts.n_refused == len(plain.refused)
    assert counts.n_samples_seen == plain.now - len(plain.refused)
    if plain.refused:
        assert counts.refusal.startswith(f"sample {plain.refused[-1]} of ")
    if models._keeper.max_models is not None:
        assert counts.n_in_memory <= models._keeper.max_models


@settings(max_examples=60, phases=[Phase.generate])
@given(
    name=st.sampled_from(sorted(MODELS)),
    keys=st.lists(st.integers(0, 7), min_size=1, max_size=40),
    seed=st.integers(0, 99),
    bad=st.sampled_from([0.0, 0.2]),
    max_models=st.none() | st.integers(1, 5),
    time_to_live=st.none() | st.integers(1, 12),
    when_full=st.sampled_from(["drop", "spill"]),
    calls=st.lists(
        st.sampled_from(["one", "many", "predict and learn", "forget", "commit"]), max_size=6
    ),
    library=st.sampled_from(["pandas", "polars", "pyarrow"]),
)
def test_same_as_a_dict(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    keys: list[int],
    seed: int,
    bad: float,
    max_models: int | None,
    time_to_live: int | None,
    when_full: str,
    calls: list[str],
    library: str,
) -> None:
    """Whatever the bounds and the calls, models and answers are those of a dict of models."""
    store = tmp_path_factory.mktemp("keyed") / "models.db"
    model = MODELS[name]
    plain = naive.KeyedModels(model, max_models, time_to_live, when_full)
    library = "pandas" if name in RIVER else library  # whose columns hold anything
    samples = samples_of(name, keys, seed, bad)
    n = len(samples) // max(1, len(calls)) + 1
    with KeyedModels(model, max_models, time_to_live, when_full, store) as models:
        for i, call in enumerate(calls):
            part = samples[i * n : (i + 1) * n]
            if call == "forget":
                assert models.forget(i) == plain.forget(i)
            elif call == "commit":
                models.commit({"at": i})
            elif call == "one" or not part:
                for key, x, y, w in part:
                    assert models.predict_one(key, {"a": 1.0}) == plain.predict_one(key, {"a": 1.0})
                    models.learn_one(key, x, y, w)
                    plain.learn_one(key, x, y, w)
            else:
                expected = []
                for key, x, y, w in part:
                    try:
                        expected.append(plain.predict_one(key, x))
                    except (TypeError, ValueError):
                        expected.append(None)
                    plain.learn_one(key, x, y, w)
                named, X, Y, W = frame_of(part, library)
                if call == "many":
                    models.learn_many(named, X, Y, W)
                else:
                    assert as_list(models.predict_learn_many(named, X, Y, W)) == expected
            check_same(models, plain, range(8))
        clean = samples_of(name, list(range(9)), seed)
        named, X, *_ = frame_of(clean, library)
        expected = [plain.predict_one(key, x) for key, x, _, _ in clean]
        assert as_list(models.predict_many(named, X)) == expected
