from typing import Self

import numpy as np
import numpy.typing as npt

from .columns import Column

class Batch:
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
    def is_refused(self) -> bool: ...

class Reader:
    batch: Batch
    n: int
    row: int
    n_chosen: int
    learns: bool
    numbers: npt.NDArray[np.float64]
    labels: npt.NDArray[np.intp]
    shares: npt.NDArray[np.float64]
    def __new__(
        cls, batch: Batch, learns: bool, chosen: npt.NDArray[np.intp] | None = None
    ) -> Self: ...
    def ask(self, regression: bool, n_labels: int | None = None) -> None: ...
