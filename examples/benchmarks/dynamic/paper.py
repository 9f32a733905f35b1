"""The experiments of Anagnostopoulos and Gramacy (2013), beside the R package dynaTree.

Each subcommand is one experiment and prints one table:

    python -m examples.benchmarks.dynamic.paper friedman --repeats 5
    python -m examples.benchmarks.dynamic.paper spambase
    python -m examples.benchmarks.dynamic.paper drift --speed 0.5
    python -m examples.benchmarks.dynamic.paper height
    python -m examples.benchmarks.dynamic.paper movingxor
    python -m examples.benchmarks.dynamic.paper elec2

spambase and elec2 need spambase.csv.gz and elec2_dynatree.csv.gz in the folder that the environment
variable RIVER_EXTRA_TREES_DATA names. "dynaTree" is version 1.2-17 of the R package, run by us;
"paper" is what the paper prints.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import os
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor

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


def moving_xor(n: int, turns: float, seed: int) -> Iterator[tuple[Row, int]]:
    """Turn an XOR by `turns` half circles over n rows; a tenth of the labels are flipped."""
    rng = np.random.default_rng(seed)
    for t in range(n):
        x1, x2 = rng.uniform(-1, 1, 2)
        angle = math.pi * turns * t / n
        u = x1 * math.cos(angle) + x2 * math.sin(angle)
        v = -x1 * math.sin(angle) + x2 * math.cos(angle)
        label = int(u * v > 0)
        yield {"x1": float(x1), "x2": float(x2)}, label ^ int(rng.random() < 0.1)


def read(name: str) -> list[tuple[Row, str]]:
    """Rows and targets of a file in the data folder."""
    folder = os.environ.get("RIVER_EXTRA_TREES_DATA")
    if folder is None:
        sys.exit("Set RIVER_EXTRA_TREES_DATA to the folder that holds the data files.")
    with gzip.open(Path(folder) / f"{name}.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    features = [key for key in rows[0] if key != "target"]
    return [({key: float(row[key]) for key in features}, row["target"]) for row in rows]


# Measures


def area_under_curve(labels: Iterable[int], scores: Iterable[float]) -> float:
    """Chance that a positive scores higher than a negative, ties counted half."""
    y, s = np.array(list(labels)), np.array(list(scores))
    _, places, counts = np.unique(s, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    n_positive = int(y.sum())
    above = ranks[y == 1].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * (len(y) - n_positive)))


def mean_and_spread(values: list[float]) -> str:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.3f} ({spread:.3f})"


def print_table(columns: list[str], rows: list[list[str]]) -> None:
    widths = [max(len(line[i]) for line in [columns, *rows]) for i in range(len(columns))]
    for line in [columns, ["-" * width for width in widths], *rows]:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("| " + " | ".join(cells) + " |", flush=True)


# Section 4.5.1: which points to discard, regression

FRIEDMAN_DYNATREE = {
    "ORIG": ("1.864 (0.237)", "-2.139 (0.094)"),
    "ORAND": ("1.150 (0.236)", "-1.765 (0.090)"),
    "OALC": ("0.918 (0.090)", "-1.700 (0.041)"),
    "FULL": ("0.816 (0.032)", "-1.685 (0.022)"),
}


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
                min_samples_leaf=14 if options.published else None,
                published=options.published,
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
        dynatree = FRIEDMAN_DYNATREE[name] if size == 2000 else ("", "")
        rows.append(
            [
                name,
                dynatree[0],
                mean_and_spread(errors),
                dynatree[1],
                mean_and_spread(densities),
                f"{np.mean(leaves) / options.particles:.1f}",
                f"{np.mean(seconds):.1f}",
            ]
        )
    columns = ["method", "RMSE dynaTree", "RMSE ours", "log density dynaTree"]
    print_table([*columns, "log density ours", "leaves", "seconds"], rows)


# Section 4.5.2: which points to discard, classification

SPAM_DYNATREE = {
    "ORIG": ("0.141", "0.156"),
    "ORAND": ("0.130", "0.143"),
    "OENT": ("0.103", "0.114"),
    "FULL": ("0.095", "0.098"),
}


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
        paper, dynatree = SPAM_DYNATREE[name]
        rows.append(
            [
                name,
                paper,
                dynatree,
                mean_and_spread(errors),
                mean_and_spread(logs),
                f"{np.mean(seconds):.1f}",
            ]
        )
    columns = ["method", "error paper", "error dynaTree", "error ours"]
    print_table([*columns, "geometric mean probability", "seconds"], rows)


# Section 5.1, Figure 4: drift and forgetting

DRIFT_DYNATREE = {
    0.1: {"FULL": "10.10", "1.0": "8.99", "0.98": "6.27", "0.95": "4.64", "0.9": "3.25",
          "0.7": "2.60", "0.4": "2.63"},
    0.5: {"FULL": "10.77", "1.0": "9.32", "0.98": "9.37", "0.95": "9.58", "0.9": "9.44",
          "0.7": "8.11", "0.4": "7.69"},
}  # fmt: skip


def drifting_friedman(n: int, speed: float, seed: int) -> Iterator[tuple[Row, float]]:
    """Multiply the interaction term by a_t = 2 sin(2 pi speed t / 1000) + 1."""
    rng = np.random.default_rng(seed)
    for t in range(n):
        x, y, _ = friedman(rng, 2 * math.sin(2 * math.pi * speed * t / 1000) + 1)
        yield x, y


def run_drift(options: argparse.Namespace) -> None:
    """One-step RMSE over the steps after the 500th; the noise alone costs 1.0."""
    dynatree = DRIFT_DYNATREE.get(options.speed, {})
    rows = []
    for name in options.factors:
        errors, seconds = [], []
        for seed in range(options.repeats):
            settings: dict[str, object] = {}
            if name == "FULL":
                settings = {"window": options.steps, "forgetting_factor": 1.0}
            elif name != "default":
                factor = "auto" if name == "auto" else float(name)
                settings = {"window": 500, "forgetting_factor": factor}
            model = DynamicTreeRegressor(
                n_particles=options.particles, leaf=options.leaf, seed=seed, **settings
            )
            residuals = []
            started = time.process_time()
            for x, y in drifting_friedman(options.steps, options.speed, seed):
                residuals.append(model.predict_one(x) - y)
                model.learn_one(x, y)
            seconds.append(time.process_time() - started)
            errors.append(float(np.sqrt(np.mean(np.square(residuals[500:])))))
        given = dynatree.get(name, "") if options.leaf == "linear" else ""
        rows.append([name, given, mean_and_spread(errors), f"{np.mean(seconds):.1f}"])
    print_table(["forgetting factor", "RMSE dynaTree", "RMSE ours", "seconds"], rows)


# Section 5.1, Figure 5: height over an A-B-A change


def run_height(options: argparse.Namespace) -> None:
    """Height of the highest tree at the end of each third: simple, complex, simple again."""
    third = options.steps // 3
    methods: dict[str, tuple[int, float]] = {"H1": (100, 1.0), "H0.99": (100, 0.99)}
    if options.full:
        methods["FULL"] = (options.steps, 1.0)
    rows = []
    for name, (window, factor) in methods.items():
        heights: list[deque[float]] = [deque(maxlen=1000) for _ in range(3)]
        model = DynamicTreeRegressor(
            n_particles=options.particles,
            leaf=options.leaf,
            window=window,
            forgetting_factor=factor,
            seed=0,
        )
        rng = np.random.default_rng(0)
        for t in range(3 * third):
            x, y, _ = friedman(rng, 10.0 if third <= t < 2 * third else 0.0)
            model.learn_one(x, y)
            if t % 10 == 0:
                heights[t // third].append(float(model.height))
        rows.append([name, *(f"{np.mean(list(part)[-100:]):.2f}" for part in heights)])
    print_table(["method", "height before", "height during", "height after"], rows)


# Section 5.2: classification under drift

XOR_DYNATREE = {
    1: {"1.0": "0.569", "0.9": "0.864", "0.5": "0.865", "0.01": "0.863"},
    5: {"1.0": "0.523", "0.9": "0.800", "0.5": "0.812", "0.01": "0.814"},
}


XOR_CHANGES: dict[str, dict[str, Any]] = {
    "": {},
    "rejuvenated": {"rejuvenate_every": 100},
}


def run_movingxor(options: argparse.Namespace) -> None:
    """Area under the curve of one-step probabilities after the 500th row."""
    rows = []
    for name in options.factors:
        factor, _, change = name.partition(" ")
        model = DynamicTreeClassifier(
            n_particles=options.particles,
            window=500,
            forgetting_factor="auto" if factor == "auto" else float(factor),
            **XOR_CHANGES[change],
            seed=0,
        )
        labels, scores = [], []
        started = time.process_time()
        for x, y in moving_xor(options.steps, options.turns, seed=0):
            scores.append(model.predict_proba_one(x).get(1, 0.0))
            labels.append(y)
            model.learn_one(x, y)
        seconds = time.process_time() - started
        given = XOR_DYNATREE.get(options.turns, {}).get(name, "")
        found = area_under_curve(labels[500:], scores[500:])
        rows.append([name, given, f"{found:.3f}", f"{seconds:.1f}"])
    columns = ["forgetting factor", "AUC dynaTree (20,000 rows)", "AUC ours", "seconds"]
    print_table(columns, rows)


ELEC2_DYNATREE = {
    "h": "0.726",
    "hd": "0.858",
    "hr": "0.877 (100 particles)",
    "hdr": "0.889",
}


def run_elec2(options: argparse.Namespace) -> None:
    """Prequential accuracy with a window of 25; d: forgetting 0.9, r: rejuvenation every 25."""
    data = read("elec2_dynatree")[: options.steps]
    labels = [y for _, y in data]
    same = float(np.mean([a == b for a, b in zip(labels[1:], labels[:-1], strict=True)]))
    rows = [["no change", "0.859", f"{same:.4f}", "", ""]]
    for name in options.variants:
        settings: dict[str, object] = {}
        if name != "default":
            settings = {
                "window": 25,
                "forgetting_factor": "auto" if "a" in name else 0.9 if "d" in name else 1.0,
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
                ELEC2_DYNATREE.get(name, ""),
                f"{hits / len(data):.4f}",
                f"{logs / len(data):.3f}",
                f"{seconds:.1f}",
            ]
        )
    columns = ["variant", "accuracy dynaTree", "accuracy ours", "log probability", "seconds"]
    print_table(columns, rows)


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

    friedman_command = command("friedman", run_friedman, 1000, size=2000, repeats=5)
    friedman_command.add_argument(
        "--published", action="store_true", help="as the published program does"
    )
    command("spambase", run_spambase, 200, seed=0)
    drift = command("drift", run_drift, 50, speed=0.1, steps=10_000, repeats=1, leaf="linear")
    lambdas = ["1.0", "0.999", "0.995", "0.99", "0.98", "0.95", "0.9", "auto"]
    drift.add_argument("--factors", nargs="+", default=lambdas)
    height = command("height", run_height, 50, steps=30_000, leaf="linear")
    height.add_argument("--full", action="store_true", help="also keep every point (slow)")
    xor = command("movingxor", run_movingxor, 100, steps=100_000, turns=1)
    xor.add_argument("--factors", nargs="+", default=["1.0", "0.9", "0.5", "0.01", "auto"])
    elec2 = command("elec2", run_elec2, 1000, steps=27_552)
    elec2.add_argument("--variants", nargs="+", default=["h", "hd", "hr", "hdr", "default"])
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
