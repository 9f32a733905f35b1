import numpy as np

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
    def begin_growth(
        self, batch: int, replaced: list[int], max_depth: int, n_tried: int, n_per_step: int
    ) -> None: ...
    def trees_to_replace(self, n_swaps: int) -> list[int]: ...
