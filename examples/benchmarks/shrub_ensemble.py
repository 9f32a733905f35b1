"""Shrub ensembles measured: what they answer, what they cost, and what they remember.

    export RIVER_EXTRA_TREES_DATA=<folder>
    python examples/benchmarks/shrub_ensemble.py quality      # beside no-change, one tree, HT, ARF
    python examples/benchmarks/shrub_ensemble.py regression   # beside the running mean and HT
    python examples/benchmarks/shrub_ensemble.py pareto       # accuracy against memory
    python examples/benchmarks/shrub_ensemble.py speed        # beside the authors' program
    python examples/benchmarks/shrub_ensemble.py cost         # against window, features, trees
    python examples/benchmarks/shrub_ensemble.py lazy         # trained lazily or not: the same bits
    python examples/benchmarks/shrub_ensemble.py memory       # a million items
    python examples/benchmarks/shrub_ensemble.py capymoa --python <python with capymoa>

Answers are scored test-then-train: every item is predicted, then learned. Times are user CPU.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streams
from river import dummy, forest, tree
from river import ensemble as river_ensemble
from river.datasets import synth

from river_extra_trees import ShrubEnsembleClassifier, ShrubEnsembleRegressor
from river_extra_trees.cli import UserError

# Defaults were chosen on the first half of the streams.
CHOSEN_ON = ["elec", "rbf", "gradual", "agrawal", "pendigits", "powersupply", "adult"]
SHOWN_ON = ["covtype", "led", "abrupt", "phishing", "letter", "gas", "occupancy"]
REGRESSION = ["friedman", "bike_sharing_hourly", "power_plant_ccpp", "TrumpApproval"]
FILES = {
    "gas": "gas_drift_batches1to6_PARTIAL",
    "gradual": "lobo_mixed_gradual",
    "abrupt": "lobo_mixed_abrupt",
}

# ms per item of the authors' 2022 program (user CPU, without Python), 32 trees, step 0.1.
AUTHORS = {("elec", 256): 0.236, ("covtype", 256): 2.95, ("gas", 256): 5.53}
TARGETS = {"elec": 0.024, "covtype": 0.15, "gas": 0.28}
# The setting of those figures: all features, in order.
AS_PUBLISHED = {"max_features": None, "step_size": 0.1, "max_depth": 15, "seed": 1}


def rbf(n: int) -> streams.Rows:
    """Five classes around fifty moving centres."""
    return list(
        synth.RandomRBFDrift(
            seed_model=42,
            seed_sample=42,
            n_classes=5,
            n_features=10,
            n_centroids=50,
            change_speed=0.001,
            n_drift_centroids=50,
        ).take(n)
    )


def agrawal(n: int) -> streams.Rows:
    """Four classification functions, one after the other."""
    parts = [
        synth.Agrawal(classification_function=i, seed=42 + i, perturbation=0.05).take(n // 4)
        for i in range(4)
    ]
    return list(itertools.chain(*parts))


def led(n: int) -> streams.Rows:
    """Digits whose display changes places with irrelevant features, three times."""
    parts = [
        synth.LEDDrift(
            seed=42 + i, noise_percentage=0.1, irrelevant_features=True, n_drift_features=drifted
        ).take(n // 4)
        for i, drifted in enumerate((0, 3, 5, 7))
    ]
    return list(itertools.chain(*parts))


def friedman(n: int) -> streams.Rows:
    """Friedman's function with three local drifts."""
    position = (n // 4, n // 2, 3 * n // 4)
    return list(synth.FriedmanDrift(drift_type="lea", position=position, seed=42).take(n))


MADE: dict[str, Callable[[int], streams.Rows]] = {
    "rbf": rbf,
    "agrawal": agrawal,
    "led": led,
    "friedman": friedman,
}


def load(name: str, n: int, task: str = "classification") -> streams.Rows:
    """The first items of a stream, made or read."""
    if name in MADE:
        return MADE[name](n)
    return streams.load(FILES.get(name, name), task, n)  # type: ignore[arg-type]


def accuracy(model: Any, rows: streams.Rows) -> tuple[float, float]:
    """Share of right answers, and CPU seconds of predicting and learning."""
    right = 0
    start = time.process_time()
    for x, y in rows:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    return right / len(rows), time.process_time() - start


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
    for title, names in (("chosen on", CHOSEN_ON), ("shown on", SHOWN_ON)):
        print(f"{title + ', accuracy':24}" + "".join(f"{name:>18}" for name in CLASSIFIERS))
        for name in names:
            rows = load(name, n)
            scores = [accuracy(make(), rows) for make in CLASSIFIERS.values()]
            cells = [f"{a:8.4f} {1e3 * s / len(rows):6.3f} ms" for a, s in scores]
            print(f"{name:16}{len(rows):8}" + "".join(f"{c:>18}" for c in cells), flush=True)


def numbers_only(rows: streams.Rows) -> streams.Rows:
    """River's regression trees take numbers only."""
    return [({k: v for k, v in x.items() if isinstance(v, (int, float))}, y) for x, y in rows]


class RunningMean:
    """The mean of all targets so far."""

    def __init__(self) -> None:
        self.total, self.n = 0.0, 0

    def predict_one(self, x: dict[Any, Any]) -> float:
        """The mean, whatever the features."""
        return self.total / max(self.n, 1)

    def learn_one(self, x: dict[Any, Any], y: float) -> None:
        """Count a target."""
        self.total, self.n = self.total + y, self.n + 1


def regression(n: int) -> None:
    print(f"{'MAE, RMSE':20}{'items':>8}{'running mean':>22}{'HT':>22}{'shrubs':>22}  ms per item")
    for name in REGRESSION:
        rows = load(name, n, "regression")
        cells, start = [], 0.0
        for model in (RunningMean(), tree.HoeffdingTreeRegressor(), ShrubEnsembleRegressor(seed=1)):
            ours = isinstance(model, ShrubEnsembleRegressor)
            start = time.process_time()
            errors = []
            for x, y in rows if ours else numbers_only(rows):
                errors.append(abs(y - model.predict_one(x)))
                model.learn_one(x, y)
            rmse = statistics.fmean(e * e for e in errors) ** 0.5
            cells.append(f"{statistics.fmean(errors):10.4g} {rmse:10.4g}")
        spent = 1e3 * (time.process_time() - start) / len(rows)
        print(
            f"{name:20}{len(rows):8}" + "".join(f"{c:>22}" for c in cells) + f"  {spent:.3f}",
            flush=True,
        )


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
    names = ["elec", "covtype", "rbf", "led", "abrupt", "agrawal"]
    print("area under the Pareto front; best accuracy and its KB")
    print(f"{'':18}" + "".join(f"{method:>26}" for method in SETTINGS))
    for name in names:
        rows = load(name, n)
        found = {
            method: [score_and_size(make(), rows) for make in settings]
            for method, settings in SETTINGS.items()
        }
        largest = max(size for points in found.values() for _, size in points)
        cells = []
        for points in found.values():
            score, size = max(points)
            cells.append(f"{area(points, largest):.4f} ({score:.4f} {size:7.0f})")
        print(f"{name:18}" + "".join(f"{cell:>26}" for cell in cells), flush=True)


# -------------------------------------------------------------------- cost


def ms_per_item(rows: streams.Rows, repeats: int, **parameters: Any) -> tuple[float, float]:
    """Median CPU time of predicting and learning an item, and the accuracy."""
    runs = [
        accuracy(ShrubEnsembleClassifier(**{**AS_PUBLISHED, **parameters}), rows)
        for _ in range(repeats)
    ]
    return 1e3 * statistics.median(s for _, s in runs) / len(rows), runs[0][0]


def speed(n: int, repeats: int) -> None:
    print(
        f"{'stream':10}{'items':>7}{'features':>9}{'ms per item':>13}{'target':>9}"
        f"{'authors':>9}{'ratio':>8}{'accuracy':>10}"
    )
    for (name, window_size), theirs in AUTHORS.items():
        rows = load(name, n)
        ours, score = ms_per_item(rows, repeats, window_size=window_size)
        print(
            f"{name:10}{len(rows):7}{len(rows[0][0]):9}{ours:13.4f}{TARGETS[name]:9.3f}"
            f"{theirs:9.3f}{theirs / ours:7.0f}x{score:10.4f}",
            flush=True,
        )


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
    axes[0].set_ylabel("ms per item (predict and learn)")
    axes[0].legend()
    figure.suptitle("Shrub ensemble, gas sensors: d = 32, B = 256, M = 32 where not varied")
    figure.savefig(picture, dpi=120)
    print(picture)


def capymoa(n: int, python: str) -> None:
    """CapyMOA's ShrubsClassifier at its defaults and ours, on the same items."""
    print(f"{'stream':10}{'capymoa ms':>12}{'ours ms':>10}{'ratio':>8}{'accuracies':>20}")
    for name in ("elec", "covtype"):
        rows = load(name, n)
        labels = sorted({str(y) for _, y in rows})
        lines = "\n".join(",".join(map(str, [*x.values(), labels.index(str(y))])) for x, y in rows)
        answer = subprocess.run(
            [python, str(Path(__file__).with_name("capymoa_shrubs.py")), str(len(labels))],
            input=lines,
            capture_output=True,
            text=True,
            check=True,
        )
        theirs, their_score = map(float, answer.stdout.split()[-2:])
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
        ours = 1e3 * seconds / len(rows)
        print(
            f"{name:10}{theirs:12.3f}{ours:10.4f}{theirs / ours:7.0f}x"
            f"{their_score:10.4f}{score:10.4f}",
            flush=True,
        )


# -------------------------------------------------------------------- lazy training, memory


def lazy(n: int) -> None:
    """Whether training lazily gives the same weights, to the last bit, at every item."""
    for name in ("elec", "covtype", "rbf"):
        rows = load(name, n)
        models = [ShrubEnsembleClassifier(seed=1) for _ in range(2)]
        models[1]._shrubs = type(models[1]._shrubs)(
            **models[1]._shrubs.settings() | {"lazy": False}
        )
        for i, (x, y) in enumerate(rows):
            for model in models:
                model.learn_one(x, y)
            if models[0]._shrubs.tree_weights() != models[1]._shrubs.tree_weights():
                sys.exit(f"{name}: the weights differ after item {i}")
        trained = [model._shrubs.n_trained for model in models]
        print(f"{name}: {len(rows)} items, the same weights; trees trained: {trained}", flush=True)


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def memory(n: int) -> None:
    """Memory told and memory taken while a long stream passes."""
    part = load("rbf", 20_000)
    models = [ShrubEnsembleClassifier(n_models=32, window_size=256, seed=i) for i in range(20)]
    before = resident()
    told_before = sum(model._raw_memory_usage for model in models)
    for x, y in part[:2000]:
        for model in models:
            model.learn_one(x, y)
    told = sum(model._raw_memory_usage for model in models) - told_before
    print(
        f"20 ensembles grew by {told / 1e6:.2f} MB as told, {(resident() - before) / 1e6:.2f} MB "
        "as the process did"
    )
    model = models[0]
    del models[1:]
    for i in range(n):
        x, y = part[i % len(part)]
        model.learn_one(x, y)
        if i % (n // 10) == n // 10 - 1:
            print(
                f"{i + 1:9} items: {model._raw_memory_usage / 1024:7.1f} KB, {model.n_nodes} nodes",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what",
        choices=[
            "quality",
            "regression",
            "pareto",
            "speed",
            "cost",
            "lazy",
            "memory",
            "capymoa",
        ],
    )
    parser.add_argument("--items", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--picture", type=Path, default=Path("shrub_cost.png"))
    parser.add_argument("--python", default="python", help="an interpreter that has capymoa")
    options = parser.parse_args()
    runs: dict[str, tuple[int, Callable[[int], None]]] = {
        "quality": (10_000, quality),
        "regression": (20_000, regression),
        "pareto": (5_000, pareto),
        "speed": (5_000, lambda n: speed(n, options.repeats)),
        "cost": (1_500, lambda n: cost(n, options.repeats, options.picture)),
        "lazy": (50_000, lazy),
        "memory": (1_000_000, memory),
        "capymoa": (1_000, lambda n: capymoa(n, options.python)),
    }
    items, run = runs[options.what]
    run(options.items or items)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
