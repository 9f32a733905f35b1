import numpy as np

from .forest import Forest
from .retained import Retained

class ForgetfulForest(Forest):
    subsets: bool
    bagging: bool
    reference: bool
    seed: int
    n_batches: int
    retained: list[Retained]
    births: list[int]
    def __init__(
        self,
        n_trees: int,
        regression: bool,
        batch_size: int,
        subsets: bool,
        bagging: bool,
        reference: bool,
        seed: int,
    ) -> None: ...
    @property
    def n_in_batch(self) -> int: ...
    def losses(self, tree: int, bagged: bool = True) -> tuple[int, float, float, float]: ...
    def held(self, tree: int) -> int: ...
    def tree_losses(self) -> np.ndarray: ...
    def ballots_so_far(self) -> np.ndarray: ...
    def set_answers(self, answers: np.ndarray) -> None: ...
    def said_before_split(self) -> np.ndarray: ...
