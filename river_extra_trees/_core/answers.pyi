from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from .evidence import Evidence

STRIDE: int
BLOCK: int
HIGHEST: int

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
    def judge_next(self, y: Any) -> bool: ...
    def judge(self, answer: Any, y: Any) -> bool: ...
    def restart(self) -> None: ...

def restored(
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
