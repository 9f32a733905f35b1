"""Costs of one model per key, in one process.

    python -m examples.benchmarks.costs.keyed dict       beside a dict of models written by hand
    python -m examples.benchmarks.costs.keyed keys       many keys through a bound of models
    python -m examples.benchmarks.costs.keyed sizes      what a model takes after so many samples

`dict` prints processor time per sample, alternately measured. `keys` sends a stream of ever new
keys, of which each comes `--visits` times, through a bound: `--keys 10000000 --bound 100000` takes
about half an hour. It prints what time, memory and disk take in each tenth of the stream.
"""

from __future__ import annotations

import argparse
import gc
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import river_extra_trees as ret
from river_extra_trees.keyed import KeyedModels

LEARNERS: dict[str, Callable[[], Any]] = {
    "StreamDecisionTreeClassifier": lambda: ret.StreamDecisionTreeClassifier(seed=1),
    "StreamDecisionTreeRegressor": lambda: ret.StreamDecisionTreeRegressor(seed=1),
    "DynamicTreeRegressor, 20 particles": lambda: ret.DynamicTreeRegressor(
        n_particles=20, window=100, seed=1
    ),
    "ExtraTreesClassifier": lambda: ret.ExtraTreesClassifier(seed=1),
}
FEATURES = list("abcde")


def samples(n: int, n_keys: int, classes: bool) -> tuple[list[str], pd.DataFrame, list[Any]]:
    """Keys, features and targets of a stream in which the keys come at random."""
    rng = np.random.default_rng(0)
    X = rng.random((n, len(FEATURES)))
    y = X[:, 0] + X[:, 1] + rng.normal(0.0, 0.1, n)
    keys = [f"sensor {i}" for i in rng.integers(n_keys, size=n).tolist()]
    return keys, pd.DataFrame(X, columns=FEATURES), (y > 1.0 if classes else y).tolist()


def compare_with_a_dict(n: int, n_keys: int, rows: int, repeats: int) -> None:
    """Processor time per sample of a dict of models, and of keyed models in several ways."""
    print(f"microseconds per sample, {n:,} samples of {n_keys:,} keys, frames of {rows:,} rows")
    titles = [
        "dict",
        "learn_one",
        "learn_many",
        "",
        "dict, answers",
        "one, answers",
        "many, answers",
    ]
    print(("{:36}" + "{:>14}" * 7).format("", *titles))
    for name, make in LEARNERS.items():
        model = make()
        keys, X, y = samples(n, n_keys, "Classifier" in name)
        dicts = X.to_dict("records")
        stream = list(zip(keys, dicts, y, strict=True))
        frames = [(keys[i : i + rows], X[i : i + rows], y[i : i + rows]) for i in range(0, n, rows)]

        def by_dict(answers: bool, model: Any = model, stream: Any = stream) -> None:
            models: dict[str, Any] = {}
            for key, x, target in stream:
                if key not in models:
                    models[key] = model.clone()
                if answers:
                    models[key].predict_one(x)
                models[key].learn_one(x, target)

        def by_one(answers: bool, model: Any = model, stream: Any = stream) -> None:
            models = KeyedModels(model)
            for key, x, target in stream:
                if answers:
                    models.predict_one(key, x)
                models.learn_one(key, x, target)

        def by_many(answers: bool, model: Any = model, frames: Any = frames) -> None:
            models = KeyedModels(model)
            for frame in frames:
                (models.predict_learn_many if answers else models.learn_many)(*frame)

        ways = [(way, answers) for answers in (False, True) for way in (by_dict, by_one, by_many)]
        best = [float("inf")] * len(ways)
        for _ in range(repeats):
            for i, (way, answers) in enumerate(ways):
                gc.collect()
                start = time.process_time()
                way(answers)
                best[i] = min(best[i], (time.process_time() - start) / n * 1e6)
        numbers = [f"{each:.2f}" for each in best]
        numbers.insert(3, "")
        print(("{:36}" + "{:>14}" * 7).format(name, *numbers), flush=True)


