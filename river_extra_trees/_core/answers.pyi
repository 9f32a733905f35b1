from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Any, final

from .bins import Bins
from .evidence import Evidence

STRIDE: int
BLOCK: int
HIGHEST: int

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
