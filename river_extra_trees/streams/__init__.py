"""Tables larger than memory, read batch by batch with pyarrow: files, pipes and standard input.

- `reader` opens a table by its name; Parquet and Arrow files are read there.
- `text` reads CSV and JSON lines.
- `columns` converts columns by their kinds, and texts to labels.
- `batch` holds some rows of a table, and the roles of its columns.

`river_extra_trees.ColumnKinds` determines how the values of a column are read. CSV has no types, so
a text in CSV may be a number.
"""

from .batch import Batch, TableError
from .reader import Reader, open_table

__all__ = ["Batch", "Reader", "TableError", "open_table"]
