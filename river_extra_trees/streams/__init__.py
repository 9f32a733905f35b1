"""Tables larger than memory, read batch by batch with pyarrow: files, pipes and standard input.

- `values` converts columns to numbers and names, and texts to labels.
- `batch` holds a batch of rows, and decides what happens to bad rows.
- `text` reads CSV, TSV and JSON lines.
- `reader` opens a table by its name, and reads Parquet and Arrow IPC.

Numbers and truth values become floats. A date becomes the seconds since the beginning of 1970, in
all formats; without a time zone it is taken to be in UTC. In text, a date is written as in ISO
8601: ``2026-11-22`` or ``2026-11-22T14:15:00+01:00``. All other values are names. In text, the
first value determines the type of a column.
"""

from .batch import BadRows, Batch, TableError
from .batch import OnBadRow as OnBadRow
from .reader import Reader, open_table

__all__ = ["BadRows", "Batch", "Reader", "TableError", "open_table"]
