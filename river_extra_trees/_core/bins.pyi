from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

class Bins:
    counts: Array
    usual: Array
    recent: Array
    edges: Array
    n_blocks: npt.NDArray[np.intc]
    names: list[Hashable]
    values: list[dict[Any, int] | None]
    known: set[Hashable]
    def __init__(self, names: list[Hashable]) -> None: ...
    def state(self) -> dict[str, npt.NDArray[Any]]: ...
    def add(self, x: dict[Any, Any]) -> None: ...
    def begin(self, column: int, rows: list[dict[Any, Any]]) -> None: ...
    def settle(self, columns: list[int], fading: float) -> list[float]: ...

def number_of(value: Any) -> float | None: ...
def plain(value: Any) -> Any: ...
def restored(
    names: list[Hashable],
    values: list[dict[Any, int] | None],
    known: set[Hashable],
    arrays: dict[str, npt.NDArray[Any]],
) -> Bins: ...
