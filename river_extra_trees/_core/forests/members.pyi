from typing import Any, Self

from .fading_ridge import FadingRidge

class Transitions:
    n_labels: int
    last: int

    def state(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...

class Chain:
    ridge: FadingRidge
    n_known: int

    def state(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
