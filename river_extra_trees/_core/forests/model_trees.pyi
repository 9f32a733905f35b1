from typing import Any, Self

KINDS: tuple[str, ...]

class LinearModels:
    kind: int
    n_regressors: int
    n_models: int

    def __new__(cls, kind: str = "none") -> Self: ...
    def coefficients_of(self, node: int) -> dict[int, float]: ...
    def state(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
