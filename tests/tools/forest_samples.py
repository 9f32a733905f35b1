"""Samples for the forests with several windows."""

import math
import random
from collections.abc import Iterator
from typing import Any


def sample(rng: random.Random, i: int) -> tuple[dict[Any, Any], float, float, str]:
    """Features of sample i, and the values a, b and c that its target depends on.

    Some values are nominal or missing, and new features and values come later.
    """
    a, b, c = rng.random(), float(rng.randrange(5)), rng.choice("rgbw"[: 2 + i // 60])
    x: dict[Any, Any] = {"a": a, "b": b, "c": c, "d": rng.random() < 0.5, "same": 1.0}
    if rng.random() < 0.2:
        x[rng.choice("abcd")] = rng.choice([None, math.nan])
    if i >= 50:
        x["late"] = rng.gauss(a, 0.3)
    if i >= 90 and rng.random() < 0.6:
        x["later"] = rng.choice(["yes", "no"])
    if i % 40 == 7:
        x["b"] = "text"  # a name with two columns
    return x, a, b, c


def passing_names(n: int, seed: int) -> Iterator[tuple[dict[str, Any], float]]:
    """Names that come once, come and go, return late, or are nearly always there."""
    rng = random.Random(seed)
    for i in range(n):
        a = rng.random()
        x: dict[str, Any] = {f"once{i}": a, f"rare{rng.randrange(30)}": rng.random()}
        if rng.random() < 0.9:
            x["a"] = a
        x[f"phase{i // 50 % 2}"] = rng.randrange(4)
        x["word" if i % 7 else "other word"] = rng.choice("xyz")
        if i % 60 == 5:
            x["missing from the first"] = None
        yield x, 2.0 * a + x[f"phase{i // 50 % 2}"] % 2
