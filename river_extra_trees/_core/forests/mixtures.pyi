from typing import Any, Self

from .fading_ridge import FadingRidge
from .noise import NoiseModel

class ClassPool:
    n_groups: int
    transitions: Transitions

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
    n_errors: float
    n_tails: int
    stack: FadingRidge
    chain: FadingRidge
    noise: NoiseModel

    def __new__(cls, n_groups: int) -> Self: ...
    def member_weights(self) -> list[float]: ...
    def state(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...

class Transitions:
    n_labels: int
    last: int

    def state(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
