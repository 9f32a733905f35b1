from typing import Any, Self

KINDS: tuple[str, ...]

class LinearModels:
    kind: int
    n_regressors: int
    n_models: int

    def __init__(self, kind: str = "none") -> None: ...
    def coefficients_of(self, node: int) -> dict[int, float]: ...
    def state(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
