from typing import Any

import numpy as np

from ..cart.splitter import Splitter
from .forest import Forest

class Retained:
    n: int
    total: int
    def samples(self) -> list[tuple[int, int]]: ...

class ForgetfulForest(Forest):
    subsets: bool
    retained: list[Retained]
    created_at: list[int]
    parameters: list[dict[str, Any]]
    drift: dict[str, Any] | None
    def __init__(
        self,
        n_trees: int,
        regression: bool,
        batch_size: int,
        published: bool,
        seed: int,
        subsets: bool,
        bagging: bool,
        max_columns: int,
    ) -> None: ...
    def tree_losses(self) -> np.ndarray: ...
    def begin_growth(
        self,
        batch: int,
        sizes: list[int],
        depths: list[int],
        discarded: list[int],
        parameters: list[dict[str, Any]],
        drift: dict[str, Any] | None,
        n_per_step: int,
    ) -> None: ...
    def losses(self, tree: int, bagged: bool = True) -> tuple[int, float, float, float]: ...
    def successor_losses(
        self, tree: int, splitter: Splitter, max_depth: int
    ) -> tuple[int, float, float, float]: ...
    def n_retained(self, tree: int) -> int: ...
