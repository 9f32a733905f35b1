from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .evidence import Evidence

BINS: int
ROWS: int
BLOCK: int

class Bins:
    counts: npt.NDArray[np.float32]
    usual: npt.NDArray[np.float32]
    recent: npt.NDArray[np.float32]
    edges: npt.NDArray[np.float64]
    n_usual: npt.NDArray[np.intc]
    names: list[Hashable]
    values: list[dict[Any, int] | None]
    rows: list[dict[Any, Any]]
    waiting: list[int]
    evidence: list[Evidence]
    known: set[Hashable]
    n_blocks: int
    def set_columns(self, names: list[Hashable]) -> None: ...
    def add(self, x: Mapping[Any, Any]) -> None: ...
    def count(self) -> None: ...
    def begin(self, column: int) -> None: ...
    def end_block(self) -> list[tuple[Hashable, float, str]]: ...

def number_of(value: Any) -> float | None: ...
def plain(value: Any) -> Any: ...
