import numpy as np

from ..cart.splitter import Splitter
from ..window import Window
from .forest import Forest

class StreamForest(Forest):
    bootstrap: bool
    n_latest: int
    latest: Window
    def __init__(
        self,
        n_trees: int,
        regression: bool,
        batch_size: int,
        published: bool,
        seed: int,
        bootstrap: bool,
        fading: float,
        n_latest: int,
    ) -> None: ...
    def tree_losses(self) -> np.ndarray: ...
    def grow(
        self,
        batch: int,
        splitters: list[Splitter],
        replaced: list[int],
        max_features: int,
        max_nodes: int,
    ) -> None: ...
    def trees_to_replace(self, n_swaps: int, always: bool) -> list[int]: ...
