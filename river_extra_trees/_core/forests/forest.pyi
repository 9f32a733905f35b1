from typing import Any, Self

from ..cart.splitter import Splitter
from ..cart.value_history import ValueHistory
from ..learner import Learner
from ..trees import Trees
from ..window import Window

class Forest(Learner):
    window: Window
    history: ValueHistory
    trees: Trees
    root_statistics: Trees
    fading: float
    batch_size: int
    n_early: int
    n_waiting: int
    n_per_step: int
    n_batches: int
    seed: int
    published: bool
    bagging: bool
    def begin_early(self, max_depth: int, n_tried: int, n_per_step: int) -> None: ...
    def grow(self, splitters: list[Splitter], max_nodes: int) -> None: ...
    @property
    def n_offered(self) -> int: ...
    @property
    def n_ahead(self) -> int: ...
    @property
    def n_in_batch(self) -> int: ...
    @property
    def growth_is_due(self) -> bool: ...
    @property
    def n_seen(self) -> int: ...
    def settings(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
