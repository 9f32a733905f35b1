"""Tables larger than memory, read batch by batch: files, pipes and standard input.

- `reader` opens a table by its name, and gives its columns their roles.
- `text` reads CSV and JSON lines; pyarrow reads Parquet and Arrow files.
- `columns` converts columns by their kinds, and targets to labels.
- `batch` holds some rows of a table.

`river_extra_trees.ColumnKinds` determines how the values of a column are read. CSV has no types, so
a text in CSV may be a number.
"""

from .batch import Batch, TableError
from .reader import Reader, open_table

__all__ = ["Batch", "Reader", "TableError", "open_table"]
