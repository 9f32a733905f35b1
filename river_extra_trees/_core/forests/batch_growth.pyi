from typing import Any, Self

from ..cart.splitter import Splitter
from .forest import Forest

def grow_early(
    forest: Forest,
    splitters: list[Splitter],
    max_features: int,
    max_depth: int,
    max_nodes: int,
) -> None: ...

class Retained:
    n: int
    total: int
    def samples(self) -> list[tuple[int, int]]: ...
    def check(self) -> None: ...
    def state(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
