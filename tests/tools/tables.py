"""Tables for the tests of reading them."""

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from river_extra_trees import streams

PACK = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda content: pa.compress(content, "zstd", asbytes=True),
}


def json_lines(frame: pd.DataFrame) -> list[str]:
    """Rows as JSON with all digits of numbers, which `DataFrame.to_json` rounds; no gaps."""
    records = ({k: v for k, v in x.items() if pd.notna(v)} for x in frame.to_dict("records"))
    return [json.dumps(x, default=lambda date: date.isoformat()) for x in records]


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table in the format that its name tells."""
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(json_lines(frame)))
    elif path.suffix == ".arrow":
        frame.to_feather(path, compression="uncompressed")
    else:
        frame.to_parquet(path)


def read(path: Path, **options: Any) -> tuple[list[dict[str, Any]], list[Any], streams.Reader]:
    """All rows and targets of a table."""
    reader = streams.open_table(path, **options)
    batches = list(reader)
    rows = [row for batch in batches for row in batch.rows()]
    return rows, [y for batch in batches for y in batch.targets or ()], reader
