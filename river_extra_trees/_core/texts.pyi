from typing import Any

import numpy as np
import numpy.typing as npt

class Texts:
    values: list[str]
    def codes_of(self, stream: Any) -> npt.NDArray[np.intc] | None: ...
