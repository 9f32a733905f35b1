"""Shrub ensembles: accuracy, costs and memory.

    python -m examples.benchmarks.shrubs.experiments quality   beside no change, one tree, HT, ARF
    python -m examples.benchmarks.shrubs.experiments paper     best settings, as in its tables
    python -m examples.benchmarks.shrubs.experiments pareto    accuracy against memory
    python -m examples.benchmarks.shrubs.experiments speed     beside the authors' program
    python -m examples.benchmarks.shrubs.experiments cost      against window, features, trees
    python -m examples.benchmarks.shrubs.experiments memory    a million samples
    python -m examples.benchmarks.shrubs.experiments capymoa --python PYTHON_WITH_CAPYMOA

Scores are test-then-train: each sample is predicted, then learned. Times are user CPU.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from river import dummy, forest, tree
from river import ensemble as river_ensemble

from examples.benchmarks.common import streams, tables
from examples.benchmarks.common.prequential import user_seconds
from examples.benchmarks.peers import capymoa_process
from river_extra_trees import ShrubEnsembleClassifier
from river_extra_trees.cli import UserError

# Defaults were chosen on the first half of the streams.
CHOSEN_ON = ["elec", "rbf", "gradual", "agrawal", "pendigits", "powersupply", "adult"]
SHOWN_ON = ["covtype", "led", "abrupt", "phishing", "letter", "gas", "occupancy"]
FILES = {
    "gas": "gas_drift_batches1to6_PARTIAL",
    "gradual": "lobo_mixed_gradual",
    "abrupt": "lobo_mixed_abrupt",
}

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


# -------------------------------------------------------------------- quality


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


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "no change": dummy.NoChangeClassifier,
    "one tree, 16": lambda: single_tree(16),
    "one tree, 256": lambda: single_tree(256),
    "HT": tree.HoeffdingTreeClassifier,
    "ARF, 10": lambda: forest.ARFClassifier(seed=1),
    "shrubs": lambda: ShrubEnsembleClassifier(seed=1),
    "shrubs, window 64": lambda: ShrubEnsembleClassifier(window_size=64, seed=1),
}


def quality(n: int) -> None:
    """Accuracy beside the simplest answers."""
    lines = []
    for title, names in (("chosen on", CHOSEN_ON), ("shown on", SHOWN_ON)):
        for name in names:
            rows = load(name, n)
            scores = [accuracy(make(), rows) for make in CLASSIFIERS.values()]
            cells = [f"{share:.4f}, {1e3 * s / len(rows):.3f} ms" for share, s in scores]
            lines.append([name, title, str(len(rows)), *cells])
    tables.show(["stream", "defaults", "samples", *CLASSIFIERS], lines)


# -------------------------------------------------------------------- accuracy against memory

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


def cost(n: int, repeats: int, picture: Path) -> None:
    """Cost against the window, the features and the trees, one at a time."""
    import matplotlib.pyplot as plt

    wide = load("gas", n)
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.5), sharey=True, constrained_layout=True)
    for axis, (name, label, values) in zip(
        axes,
        (
            ("window_size", "window size B", [32, 64, 128, 256, 512, 1024]),
            ("n_features", "features d", [4, 8, 16, 32, 64, 128]),
            ("n_models", "trees M", [4, 8, 16, 32, 64, 128]),
        ),
        strict=True,
    ):
        for style, max_features in (("o-", None), ("s--", "sqrt")):
            spent = []
            for value in values:
                d = value if name == "n_features" else 32
                rows = [(dict(itertools.islice(x.items(), d)), y) for x, y in wide]
                changed = {} if name == "n_features" else {name: value}
                spent.append(ms_per_item(rows, repeats, max_features=max_features, **changed)[0])
            print(
                label,
                max_features,
                dict(zip(values, [f"{s:.4f}" for s in spent], strict=True)),
                flush=True,
            )
            axis.loglog(values, spent, style, label=f"max_features={max_features}")
        axis.set_xlabel(label)
    axes[0].set_ylabel("ms per sample (predict and learn)")
    axes[0].legend()
    figure.suptitle("Shrub ensemble, gas sensors: d = 32, B = 256, M = 32 where not varied")
    figure.savefig(picture, dpi=120)
    print(picture)


def capymoa(n: int, python: str) -> None:
    """CapyMOA's ShrubsClassifier at its defaults and ours, on the same samples."""
    lines = []
    for name in ("elec", "covtype"):
        rows = load(name, n)
        options = "ShrubsClassifier", rows, "classification", math.inf, python
        *_, theirs = capymoa_process.checkpoints(*options)
        # CapyMOA's defaults, and our way of saying them.
        model = ShrubEnsembleClassifier(
            n_models=32,
            window_size=32,
            step_size="adaptive",
            loss="cross_entropy",
            rounds=6,
            max_features=None,
            max_depth=None,
            seed=1,
        )
        score, seconds = accuracy(model, rows)
        spent = [1e3 * each / len(rows) for each in (theirs.seconds, seconds)]
        cells = [f"{spent[0]:.3f}", f"{spent[1]:.4f}", f"{spent[0] / spent[1]:.0f}"]
        lines.append([name, *cells, f"{theirs.scores['accuracy']:.4f}", f"{score:.4f}"])
    heads = ["stream", "CapyMOA, ms", "ours, ms", "times as slow"]
    tables.show([*heads, "accuracy, CapyMOA", "accuracy, ours"], lines)


# -------------------------------------------------------------------- memory


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def memory(n: int) -> None:
    """Compare the reported memory with that of the process, along a long stream."""
    part = load("rbf", 20_000)
    models = [ShrubEnsembleClassifier(n_models=32, window_size=256, seed=i) for i in range(20)]
    before = resident()
    reported_before = sum(model._raw_memory_usage for model in models)
    for x, y in part[:2000]:
        for model in models:
            model.learn_one(x, y)
    reported = sum(model._raw_memory_usage for model in models) - reported_before
    print(
        f"20 ensembles report a growth of {reported / 1e6:.2f} MB; the process grew by "
        f"{(resident() - before) / 1e6:.2f} MB"
    )
    model = models[0]
    del models[1:]
    for i in range(n):
        x, y = part[i % len(part)]
        model.learn_one(x, y)
        if i % (n // 10) == n // 10 - 1:
            used = model._raw_memory_usage / 1000
            print(f"{i + 1:9} samples: {used:7.1f} kB, {model.n_nodes} nodes", flush=True)


def main() -> None:
    """Run what the user asks for."""
    runs: dict[str, tuple[int, Callable[[int], None]]] = {
        "quality": (10_000, quality),
        "paper": (20_000, lambda n: paper(n, options.streams)),
        "pareto": (5_000, pareto),
        "speed": (5_000, lambda n: speed(n, options.repeats)),
        "cost": (1_500, lambda n: cost(n, options.repeats, options.picture)),
        "memory": (1_000_000, memory),
        "capymoa": (1_000, lambda n: capymoa(n, options.python)),
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=runs)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--streams", nargs="+", default=PAPER, help="those of `paper`")
    parser.add_argument("--picture", type=Path, default=Path("shrub_cost.png"))
    parser.add_argument("--python", default="python", help="an interpreter that has capymoa")
    options = parser.parse_args()
    n_samples, run = runs[options.what]
    run(options.samples or n_samples)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
