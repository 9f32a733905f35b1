"""Names that only some libraries and languages can hold: frames mean the dicts of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import metrics

import river_extra_trees as ret
from river_extra_trees import evaluate, keyed, persistence
from tests.naive import frames as naive

NAMES = ["a\0", "\0", "", "b\0c", "ä\u200b", "\U0001f333"]
COLUMNS: dict[str, Any] = {
    "numbers": lambda rng, n: rng.random(n),
    "whole numbers": lambda rng, n: rng.integers(0, 9, n),
    "texts": lambda rng, n: rng.choice(["red", "gr\0en", ""], n).tolist(),
    "flags": lambda rng, n: rng.random(n) < 0.5,
}
LIBRARIES: dict[str, Any] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars, categories": lambda columns: pl.DataFrame(columns).with_columns(
        pl.col(pl.String).cast(pl.Categorical)
    ),
    "polars, enumerations": lambda columns: pl.DataFrame(columns).with_columns(
        pl.col(pl.String).cast(pl.Enum(["", "red", "gr\0en"]))
    ),
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_names_of_columns_and_targets(library: str) -> None:
    """Names, values and labels with NUL, empty ones and those beyond ASCII, in every call."""
    rng, n = np.random.default_rng(1), 60
    kinds = list(COLUMNS.values())
    columns = {name: kinds[i % len(kinds)](rng, n) for i, name in enumerate(NAMES)}
    X, labels = LIBRARIES[library](columns), rng.choice(["u\0", "v"], n).tolist()
    model, by_rows = (ret.StreamDecisionTreeClassifier(batch_size=20, seed=1) for _ in range(2))
    expected, _ = naive.learn_many(by_rows, X, labels)
    assert naive.values_of(model.predict_learn_many(X, labels)) == expected
    assert persistence.save_bytes(model) == persistence.save_bytes(by_rows)
    assert naive.values_of(model.predict_many(X)) == [
        model.predict_one(x) for x in naive.rows_of(X)
    ]
    assert model.predict_proba_many(X).shape == (n, 2)

    evaluated = ret.StreamDecisionTreeClassifier(batch_size=20, seed=1)
    evaluate.progressive_val_score([(X, labels)], evaluated, metrics.Accuracy())
    assert persistence.save_bytes(evaluated) == persistence.save_bytes(by_rows)

    by_key, one_by_one = (
        keyed.KeyedModels(ret.StreamDecisionTreeClassifier(batch_size=5, seed=1)) for _ in range(2)
    )
    keys = ["k\0", "l"] * (n // 2)
    by_key.learn_many(keys, X, labels)
    for key, x, label in zip(keys, naive.rows_of(X), labels, strict=True):
        one_by_one.learn_one(key, x, label)
    assert naive.values_of(by_key.predict_many(keys, X)) == [
        one_by_one.predict_one(key, x) for key, x in zip(keys, naive.rows_of(X), strict=True)
    ]


def test_target_column_with_nul() -> None:
    X = pl.DataFrame({"a": [0.0, 1.0] * 20, "y\0": ["u", "v"] * 20})
    model = ret.StreamDecisionTreeClassifier(seed=1)
    evaluate.progressive_val_score(X, model, metrics.Accuracy(), target="y\0")
    assert model.n_samples_seen == 40
