from typing import Any, Never, Self, final

from river_extra_trees._core.learner import Learner
from river_extra_trees._core.trees import Trees
from river_extra_trees._core.window import Window

from ..cart.splitter import Splitter

@final
class Shrubs(Learner):
    window: Window
    trees: Trees
    splitter: Splitter
    n_models: int
    window_size: int
    n_trained: int
    def __init__(
        self,
        *_: Never,  # all arguments have names
        regression: bool,
        n_models: int,
        window_size: int,
        loss: str = "mse",
        step_size: float | str = 0.1,
        rho: float | None = None,
        rounds: int = 1,
        project_each_round: bool = False,
        max_depth: int | None = None,
        max_features: int | float | str | None = None,
        shuffled: bool = False,
        update_interval: int = 1,
        retrain: str = "always",
        l0: float = 0.0,
        l1: float = 0.0,
        l2: float = 0.0,
        node_penalty: float = 0.0,
        seed: int = 0,
    ) -> None: ...
    def set_steps(
        self,
        *,
        step_size: float | str,
        rho: float | None,
        rounds: int,
        update_interval: int,
        l0: float,
        l1: float,
        l2: float,
        node_penalty: float,
    ) -> None: ...
    @property
    def n_seen(self) -> int: ...
    def tree_weights(self) -> list[tuple[int, float]]: ...
    def settings(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
