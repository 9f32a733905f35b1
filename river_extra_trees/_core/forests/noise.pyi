from typing import Any, Self

class NoiseModel:
    slope: float
    middle: float
    n_middle: float
    residual: float
    n_residuals: float

    def state(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
