import numpy as np

from .forest import Forest
from ..window import Window

class StreamForest(Forest):
    bootstrap: bool
    reference: bool
    n_latest: int
    latest: Window
    seed: int
    n_batches: int
    def __init__(
        self,
        n_trees: int,
        regression: bool,
        batch_size: int,
        bootstrap: bool,
        reference: bool,
        fading: float,
        n_latest: int,
        seed: int,
    ) -> None: ...
    def tree_losses(self) -> np.ndarray: ...
    def worst(self, losses: np.ndarray, n_swaps: int, always: bool) -> list[int]: ...
