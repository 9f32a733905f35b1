import random
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Any, final

import numpy as np
import numpy.typing as npt

BINS: int
ROWS: int
BLOCK: int
STRIDE: int
LOSSES: int
HIGHEST_LOSSES: int
LATEST: int
LEAST: int
STRENGTHS: tuple[float, ...]

@final
class Evidence:
    run_length: float
    rng: random.Random
    highest: int
    level: int
    n: int
    def __init__(self, run_length: float, rng: random.Random, highest: int) -> None: ...
    def state(self) -> dict[str, Any]: ...
    def restart(self) -> None: ...
    @property
    def is_tested(self) -> bool: ...
    def ends(self, n_blocks: int) -> bool: ...
    def update(self, number: float) -> bool: ...
    def p_value(self, number: float) -> float: ...
    def keep(self, number: float) -> None: ...
    def means(self) -> tuple[float, float]: ...

def bet(p: float, i: int) -> float: ...
def restored(
    run_length: float, rng: random.Random, highest: int, values: dict[str, Any]
) -> Evidence: ...

class Bins:
    counts: npt.NDArray[np.float32]
    usual: npt.NDArray[np.float32]
    recent: npt.NDArray[np.float32]
    edges: npt.NDArray[np.float64]
    n_usual: npt.NDArray[np.intc]
    names: list[Hashable]
    values: list[dict[Any, int] | None]
    rows: list[dict[Any, Any]]
    waiting: list[int]
    evidence: list[Evidence]
    known: set[Hashable]
    n_blocks: int
    def set_columns(self, names: list[Hashable]) -> None: ...
    def add(self, x: Mapping[Any, Any]) -> None: ...
    def count(self) -> None: ...
    def begin(self, column: int) -> None: ...
    def end_block(self) -> list[tuple[Hashable, float, str]]: ...

def number_of(value: Any) -> float | None: ...
def plain(value: Any) -> Any: ...

@final
class Answers:
    regression: bool
    n_samples: int
    is_asked: bool
    late: OrderedDict[Hashable, Any] | None
    evidence: Evidence
    total: float
    n: int
    x: Any
    answer: Any
    def __init__(self, regression: bool, evidence: Evidence) -> None: ...
    def ask(self, x: Any, answer: Any) -> bool: ...
    def is_next(self, x: Any) -> bool: ...
    def judge(self, answer: Any, y: Any) -> bool: ...
    def restart(self) -> None: ...

class Asked:
    model: Any
    _answers: Answers
    _inputs: Bins
    _weights: Evidence | None
    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> Any: ...
    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None: ...
    def _asked(self, x: Mapping[Any, Any], answer: Any) -> None: ...
    def _see(self, x: Mapping[Any, Any]) -> None: ...

def point_of(answer: Any) -> Any: ...
def restored_answers(
    regression: bool,
    n_samples: int,
    is_asked: bool,
    late: OrderedDict[Hashable, Any] | None,
    evidence: Evidence,
    total: float,
    n: int,
    x: Any,
    answer: Any,
) -> Answers: ...
