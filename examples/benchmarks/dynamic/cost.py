"""Time and memory of dynamic trees: tables, and a long stream.

    python -m examples.benchmarks.dynamic.cost speed [--rscript Rscript]
    python -m examples.benchmarks.dynamic.cost growth
    python -m examples.benchmarks.dynamic.cost memory
    python -m examples.benchmarks.dynamic.cost soak --samples 1000000

A step retires the oldest sample and learns a new one, with 1000 particles and a full window. Blocks
of 4 steps are timed, in CPU time. The figures of the published program, dynaTree 1.2-17, come from
an idle machine. With `--rscript`, for which R needs the package dynaTree, the two run side by side:
their blocks take turns, on the same samples.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import river_extra_trees as ret

try:
    import resource
except ImportError:  # not on this system
    resource = None  # type: ignore[assignment]

Rows = list[tuple[dict[str, float], Any]]

BLOCK = 4
# leaf, features, window: best and median block in microseconds per step, megabytes of the cloud.
DYNATREE = {
    ("constant", 5, 100): (1500, 2250, 8.2),
    ("constant", 5, 500): (2750, 5500, 25.9),
    ("constant", 20, 100): (1750, 2500, 5.4),
    ("constant", 20, 500): (3000, 4750, 19.3),
    ("linear", 5, 100): (2000, 3500, 7.5),
    ("linear", 5, 500): (5250, 16625, 43.7),
    ("linear", 20, 100): (24500, 26250, 18.2),
    ("linear", 20, 500): (27250, 32500, 89.9),
    ("multinomial", 5, 100): (1500, 2000, 2.7),
    ("multinomial", 5, 500): (2500, 3750, 8.0),
    ("multinomial", 20, 100): (1750, 2250, 2.3),
    ("multinomial", 20, 500): (2250, 4250, 6.4),
}


def friedman(p: int, seed: int = 0) -> Iterator[tuple[dict[str, float], float]]:
    """Friedman's function of five features, p features in all, noise of deviation 1."""
    rng = random.Random(seed)
    while True:
        x = [rng.random() for _ in range(p)]
        y = 10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
        yield {f"x{i}": value for i, value in enumerate(x)}, y + rng.gauss(0, 1)


def three_classes(p: int, seed: int = 0) -> Iterator[tuple[dict[str, float], int]]:
    """Three classes in the plane of two of p features; a tenth of the labels is noise."""
    rng = random.Random(seed)
    while True:
        x = [rng.uniform(-1, 1) for _ in range(p)]
        y = 1 if x[0] * x[1] > 0 else 2 if x[0] ** 2 + x[1] ** 2 > 0.6 else 3
        if rng.random() < 0.1:
            y = rng.randrange(1, 4)
        yield {f"x{i}": value for i, value in enumerate(x)}, y


def rows_of(leaf: str, p: int, n: int) -> Rows:
    stream = three_classes(p) if leaf == "multinomial" else friedman(p)
    return [next(stream) for _ in range(n)]


def model_of(leaf: str, p: int, window: int, particles: int) -> Any:
    """Return a learner that forgets nothing, with leaves as large as dynaTree's."""
    if leaf == "multinomial":
        return ret.DynamicTreeClassifier(particles, window=window, forgetting_factor=1.0, seed=1)
    return ret.DynamicTreeRegressor(
        particles,
        leaf,
        window,
        forgetting_factor=1.0,
        min_samples_leaf=2 * p + 4 if leaf == "linear" else 4,
        seed=1,
    )


def learn(model: Any, rows: Rows) -> float:
    """Learn, and return the microseconds of CPU time per sample."""
    before = time.process_time_ns()
    for x, y in rows:
        model.learn_one(x, y)
    return (time.process_time_ns() - before) / 1000 / len(rows)


def blocks(rows: Rows) -> Iterator[Rows]:
    for start in range(0, len(rows), BLOCK):
        yield rows[start : start + BLOCK]


