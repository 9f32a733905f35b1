from typing import Self

import numpy as np
import numpy.typing as npt

from .columns import Column

class Table:
    n: int
    columns: list[Column]
    targets: Column | None
    weights: Column | None
    def __new__(
        cls,
        n: int,
        columns: list[Column],
        targets: Column | None = None,
        weights: Column | None = None,
    ) -> Self: ...
    def __len__(self) -> int: ...

class RowReader:
    table: Table
    n: int
    row: int
    learns: bool
    numbers: npt.NDArray[np.float64]
    labels: npt.NDArray[np.intp]
    shares: npt.NDArray[np.float64]
    def __new__(cls, table: Table, learns: bool) -> Self: ...
    def ask(self, regression: bool, n_labels: int | None = None) -> None: ...
