import numpy as np

from ..cart.splitter import Splitter
from .forest import Forest

class StreamForest(Forest):
    def __init__(
        self,
        n_trees: int,
        regression: bool,
        batch_size: int,
        published: bool,
        seed: int,
        bagging: bool,
        fading: float,
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
    def trees_to_replace(self, n_swaps: int) -> list[int]: ...
