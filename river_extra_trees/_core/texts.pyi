from typing import Any, final

import numpy as np
import numpy.typing as npt

@final
class Texts:
    values: list[str]
    n_told: int
    def know(self, values: list[Any]) -> None: ...
    def codes_of(
        self, texts: Any, what: str = ..., places: npt.NDArray[Any] | None = ...
    ) -> tuple[npt.NDArray[np.intc], list[str]]: ...
