"""Tables larger than memory, read batch by batch: files, pipes and standard input.

- `values` says what a cell means: number, moment, name or missing.
- `batch` is a batch of rows, column by column, and what happens to bad rows.
- `sources` yields the lines of a file, packed or not, or of a pipe.
- `text` reads CSV, TSV and JSON lines, `arrow` reads Parquet and Arrow IPC.
- `reader` opens a table by its name.
- `samples` turns batches of rows into those that the learners read.

Numbers and truth values are read as floats. A moment is read as the seconds since the beginning of
1970, in CSV, JSON lines, Parquet and Arrow IPC alike; without a time zone it is taken to be in UTC.
In text, a moment is a date or a date and time in the notation of ISO 8601, such as ``2026-11-22``
or ``2026-11-22T14:15:00+01:00``. All other values are names. What the first value of a column is,
all of them have to be.
"""

from .batch import BadRows, Batch, TableError
from .batch import OnBadRow as OnBadRow
from .reader import Reader, open_table

__all__ = ["BadRows", "Batch", "Reader", "TableError", "open_table"]
