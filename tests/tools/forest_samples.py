"""Samples for the forests with several windows."""

from __future__ import annotations

import math
import random
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


def many_values(rng: random.Random, i: int) -> tuple[dict[Any, Any], float]:
    """Features of sample i, two of which have many nominal values, and what its target depends on.

    Of the second, most are missing at first. Naive Bayes counts 64 values of a feature at most.
    """
    first, second = rng.randrange(60), rng.randrange(25)
    x: dict[Any, Any] = {"first": f"v{first}", "a": rng.random(), "c": rng.choice("rgb")}
    if i > 60 or rng.random() < 0.3:
        x["second"] = f"w{second}"
    if rng.random() < 0.1:
        x["first"] = None
    return x, first % 7 + 0.25 * (second % 4)
