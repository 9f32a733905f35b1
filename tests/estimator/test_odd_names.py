"""Names that only some libraries and languages can hold: frames mean the dicts of their rows."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import metrics

import river_extra_trees as ret
from river_extra_trees import evaluate, keyed, persistence

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


def named(library: str, name: str, values: list[Any]) -> Any:
    """A series with a name, as far as series of the library have one."""
    if library == "pyarrow":
        return pa.chunked_array([values])
    return pd.Series(values, name=name) if library == "pandas" else pl.Series(name, values)


def shown(answers: Any) -> list[Any]:
    return answers.to_pylist() if hasattr(answers, "to_pylist") else answers.to_list()


@pytest.mark.parametrize("kinds", [["numbers"], ["texts"], [*COLUMNS]], ids=str)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("regression", [False, True])
def test_names_of_columns_and_targets(library: str, kinds: list[str], regression: bool) -> None:
    """Every call with frames."""
    rng, n = np.random.default_rng(1), 60
    columns = {name: COLUMNS[kinds[i % len(kinds)]](rng, n) for i, name in enumerate(NAMES)}
    X = LIBRARIES[library](columns)
    labels = rng.random(n).tolist() if regression else rng.choice(["u\0", "v"], n).tolist()
    y = named(library.partition(",")[0], "y\0", labels)
    kind = ret.StreamDecisionTreeRegressor if regression else ret.StreamDecisionTreeClassifier
    by_rows, learned, both = (kind(batch_size=20, seed=1) for _ in range(3))
    plain = {name: np.asarray(values).tolist() for name, values in columns.items()}
    rows = [{name: values[i] for name, values in plain.items()} for i in range(n)]
    answers = []
    for x, label in zip(rows, labels, strict=True):
        answers.append(by_rows.predict_one(x))
        by_rows.learn_one(x, label)
    learned.learn_many(X, y)
    assert persistence.save_bytes(learned) == persistence.save_bytes(by_rows)
    assert shown(both.predict_learn_many(X, y)) == answers
    assert persistence.save_bytes(both) == persistence.save_bytes(by_rows)
    assert shown(learned.predict_many(X)) == [by_rows.predict_one(x) for x in rows]
    if not regression:
        assert learned.predict_proba_many(X).shape == (n, 2)
        both.predict_proba_learn_many(X, y)

    metric = metrics.MAE() if regression else metrics.Accuracy()
    evaluated = kind(batch_size=20, seed=1)
    evaluate.progressive_val_score([(X, y)], evaluated, metric)
    assert persistence.save_bytes(evaluated) == persistence.save_bytes(by_rows)

    keys = named(library.partition(",")[0], "key\0", ["k\0", "l"] * (n // 2))
    by_key, one_by_one = (keyed.KeyedModels(kind(batch_size=5, seed=1)) for _ in range(2))
    by_key.learn_many(keys, X, y)
    for i, (x, label) in enumerate(zip(rows, labels, strict=True)):
        one_by_one.learn_one(["k\0", "l"][i % 2], x, label)
    assert shown(by_key.predict_many(keys, X)) == [
        one_by_one.predict_one(["k\0", "l"][i % 2], x) for i, x in enumerate(rows)
    ]


def test_a_table_in_another_encoding() -> None:
    """UTF-16 that is read as UTF-8 has NUL in its names."""
    text = "xx,yy\n1,2\n3,4\n".encode("utf-16-le")
    X = pl.read_csv(io.BytesIO(text), encoding="utf8-lossy")
    assert any("\0" in name for name in X.columns)
    model, by_rows = (ret.StreamDecisionForestClassifier(seed=1) for _ in range(2))
    model.learn_many(X, ["u"] * len(X))
    for x in X.to_dicts():
        by_rows.learn_one(x, "u")
    assert persistence.save_bytes(model) == persistence.save_bytes(by_rows)


def test_target_column_with_nul() -> None:
    X = pl.DataFrame({"a": [0.0, 1.0] * 20, "y\0": ["u", "v"] * 20})
    model = ret.StreamDecisionTreeClassifier(seed=1)
    evaluate.progressive_val_score(X, model, metrics.Accuracy(), target="y\0")
    assert model.n_samples_seen == 40
