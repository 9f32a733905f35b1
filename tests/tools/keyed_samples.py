"""Samples for keyed models, and what says whether they are those of a plain version."""

import copy
import math
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from river import linear_model, naive_bayes, preprocessing

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees._core.forests.extra_trees import ExtraTrees
from river_extra_trees._core.forests.questions import Questions
from river_extra_trees.keyed import KeyedModels
from tests.naive import keyed as naive


class Doubling(ret.StreamDecisionTreeRegressor):
    """A learner that is derived from one of the package, and learns in its own way."""

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        super().learn_one(x, 2 * y, w)


MODELS = {
    "tree": ret.StreamDecisionTreeClassifier(batch_size=4, min_samples_leaf=1, seed=1),
    "regression tree": ret.StreamDecisionTreeRegressor(batch_size=4, min_samples_leaf=1, seed=1),
    "forest": ret.ExtraTreesClassifier(n_models=3, seed=1),
    "dynamic tree": ret.DynamicTreeRegressor(n_particles=5, window=6, seed=1),
    "shrubs": ret.ShrubEnsembleClassifier(seed=1),
    "tree by kinds of columns": ret.ColumnKinds()
    | ret.StreamDecisionTreeClassifier(batch_size=4, min_samples_leaf=1, seed=1),
    "derived tree": Doubling(batch_size=4, min_samples_leaf=1, seed=1),
    "naive Bayes of river": naive_bayes.GaussianNB(),
    "pipeline of river": preprocessing.StandardScaler() | linear_model.LinearRegression(),
}
REGRESSIONS = {"regression tree", "dynamic tree", "derived tree", "pipeline of river"}
RIVER = {"naive Bayes of river", "pipeline of river"}

TREE = MODELS["tree"]

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
        y: Any = (
            float(rng.normal())
            if name in REGRESSIONS
            else str(rng.choice(["no", "yes", "perhaps"]))
        )
        w = 1.0 if name in RIVER else float(rng.choice([1.0, 0.5, 0.0]))
        found.append((key, x, y, w))
    return found


LIBRARIES: dict[str, tuple[Any, Any]] = {
    "pandas": (pd.Series, pd.DataFrame),
    "polars": (pl.Series, pl.DataFrame),
    "pyarrow": (lambda values: pa.chunked_array([pa.array(values)]), pa.table),
}


def frame_of(samples: Samples, library: str = "pandas") -> tuple[Any, Any, Any, Any]:
    """Samples as keys, a frame, targets and weights."""
    keys, rows, targets, weights = map(list, zip(*samples, strict=True))
    series, frame = LIBRARIES[library]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return series(keys), frame(columns), series(targets), series(weights)


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
    return without_questions(one) == without_questions(other)


def without_questions(model: Any) -> bytes:
    """The bytes of a model. A question is lost with a model that is only read from a store."""
    if not isinstance(model._core, ExtraTrees):
        return persistence.save_bytes(model)
    other = copy.copy(model)
    state = {**model._core.state(), "questions": Questions()}
    other.__dict__["_core"] = ExtraTrees.restored(state)
    return persistence.save_bytes(other)


def check_same(
    models: KeyedModels, plain: naive.KeyedModels, keys: Any, max_models: int | None = None
) -> None:
    """Both have the same models, in the same state, and the same counts."""
    plain.expire(plain.now + 1)
    assert len(models) == len(plain.models)
    for key in keys:
        assert (key in models) == (key in plain.models)
        assert same(models.model_of(key), plain.models.get(key))
    assert models.note == plain.note
    counts = models.counts()
    assert counts.n_refused == len(plain.refused)
    assert counts.n_samples_seen == plain.now - len(plain.refused)
    if plain.refused:
        assert counts.refusal.startswith(f"sample {plain.refused[-1]} of ")
    assert counts.n_in_memory <= (max_models or len(plain.models))
