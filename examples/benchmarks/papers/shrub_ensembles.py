"""The experiments of Buschjäger, Hess and Morik (2022) on shrub ensembles.

    python -m examples.benchmarks.papers.shrub_ensembles paper     best settings, as in its tables
    python -m examples.benchmarks.papers.shrub_ensembles pareto    accuracy against memory
    python -m examples.benchmarks.papers.shrub_ensembles speed     beside the authors' program

Scores are test-then-train: each sample is predicted, then learned. Times are user CPU.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from typing import Any

from river import dummy, forest, tree
from river import ensemble as river_ensemble

from examples.benchmarks.common import streams, tables
from examples.benchmarks.common.prequential import user_seconds
from river_extra_trees import ShrubEnsembleClassifier
from river_extra_trees.cli import UserError

FILES = {"gas": "gas_drift_batches1to6_PARTIAL", "abrupt": "lobo_mixed_abrupt"}

# The streams of the paper that can be made or had; the gas sensors in part.
PAPER = [
    *("gas", "elec", "covtype", "agrawal", "agrawal_gradual", "led", "led_gradual", "rbf"),
    "rbf_moderate",
]
# The setting that the authors' program was timed in: all features, in order.
AS_PUBLISHED = {"max_features": None, "step_size": 0.1, "max_depth": 15, "seed": 1}


def load(name: str, n: int) -> streams.Rows:
    """The first samples of a stream, made or read."""
    return streams.load(FILES.get(name, name), "classification", n)


def accuracy(model: Any, rows: streams.Rows) -> tuple[float, float]:
    """Share of right answers, and CPU seconds of predicting and learning."""
    right = 0
    start = user_seconds()
    for x, y in rows:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    return right / len(rows), user_seconds() - start


# -------------------------------------------------------------------- accuracy against memory


def single_tree(window_size: int) -> ShrubEnsembleClassifier:
    """One tree on the window, renewed after every wrong answer."""
    return ShrubEnsembleClassifier(
        n_models=1,
        window_size=window_size,
        retrain="error",
        step_size=1e9,
        max_features=None,
        seed=1,
    )


SETTINGS: dict[str, list[Callable[[], Any]]] = {
    "shrubs": [
        *(
            lambda m=m, b=b: ShrubEnsembleClassifier(n_models=m, window_size=b, seed=1)
            for m, b in ((4, 16), (8, 64), (16, 128), (32, 256), (64, 512))
        ),
        lambda: single_tree(16),
    ],
    "ARF": [lambda m=m: forest.ARFClassifier(n_models=m, seed=1) for m in (3, 10)],
    "SRP": [lambda m=m: river_ensemble.SRPClassifier(n_models=m, seed=1) for m in (3, 10)],
    "HT": [lambda g=g: tree.HoeffdingTreeClassifier(grace_period=g) for g in (50, 200)],
    "HAT": [
        lambda g=g: tree.HoeffdingAdaptiveTreeClassifier(grace_period=g, seed=1) for g in (50, 200)
    ],
    "AMF": [lambda m=m: forest.AMFClassifier(n_estimators=m, seed=1) for m in (3, 10)],
}


def score_and_size(model: Any, rows: streams.Rows) -> tuple[float, float]:
    """Accuracy, and memory in KB averaged over ten moments of the stream."""
    right, sizes = 0, []
    every = len(rows) // 10
    for i, (x, y) in enumerate(rows):
        right += model.predict_one(x) == y
        model.learn_one(x, y)
        if i % every == every - 1:
            sizes.append(model._raw_memory_usage / 1024)
    return right / len(rows), statistics.fmean(sizes)


def area(points: list[tuple[float, float]], largest: float) -> float:
    """Area under the best accuracy that fits into a memory, over memories up to the largest."""
    total, best, before = 0.0, 0.0, 0.0
    for size, score in sorted((size, score) for score, size in points):
        total += best * (size - before)
        best, before = max(best, score), size
    return (total + best * (largest - before)) / largest


def pareto(n: int) -> None:
    """Area under the Pareto front; best accuracy and its memory, averaged over the stream."""
    lines = []
    for name in ("elec", "covtype", "rbf", "led", "abrupt", "agrawal"):
        rows = load(name, n)
        found = {
            method: [score_and_size(make(), rows) for make in settings]
            for method, settings in SETTINGS.items()
        }
        largest = max(size for points in found.values() for _, size in points)
        for method, points in found.items():
            score, size = max(points)
            numbers = [f"{area(points, largest):.4f}", f"{score:.4f}", f"{size:.0f}"]
            lines.append([f"{name}: {method}", *numbers])
    tables.show(["stream: method", "area", "best accuracy", "its memory, kB"], lines)


def paper(n: int, names: list[str]) -> None:
    """Best accuracy over the settings, with any memory and with a megabyte, beside no change."""
    lines = []
    for name in names:
        rows = load(name, n)
        same, _ = accuracy(dummy.NoChangeClassifier(), rows)
        points = [score_and_size(make(), rows) for make in SETTINGS["shrubs"]]
        score, size = max(points)
        small = max((share for share, kilobytes in points if kilobytes < 1024), default=0.0)
        numbers = [f"{score:.4f}", f"{size:.0f}", f"{small:.4f}", f"{same:.4f}"]
        lines.append([name, str(len(rows)), *numbers])
    heads = ["stream", "samples", "best accuracy", "its memory, kB"]
    tables.show([*heads, "best accuracy below 1 MB", "no change"], lines)


# -------------------------------------------------------------------- cost


def ms_per_item(rows: streams.Rows, repeats: int, **parameters: Any) -> tuple[float, float]:
    """Median CPU time of predicting and learning a sample, and the accuracy."""
    runs = [
        accuracy(ShrubEnsembleClassifier(**{**AS_PUBLISHED, **parameters}), rows)
        for _ in range(repeats)
    ]
    return 1e3 * statistics.median(s for _, s in runs) / len(rows), runs[0][0]


def speed(n: int, repeats: int) -> None:
    """Cost in the setting that the authors' program was timed in."""
    lines = []
    for name in ("elec", "covtype", "gas"):
        rows = load(name, n)
        spent, score = ms_per_item(rows, repeats, window_size=256)
        numbers = [str(len(rows)), str(len(rows[0][0])), f"{spent:.4f}", f"{score:.4f}"]
        lines.append([name, *numbers])
    tables.show(["stream", "samples", "features", "ms per sample", "accuracy"], lines)


def main() -> None:
    """Run what the user asks for."""
    runs: dict[str, tuple[int, Callable[[int], None]]] = {
        "paper": (20_000, lambda n: paper(n, options.streams)),
        "pareto": (5_000, pareto),
        "speed": (5_000, lambda n: speed(n, options.repeats)),
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=runs)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--streams", nargs="+", default=PAPER, help="those of `paper`")
    options = parser.parse_args()
    n_samples, run = runs[options.what]
    run(options.samples or n_samples)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
