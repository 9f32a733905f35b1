"""Time per sample with many columns: after one wide sample, and on streams of many names.

    python -m examples.benchmarks.costs.wide                      all learners, one wide sample
    python -m examples.benchmarks.costs.wide --streams            four streams, all classifiers
    python -m examples.benchmarks.costs.wide ExtraTreesClassifier

A line of the first table: CPU time of predicting and learning a sample with ten features before a
sample with thousands of new names, of learning that sample, and per sample after it. The streams:
ten features; ten names of 2,000 in each sample; a nominal feature as one of 500 columns; and bags
of 20 words of 5,000.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import river_extra_trees as ret
from examples.benchmarks.common.streams import Rows

Row = dict[str, float]


def ten_numbers(rng: random.Random) -> Row:
    return {f"n{j}": rng.random() for j in range(10)}


def ten_of_many(rng: random.Random) -> Row:
    return {f"f{j}": rng.random() for j in rng.sample(range(2_000), 10)}


def one_hot(rng: random.Random) -> Row:
    chosen = rng.randrange(500)
    return {f"v{j}": float(j == chosen) for j in range(500)}


def bag_of_words(rng: random.Random) -> Row:
    return {f"w{int(5_000 * rng.random() ** 3)}": 1.0 for _ in range(20)}


STREAMS: dict[str, Callable[[random.Random], Row]] = {
    "ten numbers": ten_numbers,
    "10 of 2,000": ten_of_many,
    "one-hot, 500": one_hot,
    "words, 5,000": bag_of_words,
}


def samples(kind: str, n: int, seed: int, *, is_regression: bool) -> Iterator[tuple[Row, Any]]:
    """Yield samples whose target depends on half of the names."""
    rng = random.Random(seed)
    for _ in range(n):
        x = STREAMS[kind](rng)
        y = sum(value for name, value in x.items() if int(name[1:]) % 2) / len(x)
        y += rng.gauss(0.0, 0.05)
        yield x, y if is_regression else y > 0.25


def seconds(model: Any, rows: Iterable[tuple[Row, Any]]) -> float:
    """Return the CPU time per sample of predicting and learning rows."""
    rows = list(rows)
    start = time.process_time()
    for x, y in rows:
        model.predict_one(x)
        model.learn_one(x, y)
    return (time.process_time() - start) / len(rows)


def after_wide(name: str, n_names: int) -> str:
    """Return a line of the table of one wide sample."""
    model = getattr(ret, name)(seed=1)
    rows: Rows = list(samples("ten numbers", 7_000, 1, is_regression=name.endswith("Regressor")))
    seconds(model, rows[:1_000])
    before = seconds(model, rows[1_000:3_000])
    x, y = rows[0]
    start = time.process_time()
    model.learn_one(x | {f"w{j}": 1.0 for j in range(n_names)}, y)
    wide = time.process_time() - start
    soon = seconds(model, rows[3_000:3_500])
    seconds(model, rows[3_500:6_000])
    late = seconds(model, rows[6_000:])
    return f"{name:34} {1e6 * before:8.0f} {1e3 * wide:9.0f} {1e6 * soon:12.0f} {1e6 * late:12.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("learner", nargs="*", help="by default all")
    parser.add_argument("--names", type=int, default=16_000, help="new names in the wide sample")
    parser.add_argument("--streams", action="store_true", help="the streams of many names")
    parser.add_argument("--samples", type=int, default=1_000, help="per stream")
    options = parser.parse_args()
    learners = options.learner or ret.__all__
    if not options.streams:
        print(f"{'':34} {'us before':>8} {'ms of it':>9} {'us in 500':>12} {'after 3,000':>12}")
        for name in learners:
            print(after_wide(name, options.names), flush=True)
        return
    print(f"{'us per sample':34}" + "".join(f"{kind:>14}" for kind in STREAMS))
    for name in learners:
        if not name.endswith("Classifier"):
            continue
        spent = [
            seconds(
                getattr(ret, name)(seed=1),
                samples(kind, options.samples, 1, is_regression=False),
            )
            for kind in STREAMS
        ]
        print(f"{name:34}" + "".join(f"{1e6 * each:14.0f}" for each in spent), flush=True)


if __name__ == "__main__":
    main()
