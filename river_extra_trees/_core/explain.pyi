from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

class Contributions:
    n_features: int
    n_rows: int
    labels: list[Any]
    features: tuple[tuple[Hashable, ...], tuple[list[int], list[int]] | None]
    def arrays(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
