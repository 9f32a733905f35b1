"""The cost of reading a dict, by the number of features and the kind of dict.

A tree that has learned one sample is a leaf: a prediction costs little more than reading the dict.
The table shows nanoseconds of CPU time per prediction, the least of several repeats. The row with
no features is the cost of the call itself.

    python -m examples.benchmarks.costs.conversion
"""

from __future__ import annotations

import argparse
import random
import time

from examples.benchmarks.common import tables
from river_extra_trees import StreamDecisionTreeClassifier

Item = dict[str, float]


def kinds(n: int) -> dict[str, Item]:
    """Return dicts of equal content for a model to answer, by what is different about them."""
    rng = random.Random(1)
    x = {f"feature {i}": rng.uniform(0, 9) for i in range(n)}
    shuffled = list(x.items())
    rng.shuffle(shuffled)
    return {
        "as learned": x,
        "whole numbers": {key: int(value) for key, value in x.items()},
        "other key objects": {"".join(list(key)): value for key, value in x.items()},
        "shuffled": dict(shuffled),
    }


def nanoseconds(n: int, kind: str, calls: int, repeats: int) -> float:
    """Return the time of one answer."""
    model = StreamDecisionTreeClassifier()
    items = kinds(n)
    model.learn_one(items["as learned"], True)
    x, predict_one = items[kind], model.predict_one
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time_ns()
        for _ in range(calls):
            predict_one(x)
        best = min(best, (time.process_time_ns() - start) / calls)
    return best


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=20_000, help="answers per repeat")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    lines = [
        [str(n)]
        + [f"{nanoseconds(n, kind, options.calls, options.repeats):.0f}" for kind in kinds(n)]
        for n in (0, 8, 30, 54, 128)
    ]
    tables.show(["features", *(f"{kind}, ns" for kind in kinds(0))], lines)


if __name__ == "__main__":
    main()
