from collections.abc import Sequence
from typing import Any, Self

from ..learner import Learner
from ..trees import Trees
from .mixtures import NumberMixture
from .model_trees import LinearModels
from .questions import Questions

class ExtraTrees(Learner):
    trees: Trees
    models: list[LinearModels]
    mixture: NumberMixture
    questions: Questions

    def __init__(
        self,
        regression: bool,
        windows: list[tuple[int, int]],
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
    def predict_spread(self, x: Any) -> tuple[float, float, float, float, float]: ...
    def number_of_tree(self, tree: int, x: Any) -> float: ...
    def window_weights(self) -> list[tuple[int, float]]: ...
    def effective_memory(self) -> float: ...
    def settings(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
