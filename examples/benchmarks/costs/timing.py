"""How the measurements take the time: user CPU time, in turns, as medians and ratios of medians."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from examples.benchmarks.common.prequential import user_seconds

# Prepares a run, for example a new model, without the clock; what it returns is timed.
Way = Callable[[], Callable[[], Any]]


class Times:
    """The seconds of some ways to do the same work, one value per turn.

    Examples
    --------
    >>> times = Times({"loop": [2.0, 4.0, 3.0], "frame": [1.0, 2.0, 1.0]})
    >>> times.median("loop")
    3.0
    >>> times.ratio("frame", "loop")
    0.5

    """

    def __init__(self, seconds: Mapping[str, list[float]]) -> None:
        self._seconds = seconds

    def median(self, name: str) -> float:
        """Return the median of a way."""
        return statistics.median(self._seconds[name])

    def ratio(self, name: str, yardstick: str) -> float:
        """Return the median of the ratios of two ways, turn by turn."""
        pairs = zip(self._seconds[name], self._seconds[yardstick], strict=True)
        return statistics.median(a / b for a, b in pairs)


def in_turns(
    ways: Mapping[str, Way], repeats: int, clock: Callable[[], float] = user_seconds
) -> Times:
    """Run every way once per turn, and return the time of each run: user CPU time by default."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, prepare in ways.items():
            run = prepare()
            start = clock()
            run()
            seconds[name].append(clock() - start)
    return Times(seconds)


def predict_and_learn(model: Any, rows: Iterable[tuple[dict[Any, Any], Any]]) -> None:
    """Predict each sample, then learn it."""
    predict_one, learn_one = model.predict_one, model.learn_one
    for x, y in rows:
        predict_one(x)
        learn_one(x, y)
