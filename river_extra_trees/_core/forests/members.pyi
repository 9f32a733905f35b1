from typing import Any, Self

class Transitions:
    n_labels: int
    last: int

    def state(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
