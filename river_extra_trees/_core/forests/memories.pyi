from typing import Any

from ..learner import Learner
from ..trees import Trees

class MemoryForest(Learner):
    trees: list[Trees]

    def __init__(
        self,
        *,
        regression: bool,
        memories: list[tuple[int, int]],
        batch_size: int,
        fading: float,
        max_features: Any,
        max_nodes: int,
        rules: dict[str, Any],
        seed: int,
    ) -> None: ...
    @property
    def n_seen(self) -> int: ...
    def memory_weights(self) -> list[tuple[int, float]]: ...
    def settings(self) -> dict[str, Any]: ...
