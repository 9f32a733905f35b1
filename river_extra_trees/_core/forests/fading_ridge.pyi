from typing import Any, Self

class FadingRidge:
    n: int
    n_learned: int
    square: float
    n_squares: float

    def __new__(cls, n: int, decay: float, prior: float) -> Self: ...
    def state(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
