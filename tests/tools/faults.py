"""What the tests of faults share: a stream of new things, and the whole state of a model."""

from __future__ import annotations

import io
import pickle
import random
from typing import Any

from tests.tools.estimators import stream


def fuller_stream(case: tuple[str, int], n: int, seed: int) -> list[Any]:
    """A stream in which new features, values and labels come all the time."""
    rng = random.Random(seed)
    rows = []
    for i, (x, y) in enumerate(stream(case, n, seed)):
        if i % 7 == 3:
            x = {**x, f"feature {i}": rng.random(), "c": f"value {i}"}
        rows.append((x, f"label {i}" if isinstance(y, str) and i % 11 == 5 else y))
    return rows


def state(model: Any) -> bytes:
    """The whole state of a model, whichever equal objects in it are one and the same."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    pickler.fast = True
    pickler.dump(model)
    return file.getvalue()
