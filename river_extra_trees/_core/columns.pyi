from collections.abc import Hashable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

class Column:
    name: Hashable
    codes: npt.NDArray[np.intc] | None
    values: list[Any]
    length: int
    refused: int
    error: Exception | None
    def __new__(
        cls,
        name: Hashable,
        length: int,
        numbers: npt.NDArray[np.float64] | None = None,
        codes: npt.NDArray[np.intc] | None = None,
        values: list[Any] | None = None,
        refused: int = ...,
        error: Exception | None = None,
    ) -> Self: ...
    @property
    def numbers(self) -> npt.NDArray[np.float64] | None: ...
    def refuse(self, row: int, error: Exception) -> None: ...

def column_of_numbers(name: Hashable, numbers: npt.NDArray[np.float64]) -> Column: ...
def columns_of_block(names: list[Any], block: npt.NDArray[np.float64]) -> list[Column]: ...
def column_of_values(name: Hashable, values: list[Any]) -> Column: ...
def column_of_targets(values: list[Any], are_weights: bool = False) -> Column: ...
def column_of_labels(values: list[Any]) -> Column: ...
