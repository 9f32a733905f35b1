from collections.abc import Hashable, Mapping
from typing import Any, Self

from river_extra_trees._core.cart import Splitter
from river_extra_trees._core.schema import Labels, Schema
from river_extra_trees._core.trees import Trees
from river_extra_trees._core.window import Window

class Shrubs:
    schema: Schema
    labels: Labels
    window: Window
    trees: Trees
    splitter: Splitter
    n_trained: int
    def __new__(
        cls,
        *,
        regression: bool,
        n_models: int,
        window_size: int,
        loss: str = "mse",
        max_depth: int | None = None,
        shuffled: bool = False,
        rounds: int = 1,
        project_each_round: bool = False,
        standardised: bool = True,
        l0: float = 0.0,
        l1: float = 0.0,
        node_penalty: float = 0.0,
        lazy: bool = True,
    ) -> Self: ...
    @property
    def n_seen(self) -> int: ...
    @property
    def n_columns(self) -> int: ...
    def validate(self, x: Mapping[Hashable, Any], y: Any, w: Any) -> None: ...
    def learn(
        self,
        x: Mapping[Hashable, Any],
        y: Any,
        w: Any,
        learner: Any,
    ) -> None: ...
    def predict_label(self, x: Mapping[Hashable, Any]) -> Hashable: ...
    def predict_proba(self, x: Mapping[Hashable, Any]) -> dict[Any, float]: ...
    def predict_number(self, x: Mapping[Hashable, Any]) -> float: ...
    def tree_weights(self) -> list[tuple[int, float]]: ...
    def bare(self) -> Shrubs: ...
    def settings(self) -> dict[str, Any]: ...
    def check(self) -> None: ...
    def state(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
