from typing import Any

import numpy as np
import numpy.typing as npt

def block_of_stream(stream: Any, n_rows: int, n_columns: int) -> npt.NDArray[np.float64] | None: ...
