from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..learner import Learner
from ..table import Table
from ..trees import Trees
from ..window import Window

class Forest(Learner):
    window: Window
    trees: list[Trees]
    root_statistics: Trees
    fading: float
    batch_size: int
    n_early: int
    n_batches: int
    seed: int
    reference: bool
    first_tree: int
    is_part: bool
    @property
    def n_in_batch(self) -> int: ...
    @property
    def n_seen(self) -> int: ...
    def votes(self, table: Table) -> np.ndarray: ...
    def keep(self, first: int, stop: int) -> None: ...
    def join(self, parts: Sequence[Forest]) -> None: ...
    def settings(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
