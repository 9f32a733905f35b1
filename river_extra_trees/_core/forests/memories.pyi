from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..learner import Learner
from ..table import Reader, Table
from ..trees import Trees
from .mixtures import NumberMixture
from .model_trees import LinearModels

class MemoryForest(Learner):
    trees: list[Trees]
    models: list[LinearModels]
    mixture: NumberMixture
    first_tree: int
    is_part: bool

    def __init__(
        self,
        regression: bool,
        memories: list[tuple[int, int]],
        batch_size: int,
        fading: float,
        max_features: Any,
        max_nodes: int,
        rules: dict[str, Any],
        seed: int,
        linear: Sequence[str] | None = None,
    ) -> None: ...
    @property
    def n_seen(self) -> int: ...
    def predict_spread(self, x: Any) -> tuple[float, float, float]: ...
    def number_of_tree(self, tree: int, x: Any) -> float: ...
    def memory_weights(self) -> list[tuple[int, float]]: ...
    def votes(self, table: Table) -> NDArray[np.float64]: ...
    def learn_and_vote(
        self, reader: Reader, n: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intc]]: ...
    def combined(self, answers: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def weigh_answers(
        self, answers: NDArray[np.float64], targets: NDArray[np.float64], widths: NDArray[np.intc]
    ) -> None: ...
    def settings(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
