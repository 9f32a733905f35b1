"""Tables larger than memory, read batch by batch with pyarrow: files, pipes and standard input.

- `values` reads columns by their kinds, and texts as labels.
- `batch` holds a batch of rows, and decides what happens to bad rows.
- `text` reads CSV, TSV and JSON lines.
- `reader` opens a table by its name, and reads Parquet and Arrow IPC.

`river_extra_trees.ColumnKinds` tells how the values of a column are read. In CSV, which has no
types, a text may be a number.
"""

from .batch import BadRows, Batch, TableError
from .batch import OnBadRow as OnBadRow
from .reader import Reader, open_table

__all__ = ["BadRows", "Batch", "Reader", "TableError", "open_table"]
