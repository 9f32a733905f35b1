"""An evaluation of a table takes the memory of a few batches."""

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from river import metrics

import river_extra_trees as ret
from river_extra_trees import evaluate, streams

N = {"parquet": 60_000, "arrow": 60_000, "csv": 25_000}  # text is read more slowly


@pytest.mark.slow
@pytest.mark.parametrize("form", N)
def test_memory_of_a_replay(tmp_path: Path, form: str) -> None:
    """The limits hold for Python and for pyarrow, whose memory Python does not count."""
    values = np.random.default_rng(1).normal(size=N[form])
    table = pa.table({**{f"x{k}": values * k for k in range(1, 9)}, "y": values > 0})
    path = tmp_path / f"table.{form}"
    if form == "csv":
        csv.write_csv(table, path)
    elif form == "arrow":
        feather.write_feather(table, path, "uncompressed", chunksize=9000)
    else:
        # Without dictionaries, which every reader holds, of a megabyte per column.
        parquet.write_table(table, path, row_group_size=len(table), use_dictionary=False)
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    model = ret.StreamDecisionTreeClassifier(seed=1)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        data = streams.open_table(path, target="y", batch_size=500)
        score = evaluate.progressive_val_score(data, model, metrics.Accuracy())
        in_python = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(usual)
    assert model.n_samples_seen == len(table)
    assert score.get() > 0.99
    assert in_python < 3_000_000
    assert pool.max_memory() < 3_000_000
