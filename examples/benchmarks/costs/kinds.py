"""What `ColumnKinds` costs beside the learner behind it: sample by sample, and by frames.

The default forest predicts and learns the same rows alone, in a pipeline behind a transformer that
does nothing, and behind `ColumnKinds`; in turns. The time is the least CPU time of several runs.
River's pipeline has costs of its own, which the second run shows.

    python -m examples.benchmarks.costs.kinds
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import pandas as pd
from river import base, datasets

import river_extra_trees as ret


class Nothing(base.MiniBatchTransformer):
    """A transformer that does nothing."""

    def transform_one(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Return a sample as it is."""
        return x

    def learn_many(self, X: Any) -> None:
        """Learn nothing."""

    def transform_many(self, X: Any) -> Any:
        """Return a frame as it is."""
        return X


MODELS: dict[str, Callable[[], Any]] = {
    "alone": lambda: ret.ExtraTreesClassifier(seed=1),
    "pipeline": lambda: Nothing() | ret.ExtraTreesClassifier(seed=1),
    "kinds": lambda: ret.ColumnKinds() | ret.ExtraTreesClassifier(seed=1),
}


def one_by_one(model: Any, samples: list[tuple[dict[Any, Any], Any]]) -> Callable[[], None]:
    """Return a function that predicts and learns each sample."""

    def run() -> None:
        for x, y in samples:
            model.predict_one(x)
            model.learn_one(x, y)

    return run


def by_frames(model: Any, samples: list[tuple[dict[Any, Any], Any]]) -> Callable[[], None]:
    """Return a function that predicts and learns frames of a thousand rows."""
    parts = [samples[i : i + 1000] for i in range(0, len(samples), 1000)]
    frames = [(pd.DataFrame([x for x, _ in part]), [y for _, y in part]) for part in parts]

    def run() -> None:
        for X, y in frames:
            model.learn_many(X, y)
            model.predict_many(X)

    return run


def seconds(run: Callable[[], Any]) -> float:
    """Return the CPU time of a run."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    """Print a line for each stream and each way to learn it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    print("stream         way       alone  pipeline   kinds  kinds / pipeline  kinds / alone")
    for dataset in (datasets.Phishing(), datasets.ImageSegments()):
        samples = list(dataset)
        for way, runs in (("dicts", one_by_one), ("frames", by_frames)):
            times: dict[str, list[float]] = {name: [] for name in MODELS}
            for _ in range(repeats):
                for name, make in MODELS.items():
                    times[name].append(seconds(runs(make(), samples)))
            found = {name: min(each) / len(samples) * 1e6 for name, each in times.items()}
            alone, pipeline, kinds = found.values()
            print(
                f"{type(dataset).__name__:<14} {way:<7} {alone:5.1f} us {pipeline:6.1f} us "
                f"{kinds:5.1f} us {kinds / pipeline - 1:17.1%} {kinds / alone - 1:14.1%}"
            )


if __name__ == "__main__":
    main()
