"""Many keys with few samples each: one model per key, one for all, and both with a common prior.

    python -m examples.benchmarks.studies.pooled               all streams, as a table
    python -m examples.benchmarks.studies.pooled ChickWeights  some of them

The streams `shifted` and `mixed` are generated: keys come and go, most of them after a few samples.
Those of real data are keyed by what names a group in them, which is then no feature. Each sample
is predicted, then learned. The table shows accuracy, or the mean absolute error, by the number of
samples that the key had before. A key that one model per key does not know yet has no answer there.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import river_extra_trees as ret
from examples.benchmarks.common import streams, tables
from river_extra_trees.cli.streams import Task
from river_extra_trees.keyed import KeyedModels

AGES = (0, 1, 2, 4, 8, 16, 32, 64)
Sample = tuple[str, dict[str, Any], Any]


def keys_of(n: int, rng: random.Random) -> Iterator[str]:
    """Keys of a stream: 200 at a time, each of which leaves after 20 samples in the mean."""
    present = list(range(200))
    following = 200
    for _ in range(n):
        place = rng.randrange(200)
        yield f"key {present[place]}"
        if rng.random() < 1 / 20:
            present[place] = following
            following += 1


def shifted(n: int) -> Iterator[Sample]:
    """A number that depends on two features and, by a shift, on the key."""
    rng = random.Random(1)
    shifts: dict[str, float] = {}
    for key in keys_of(n, rng):
        x = {name: rng.random() for name in "abc"}
        shift = shifts.setdefault(key, rng.gauss(0.0, 1.0))
        yield key, x, 4.0 * (x["a"] > 0.5) + x["b"] + shift + rng.gauss(0.0, 0.3)


def mixed(n: int) -> Iterator[Sample]:
    """A label that most keys take from the features alone; a third of the keys have their own."""
    rng = random.Random(2)
    own: dict[str, bool | None] = {}
    for key in keys_of(n, rng):
        x = {name: rng.random() for name in "abc"}
        label = own.setdefault(key, rng.choice([None, None, None, None, False, True]))
        follows = x["a"] + x["b"] > 1.0 if label is None else label
        yield key, x, follows if rng.random() < 0.9 else not follows


def grouped(name: str, task: Task, *by: str) -> Callable[[int], Iterator[Sample]]:
    """The rows of a stream, with some of the features as the key."""

    def rows(n: int) -> Iterator[Sample]:
        for x, y in streams.load(name, task, n):
            rest = {feature: value for feature, value in x.items() if feature not in by}
            yield ", ".join(str(x.get(feature)) for feature in by), rest, y

    return rows


STREAMS: dict[str, tuple[Callable[[int], Iterator[Sample]], bool]] = {
    "shifted": (shifted, True),
    "mixed": (mixed, False),
    "ChickWeights": (grouped("ChickWeights", "regression", "chick"), True),
    "adult": (grouped("adult", "classification", "occupation", "education"), False),
    "bank_marketing": (
        grouped("bank_marketing", "classification", "job", "education", "month"),
        False,
    ),
}


def scores(rows: list[Sample], regression: bool) -> dict[str, list[float]]:
    """The mean score of each contender, by the age of the key; and the number of samples."""
    own = ret.StreamDecisionTreeRegressor if regression else ret.StreamDecisionTreeClassifier
    model = own(batch_size=25, seed=1)
    contenders: dict[str, Any] = {
        "each alone": KeyedModels(model),
        "one for all": own(seed=1),
        "common prior": KeyedModels(model, pooled=own(seed=1)),
    }
    sums = {name: [0.0] * len(AGES) for name in contenders}
    answered = {name: [0] * len(AGES) for name in contenders}
    counts = [0.0] * len(AGES)
    ages: dict[str, int] = {}
    for key, x, y in rows:
        age = ages.get(key, 0)
        ages[key] = age + 1
        group = max(i for i, least in enumerate(AGES) if least <= age)
        counts[group] += 1
        for name, contender in contenders.items():
            place = () if name == "one for all" else (key,)
            answer = contender.predict_one(*place, x)
            if not regression:
                sums[name][group] += answer == y
            elif answer is not None:  # without an answer there is no error
                sums[name][group] += abs(y - answer)
                answered[name][group] += 1
            contender.learn_one(*place, x, y)
    means = {
        name: [
            total / n if n else math.nan
            for total, n in zip(each, answered[name] if regression else counts, strict=True)
        ]
        for name, each in sums.items()
    }
    return {"samples": counts, **means}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("streams", nargs="*", choices=[[], *STREAMS], default=[])
    parser.add_argument("--samples", type=int, default=20_000)
    arguments = parser.parse_args()
    ages = [f"{a}" if b == a + 1 else f"{a}-{b - 1}" for a, b in itertools.pairwise(AGES)]
    for stream in arguments.streams or STREAMS:
        make, regression = STREAMS[stream]
        rows = list(make(arguments.samples))
        n_keys = len({key for key, _, _ in rows})
        measure = "mean absolute error" if regression else "accuracy"
        print(f"**{stream}**: {measure}; {len(rows):,} samples of {n_keys:,} keys\n")
        lines = []
        for name, values in scores(rows, regression).items():
            style = "{:,.0f}" if name == "samples" else "{:.3f}"
            lines.append([name, *(style.format(value).replace("nan", "-") for value in values)])
        tables.show(["samples before", *ages, f"from {AGES[-1]}"], lines)


if __name__ == "__main__":
    main()
