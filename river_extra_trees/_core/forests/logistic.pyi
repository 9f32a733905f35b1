from typing import Any

class LogisticRegression:
    n_labels: int
    n_learned: int
    level: float

    def state(self) -> dict[str, Any]: ...
