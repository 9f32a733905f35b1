"""The experiments of Anagnostopoulos and Gramacy (2013) on dynamic trees.

Each subcommand is one experiment and prints one table:

    python -m examples.benchmarks.papers.dynamic_trees friedman --repeats 5
    python -m examples.benchmarks.papers.dynamic_trees spambase
    python -m examples.benchmarks.papers.dynamic_trees drift --speed 0.5
    python -m examples.benchmarks.papers.dynamic_trees height
    python -m examples.benchmarks.papers.dynamic_trees movingxor
    python -m examples.benchmarks.papers.dynamic_trees elec2
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import sys
import time
from collections import deque
from collections.abc import Iterator

import numpy as np
from sklearn.metrics import roc_auc_score

from examples.benchmarks.common import downloads, tables
from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor
from river_extra_trees.cli import UserError

Row = dict[str, float]


# Data


def friedman(rng: np.random.Generator, amplitude: float = 1.0) -> tuple[Row, float, float]:
    """Features, noisy target, noise-free target; `amplitude` scales the interaction term."""
    x = rng.random(5)
    truth = (
        10 * amplitude * math.sin(math.pi * x[0] * x[1])
        + 20 * (x[2] - 0.5) ** 2
        + 10 * x[3]
        + 5 * x[4]
    )
    row = {f"x{j + 1}": float(value) for j, value in enumerate(x)}
    return row, truth + float(rng.normal()), truth


def moving_xor(n: int) -> Iterator[tuple[Row, int]]:
    """Turn an XOR by a half circle over n rows; a tenth of the labels are flipped."""
    rng = np.random.default_rng(0)
    for t in range(n):
        x1, x2 = rng.uniform(-1, 1, 2)
        angle = math.pi * t / n
        u = x1 * math.cos(angle) + x2 * math.sin(angle)
        v = -x1 * math.sin(angle) + x2 * math.cos(angle)
        label = int(u * v > 0)
        yield {"x1": float(x1), "x2": float(x2)}, label ^ int(rng.random() < 0.1)


def read(name: str) -> list[tuple[Row, str]]:
    """Rows and targets of a file in the data folder."""
    path = downloads.folder() / f"{name}.csv.gz"
    if not path.exists():
        downloads.download(name)
    with gzip.open(path, "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    features = [key for key in rows[0] if key != "target"]
    return [({key: float(row[key]) for key in features}, row["target"]) for row in rows]


# Measures


def mean_and_spread(values: list[float]) -> str:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.3f} ({spread:.3f})"


# Section 4.5.1: which points to discard, regression


def run_friedman(options: argparse.Namespace) -> None:
    """RMSE against the noise-free target and log density on 1,000 test points."""
    size = options.size
    methods = {
        "ORIG": (100, "oldest", 100),
        "ORAND": (100, "random", size),
        "OALC": (100, "alc", size),
        "FULL": (size, "oldest", size),
    }
    rows = []
    for name, (window, discard, n_learned) in methods.items():
        errors, densities, seconds, leaves = [], [], [], []
        for seed in range(options.repeats):
            model = DynamicTreeRegressor(
                n_particles=options.particles,
                leaf="linear",
                window=window,
                discard=discard,
                forgetting_factor=1.0,
                seed=seed,
            )
            rng = np.random.default_rng(seed)
            train = [friedman(rng) for _ in range(size)]
            started = time.process_time()
            for x, y, _ in train[:n_learned]:
                model.learn_one(x, y)
            seconds.append(time.process_time() - started)
            test = [friedman(rng) for _ in range(1000)]
            answers = [model.predict_one(x, with_dist=True) for x, _, _ in test]
            residuals = [d.mean - truth for d, (_, _, truth) in zip(answers, test, strict=True)]
            errors.append(float(np.sqrt(np.mean(np.square(residuals)))))
            logs = [math.log(d(y)) for d, (_, y, _) in zip(answers, test, strict=True)]
            densities.append(float(np.mean(logs)))
            leaves.append(float(model.n_leaves))
        rows.append(
            [
                name,
                mean_and_spread(errors),
                mean_and_spread(densities),
                f"{np.mean(leaves) / options.particles:.1f}",
                f"{np.mean(seconds):.1f}",
            ]
        )
    tables.show(["method", "RMSE", "log density", "leaves", "seconds"], rows)


# Section 4.5.2: which points to discard, classification


def run_spambase(options: argparse.Namespace) -> None:
    """Misclassification in five folds, a tenth of the training fold active."""
    data = read("spambase")
    np.random.default_rng(options.seed).shuffle(data)
    rows = []
    for name in ("ORIG", "ORAND", "OENT", "FULL"):
        errors, logs, seconds = [], [], []
        for fold in range(5):
            test = data[fold::5]
            train = [item for i, item in enumerate(data) if i % 5 != fold]
            window = len(train) if name == "FULL" else len(train) // 10
            model = DynamicTreeClassifier(
                n_particles=options.particles,
                window=window,
                discard={"ORAND": "random", "OENT": "entropy"}.get(name, "oldest"),
                forgetting_factor=1.0,
                seed=fold,
            )
            started = time.process_time()
            for x, y in train[: window if name == "ORIG" else None]:
                model.learn_one(x, y)
            seconds.append(time.process_time() - started)
            answers = [model.predict_proba_one(x) for x, _ in test]
            found = [max(p, key=p.__getitem__) for p in answers]
            errors.append(float(np.mean([f != y for f, (_, y) in zip(found, test, strict=True)])))
            chances = [p[y] for p, (_, y) in zip(answers, test, strict=True)]
            logs.append(float(np.exp(np.mean(np.log(chances)))))
        rows.append(
            [
                name,
                mean_and_spread(errors),
                mean_and_spread(logs),
                f"{np.mean(seconds):.1f}",
            ]
        )
    tables.show(["method", "error", "geometric mean probability", "seconds"], rows)


# Section 5.1, Figure 4: drift and forgetting


def drifting_friedman(n: int, speed: float, seed: int) -> Iterator[tuple[Row, float]]:
    """Multiply the interaction term by a_t = 2 sin(2 pi speed t / 1000) + 1."""
    rng = np.random.default_rng(seed)
    for t in range(n):
        x, y, _ = friedman(rng, 2 * math.sin(2 * math.pi * speed * t / 1000) + 1)
        yield x, y


def run_drift(options: argparse.Namespace) -> None:
    """One-step RMSE over the steps after the 500th; the noise alone costs 1.0."""
    rows = []
    for name in options.factors:
        errors, seconds = [], []
        for seed in range(options.repeats):
            model = DynamicTreeRegressor(
                n_particles=options.particles,
                window=2000 if name == "auto" else 500,
                forgetting_factor="auto" if name == "auto" else float(name),
                seed=seed,
            )
            residuals = []
            started = time.process_time()
            for x, y in drifting_friedman(options.steps, options.speed, seed):
                residuals.append(model.predict_one(x) - y)
                model.learn_one(x, y)
            seconds.append(time.process_time() - started)
            errors.append(float(np.sqrt(np.mean(np.square(residuals[500:])))))
        rows.append([name, mean_and_spread(errors), f"{np.mean(seconds):.1f}"])
    tables.show(["forgetting factor", "RMSE", "seconds"], rows)


# Section 5.1, Figure 5: height over an A-B-A change


def run_height(options: argparse.Namespace) -> None:
    """Height of the highest tree at the end of each third: simple, complex, simple again."""
    third = options.steps // 3
    rows = []
    for name, factor in {"H1": 1.0, "H0.99": 0.99}.items():
        heights: list[deque[float]] = [deque(maxlen=1000) for _ in range(3)]
        model = DynamicTreeRegressor(
            n_particles=options.particles, window=100, forgetting_factor=factor, seed=0
        )
        rng = np.random.default_rng(0)
        for t in range(3 * third):
            x, y, _ = friedman(rng, 10.0 if third <= t < 2 * third else 0.0)
            model.learn_one(x, y)
            if t % 10 == 0:
                heights[t // third].append(float(model.height))
        rows.append([name, *(f"{np.mean(list(part)[-100:]):.2f}" for part in heights)])
    tables.show(["method", "height before", "height during", "height after"], rows)


# Section 5.2: classification under drift


def run_movingxor(options: argparse.Namespace) -> None:
    """Area under the curve of one-step probabilities after the 500th row."""
    rows = []
    for name in options.factors:
        model = DynamicTreeClassifier(
            n_particles=options.particles,
            window=500,
            forgetting_factor="auto" if name == "auto" else float(name),
            seed=0,
        )
        labels, scores = [], []
        started = time.process_time()
        for x, y in moving_xor(options.steps):
            scores.append(model.predict_proba_one(x).get(1, 0.0))
            labels.append(y)
            model.learn_one(x, y)
        seconds = time.process_time() - started
        found = roc_auc_score(labels[500:], scores[500:])
        rows.append([name, f"{found:.3f}", f"{seconds:.1f}"])
    tables.show(["forgetting factor", "AUC", "seconds"], rows)


def run_elec2(options: argparse.Namespace) -> None:
    """Prequential accuracy with a window of 25; d: forgetting 0.9, r: rejuvenation every 25."""
    data = read("elec2_dynatree")[: options.steps]
    labels = [y for _, y in data]
    same = float(np.mean([a == b for a, b in zip(labels[1:], labels[:-1], strict=True)]))
    rows = [["no change", f"{same:.4f}", "", ""]]
    for name in options.variants:
        settings: dict[str, object] = {}
        if name != "default":
            settings = {
                "window": 25,
                "forgetting_factor": 0.9 if "d" in name else 1.0,
                "rejuvenate_every": 25 if "r" in name else None,
            }
        model = DynamicTreeClassifier(n_particles=options.particles, seed=0, **settings)
        hits, logs = 0, 0.0
        started = time.process_time()
        for x, y in data:
            answer = model.predict_proba_one(x)
            if answer:
                hits += max(answer, key=answer.__getitem__) == y
                logs += math.log(max(answer.get(y, 0.0), 1e-12))
            model.learn_one(x, y)
        seconds = time.process_time() - started
        rows.append(
            [
                name,
                f"{hits / len(data):.4f}",
                f"{logs / len(data):.3f}",
                f"{seconds:.1f}",
            ]
        )
    tables.show(["variant", "accuracy", "log probability", "seconds"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)

    def command(name: str, run: object, particles: int, **more: object) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=getattr(run, "__doc__", None))
        sub.set_defaults(run=run)
        sub.add_argument("--particles", type=int, default=particles)
        for option, default in more.items():
            sub.add_argument(f"--{option}", type=type(default), default=default)
        return sub

    command("friedman", run_friedman, 1000, size=2000, repeats=5)
    command("spambase", run_spambase, 200, seed=0)
    drift = command("drift", run_drift, 50, speed=0.1, steps=10_000, repeats=1)
    factors = ["1.0", "0.999", "0.995", "0.99", "0.98", "0.95", "0.9", "auto"]
    drift.add_argument("--factors", nargs="+", default=factors)
    command("height", run_height, 50, steps=30_000)
    xor = command("movingxor", run_movingxor, 100, steps=100_000)
    xor.add_argument("--factors", nargs="+", default=["1.0", "0.9", "0.5", "0.01", "auto"])
    elec2 = command("elec2", run_elec2, 1000, steps=27_552)
    elec2.add_argument("--variants", nargs="+", default=["h", "hd", "hr", "hdr", "default"])
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
