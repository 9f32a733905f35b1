"""Tables for the tests of reading them."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa

from river_extra_trees import streams

PACK = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda content: pa.compress(content, "zstd", asbytes=True),
}


def read(path: Path, **options: Any) -> tuple[list[dict[str, Any]], list[Any], streams.Reader]:
    """All rows and targets of a table."""
    reader = streams.open_table(path, **options)
    batches = list(reader)
    rows = [row for batch in batches for row in batch.rows()]
    return rows, [y for batch in batches for y in batch.targets or ()], reader