def visits(n_keys: int, n_visits: int, rows: int) -> Iterator[list[str]]:
    """The keys of frames: each key comes so many times, within a few frames."""
    per_frame = rows // n_visits
    rng = np.random.default_rng(1)
    for start in range(0, n_keys, per_frame):
        numbers = np.repeat(np.arange(start, min(start + per_frame, n_keys)), n_visits)
        numbers -= rng.integers(0, 2 * per_frame, len(numbers)) * (start > 2 * per_frame)
        yield [f"customer {i}" for i in rng.permutation(numbers).tolist()]


def send_many_keys(
    n_keys: int, bound: int, when_full: str, time_to_live: int, n_visits: int, rows: int
) -> None:
    """Send ever new keys through a bound, and print what each tenth of them costs."""
    model = ret.StreamDecisionTreeClassifier(seed=1)
    features = np.random.default_rng(2).random((rows, len(FEATURES)))
    targets = (features[:, 0] > 0.5).tolist()
    print(f"{n_keys:,} keys, at most {bound:,} models in memory, when_full={when_full!r}")
    print(
        f"{'samples':>14}{'us/sample':>12}{'models':>12}{'in memory':>12}{'MB':>10}{'MB disk':>10}"
    )
    with tempfile.TemporaryDirectory() as folder:
        spills = when_full == "spill"
        models = KeyedModels(
            model,
            bound,
            time_to_live if spills else None,
            when_full,
            Path(folder) / "models.db" if spills else None,
        )
        n, tenth, before, start = 0, 1, 0, time.process_time()
        for keys in visits(n_keys, n_visits, rows):
            models.learn_many(keys, features[: len(keys)], targets[: len(keys)])
            n += len(keys)
            if spills and n // 100_000 > (n - len(keys)) // 100_000:
                models.commit({"position": n})
            if n >= tenth * n_keys * n_visits // 10:
                spent = (time.process_time() - start) / (n - before) * 1e6
                counts = models.counts()
                disk = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
                print(
                    f"{n:14,}{spent:12.2f}{counts.n_models:12,}{counts.n_in_memory:12,}"
                    f"{memory():10.0f}{disk:10.0f}",
                    flush=True,
                )
                tenth, before, start = tenth + 1, n, time.process_time()
        models.close()


def print_sizes() -> None:
    """Bytes of a tree with ten numeric features, in memory and pickled."""
    X = np.random.default_rng(0).random((1_000, 10))
    model = ret.StreamDecisionTreeRegressor(seed=1)
    for n, row in enumerate(X.tolist(), start=1):
        model.learn_one(dict(zip("abcdefghij", row, strict=True)), row[0] + row[1])
        if n in (20, 200, 1_000):
            in_memory, pickled = model._raw_memory_usage, len(pickle.dumps(model, 5))
            print(f"{n:6,} samples: {in_memory:8,} bytes in memory, {pickled:8,} as a pickle")


def memory() -> float:
    """Megabytes that this process has in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["dict", "keys", "sizes"])
    parser.add_argument("--samples", type=int, default=40_000)
    parser.add_argument("--keys", type=int, default=2_000)
    parser.add_argument("--bound", type=int, default=100_000)
    parser.add_argument("--when-full", choices=["drop", "spill"], default="drop")
    parser.add_argument("--time-to-live", type=int, default=1_000_000, help="of spilled models")
    parser.add_argument("--visits", type=int, default=2)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.command == "dict":
        compare_with_a_dict(options.samples, options.keys, options.rows, options.repeats)
    elif options.command == "sizes":
        print_sizes()
    else:
        send_many_keys(
            options.keys,
            options.bound,
            options.when_full,
            options.time_to_live,
            options.visits,
            options.rows,
        )


if __name__ == "__main__":
    main()