class Dynatree:
    """The R package in a process of its own, which learns and times one block at a time."""

    def __init__(self, rscript: str, leaf: str, p: int, particles: int, start: Rows) -> None:
        model = {"multinomial": "class"}.get(leaf, leaf)
        script = str(Path(__file__).with_name("dynatree_steps.R"))
        self.process = subprocess.Popen(
            [rscript, script, model, str(p), str(particles)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.say(start)

    def say(self, rows: Rows) -> str:
        """Hand over samples; return the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(" ".join(f"{v:.17g}" for x, y in rows for v in [*x.values(), y]))
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("R has ended; it says above why.")
        return answer

    def learn(self, rows: Rows) -> float:
        """Learn, and return the microseconds of CPU time per sample."""
        return float(self.say(rows))

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def in_blocks(learners: list[Callable[[Rows], float]], rows: Rows) -> list[tuple[float, float]]:
    """Let the learners take turns; return the best and the median block of each."""
    times: list[list[float]] = [[] for _ in learners]
    for block in blocks(rows):
        for learner, found in zip(learners, times, strict=True):
            found.append(learner(block))
    return [(min(found), statistics.median(found)) for found in times]


def run_speed(options: argparse.Namespace) -> None:
    """One step beside dynaTree."""
    names = ("best", "median", "R best", "R median", "ratios")
    print(f"{'leaf':11} {'p':>3} {'w':>4} " + " ".join(f"{name:>9}" for name in names))
    for (leaf, p, window), (best, median, _) in DYNATREE.items():
        if options.leaf not in (None, leaf):
            continue
        rows = rows_of(leaf, p, window + options.warm + options.steps)
        model = model_of(leaf, p, window, options.particles)
        learners = [lambda block, model=model: learn(model, block)]
        if options.rscript:
            dynatree = Dynatree(options.rscript, leaf, p, options.particles, rows[:window])
            learners.append(dynatree.learn)
        learn(model, rows[:window])
        for block in blocks(rows[window : -options.steps]):
            for learner in learners:
                learner(block)
        found = in_blocks(learners, rows[-options.steps :])
        if options.rscript:
            best, median = found[1]
            dynatree.close()
        ours, middle = found[0]
        print(
            f"{leaf:11} {p:3} {window:4} {ours:9.0f} {middle:9.0f} {best:9.0f} {median:9.0f} "
            f"{best / ours:6.1f} {median / middle:6.1f}",
            flush=True,
        )


def run_growth(options: argparse.Namespace) -> None:
    """The median block as one of particles, window and features grows."""
    cases = (
        [("constant", 5, 500, n) for n in (100, 300, 1000, 3000, 10_000)]
        + [("constant", 5, w, 1000) for w in (100, 300, 1000, 3000)]
        + [(leaf, p, 500, 1000) for leaf in ("constant", "linear") for p in (5, 10, 20, 40)]
    )
    print(f"{'leaf':9} {'p':>3} {'w':>5} {'N':>6} {'us':>7} {'leaves':>6} {'ns per particle':>16}")
    for leaf, p, window, particles in cases:
        rows = rows_of(leaf, p, window + options.warm + options.steps)
        model = model_of(leaf, p, window, particles)
        learn(model, rows[: -options.steps])
        [(_, median)] = in_blocks([lambda block, m=model: learn(m, block)], rows[-options.steps :])
        leaves = (model.n_nodes / particles + 1) / 2
        print(
            f"{leaf:9} {p:3} {window:5} {particles:6} {median:7.0f} {leaves:6.1f} "
            f"{1000 * median / particles:16.0f}",
            flush=True,
        )


def run_memory(options: argparse.Namespace) -> None:
    """Megabytes of a learner once its window is full, and at most on the way there."""
    print(f"{'leaf':11} {'p':>3} {'w':>4} {'MB':>6} {'most':>6} {'R':>5} {'ratio':>6} {'least':>6}")
    for (leaf, p, window), (*_, dynatree) in DYNATREE.items():
        model = model_of(leaf, p, window, options.particles)
        most = 0.0
        for x, y in rows_of(leaf, p, window + options.warm):
            model.learn_one(x, y)
            most = max(most, model._raw_memory_usage / 1e6)
        size = model._raw_memory_usage / 1e6
        print(
            f"{leaf:11} {p:3} {window:4} {size:6.2f} {most:6.2f} {dynatree:5.1f} "
            f"{dynatree / size:6.1f} {dynatree / most:6.1f}",
            flush=True,
        )


def run_soak(options: argparse.Namespace) -> None:
    """Speed, memory and answers along a long stream, with default parameters."""
    stream = friedman(5)
    model = ret.DynamicTreeRegressor(seed=1)
    part = max(1, options.samples // 20)
    print(f"{'samples':>9} {'us per sample':>11} {'kB':>8} {'kB of the process':>17} {'RMSE':>6}")
    error, before = 0.0, time.process_time()
    for i in range(1, options.samples + 1):
        x, y = next(stream)
        answer = model.predict_one(x)
        if not math.isfinite(answer):
            sys.exit(f"The answer to sample {i} is {answer}.")
        error += (answer - y) ** 2
        model.learn_one(x, y)
        if i % part == 0:
            now = time.process_time()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if resource else 0
            print(
                f"{i:9} {(now - before) / part * 1e6:11.0f} {model._raw_memory_usage / 1e3:8.0f} "
                f"{peak:17} {math.sqrt(error / part):6.3f}",
                flush=True,
            )
            error, before = 0.0, now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--particles", type=int, default=1000)
    parser.add_argument("--warm", type=int, default=300, help="steps before the clock starts")
    parser.add_argument("--steps", type=int, default=200, help="steps that are timed")
    commands = parser.add_subparsers(required=True)
    speed = commands.add_parser("speed")
    speed.add_argument("--rscript", help="run R with dynaTree side by side")
    speed.add_argument("--leaf", choices=("constant", "linear", "multinomial"))
    speed.set_defaults(run=run_speed)
    commands.add_parser("growth").set_defaults(run=run_growth)
    commands.add_parser("memory").set_defaults(run=run_memory)
    soak = commands.add_parser("soak")
    soak.add_argument("--samples", type=int, default=1_000_000)
    soak.set_defaults(run=run_soak)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
