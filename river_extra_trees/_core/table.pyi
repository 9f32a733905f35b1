from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .columns import Column
from .schema import Labels

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
    names: list[Any]
    def __new__(cls, table: Table, learns: bool) -> Self: ...
    def ask(self, regression: bool, labels: Labels, shares: bool) -> None: ...
