from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from .evidence import Evidence

class Bins:
    counts: npt.NDArray[np.float64]
    usual: npt.NDArray[np.float64]
    recent: npt.NDArray[np.float64]
    edges: npt.NDArray[np.float64]
    n_blocks: npt.NDArray[np.intc]
    names: list[Hashable]
    values: list[dict[Any, int] | None]
    known: set[Hashable]
    def __init__(self, names: list[Hashable]) -> None: ...
    def state(self) -> dict[str, npt.NDArray[Any]]: ...
    def add(self, x: dict[Any, Any]) -> None: ...
    def begin(self, column: int, rows: list[dict[Any, Any]]) -> None: ...
    def end_block(
        self, evidence: list[Evidence], waiting: list[int], n_blocks: int
    ) -> list[int]: ...

def number_of(value: Any) -> float | None: ...
def plain(value: Any) -> Any: ...
def restored(
    names: list[Hashable],
    values: list[dict[Any, int] | None],
    known: set[Hashable],
    arrays: dict[str, npt.NDArray[Any]],
) -> Bins: ...
