"""Weights in frames and tables: samples are learned with them, as river learns them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import evaluate as river_evaluate
from river import metrics

import river_extra_trees as ret
from river_extra_trees import evaluate, persistence, streams

FRAME = pd.DataFrame(
    {
        "a": [i % 7 for i in range(300)],
        "w": [float(i % 3) for i in range(300)],
        "y": [(i % 7 + i % 2) > 3 for i in range(300)],
    }
)


@pytest.mark.parametrize("form", ["pandas", "polars", "pyarrow", "table"])
def test_weights_are_learned(form: str, tmp_path: Path) -> None:
    """The model and the score are those of river on samples with weights."""
    samples = [({"a": a}, y, {"w": w}) for a, w, y in FRAME.itertuples(index=False)]
    expected, model = (ret.StreamDecisionTreeClassifier(seed=1, batch_size=20) for _ in range(2))
    score = river_evaluate.progressive_val_score(samples, expected, metrics.Accuracy())
    weight = None if form == "table" else "w"
    data = {
        "pandas": FRAME,
        "polars": pl.DataFrame(FRAME.to_dict("list")),
        "pyarrow": pa.Table.from_pandas(FRAME),
    }.get(form)
    if form == "table":
        FRAME.to_csv(tmp_path / "t.csv", index=False)
        data = streams.open_table(tmp_path / "t.csv", target="y", weight="w")
    found = evaluate.progressive_val_score(
        data, model, metrics.Accuracy(), target="y", weight=weight
    )
    assert found.get() == score.get()
    assert persistence.save_bytes(model) == persistence.save_bytes(expected)


def test_a_weight_that_is_no_column() -> None:
    """It is refused by name."""
    model = ret.StreamDecisionTreeClassifier()
    with pytest.raises(ValueError, match="no column 'weight'; the frame has a, w, y"):
        evaluate.progressive_val_score(
            FRAME, model, metrics.Accuracy(), target="y", weight="weight"
        )
