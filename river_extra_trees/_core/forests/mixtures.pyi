from typing import Any, Self

class ClassPool:
    n_groups: int

    def __new__(cls, n_groups: int) -> Self: ...
    def member_weights(self) -> list[float]: ...
    def state(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...

class NumberMixture:
    n_groups: int
    n_targets: int
    lowest: float
    highest: float
    middle: float
    variance: float
    n_bounded: int
    error: float
    ratio: float
    n_errors: float
    square: float
    n_squares: float

    def __new__(cls, n_groups: int) -> Self: ...
    def member_weights(self) -> list[float]: ...
    def state(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
