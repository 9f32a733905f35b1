"""Costs and gains of learning in several processes.

    python -m examples.benchmarks.costs.distributed equality      answers of 1, 2, 3 and 5 workers
    python -m examples.benchmarks.costs.distributed throughput    against one process, side by side
    python -m examples.benchmarks.costs.distributed messages      an empty round trip to a worker
    python -m examples.benchmarks.costs.distributed kill          workers killed under load
    python -m examples.benchmarks.costs.distributed memory        models per gigabyte, one per key
    python -m examples.benchmarks.costs.distributed pickles       sizes of messages
    python -m examples.benchmarks.costs.distributed clouds        dynamic trees, averaged

All but the last three need Ray (the extra `ray`). `examples.benchmarks.costs.keyed_workers`
measures models per key. `throughput` prints processor time beside the
clock's, which means little on a busy machine. The columns `two cores` and `plan` are what the
processor times give for two cores, and for a processor per process, as
`docs/results/distributed.md` explains.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import pickle
import random
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from river.datasets import synth

import river_extra_trees as ret
from river_extra_trees._core.forests.forgetful import ForgetfulForest
from river_extra_trees.distributed import (
    Block,
    DistributedClassifier,
    DistributedKeyedModels,
    DistributedRegressor,
    learn_together,
    split,
)
from river_extra_trees.distributed.splitting import is_splittable

FORESTS = {
    "ExtraTreesClassifier": ret.ExtraTreesClassifier,
    "ExtraTreesRegressor": ret.ExtraTreesRegressor,
    "ForgetfulRandomForestClassifier": ret.ForgetfulRandomForestClassifier,
    "ForgetfulRandomForestRegressor": ret.ForgetfulRandomForestRegressor,
}
LEARNERS: dict[str, Any] = {
    "DynamicTreeRegressor": lambda: ret.DynamicTreeRegressor(seed=1),
    "DynamicTreeRegressor, 20 particles": lambda: ret.DynamicTreeRegressor(
        n_particles=20, window=100, seed=1
    ),
    "ForgetfulDecisionTreeClassifier": lambda: ret.ForgetfulDecisionTreeClassifier(seed=1),
    "ForgetfulRandomForestClassifier": lambda: ret.ForgetfulRandomForestClassifier(seed=1),
    "ShrubEnsembleClassifier": lambda: ret.ShrubEnsembleClassifier(seed=1),
    "ExtraTreesClassifier": lambda: ret.ExtraTreesClassifier(seed=1),
    "StreamDecisionTreeClassifier": lambda: ret.StreamDecisionTreeClassifier(seed=1),
    "StreamDecisionTreeRegressor": lambda: ret.StreamDecisionTreeRegressor(seed=1),
}
TICKS = os.sysconf("SC_CLK_TCK")


def rows_for(name: str, n: int) -> list[tuple[dict[str, Any], Any]]:
    """Samples of a stream with drift: 10 features, 4 classes or a number."""
    if name.endswith("Regressor"):
        return list(synth.FriedmanDrift(position=(n // 3, n // 2, n), seed=1).take(n))
    stream = synth.RandomRBFDrift(
        seed_model=1, seed_sample=1, n_classes=4, n_features=10, change_speed=0.5
    )
    return list(stream.take(n))


def broken_rows(name: str, n: int) -> list[tuple[dict[str, Any], Any]]:
    """Samples of which the second half has 40 % random targets.

    There a forgetful forest becomes less accurate and discards its worst trees.
    """
    stream = synth.RandomRBF(seed_model=1, seed_sample=1, n_classes=4, n_features=10).take(n)
    rows = rows_for(name, n) if name.endswith("Regressor") else list(stream)
    rng = random.Random(1)
    targets = [y for _, y in rows]
    return [
        (x, rng.choice(targets) if i >= n // 2 and rng.random() < 0.4 else y)
        for i, (x, y) in enumerate(rows)
    ]


def distributed(model: Any, **options: Any) -> Any:
    kind = type(model).__name__
    learner = DistributedRegressor if kind.endswith("Regressor") else DistributedClassifier
    return learner(model, **options)


def start_ray() -> None:
    import ray

    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "60")  # a busy machine takes its time
    options = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
    ray.init(address="local", num_cpus=2, **options)


# --- equality


def answers(model: Any, rows: list[Any]) -> list[Any]:
    """All predictions of the model for the rows."""
    if hasattr(model, "predict_proba_one"):
        return [(model.predict_one(x), model.predict_proba_one(x)) for x, _ in rows]
    return [model.predict_one(x) for x, _ in rows]


def n_replaced(forest: Any, first_trees: list[Any]) -> int:
    """Number of trees that were swapped or discarded since the start."""
    if isinstance(forest._core, ForgetfulForest):
        return sum(birth > 0 for birth in forest._core.created_at)
    return sum(now is not then for now, then in zip(forest._core.trees, first_trees, strict=True))


def show_equality(options: argparse.Namespace) -> bool:
    """Learn in one process and in several, and compare the answers along the way."""
    start_ray()
    print("replaced: how many of the ten trees were swapped or discarded on the way")
    print(
        f"{'forest':34} {'workers':>7} {'samples':>7} {'replaced':>10} {'answers':>8} "
        f"{'different':>9}"
    )
    all_equal = True
    for name in options.forests or FORESTS:
        rows = broken_rows(name, options.samples)
        for n_workers in options.workers or [1, 2, 3, 5]:
            forest = FORESTS[name](n_models=10, seed=1)
            first_trees = list(forest._core.trees)
            n_asked = n_different = 0
            with distributed(forest, n_workers=n_workers) as model:
                for start in range(0, len(rows), 250):
                    block = rows[start : start + 250]
                    asked = block[:10]
                    expected = answers(forest, asked)
                    said = answers(model, asked)
                    n_asked += len(asked)
                    n_different += sum(a != b for a, b in zip(said, expected, strict=True))
                    for x, y in block:
                        forest.learn_one(x, y)
                        model.learn_one(x, y)
            all_equal = all_equal and n_different == 0
            print(
                f"{name:34} {n_workers:7} {len(rows):7} {n_replaced(forest, first_trees):10} "
                f"{n_asked:8} {n_different:9}",
                flush=True,
            )
    return all_equal


# --- throughput


def processor_time(process: int) -> float:
    """Seconds that a process has kept processors busy."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Measured:
    """Seconds per repetition: by the clock, of this process, of the busiest worker, of all."""

    def __init__(self) -> None:
        self.clock: list[float] = []
        self.here: list[float] = []
        self.worker: list[float] = []
        self.workers: list[float] = []

    def run(self, model: Any, blocks: list[Any]) -> None:
        """Let a model learn the blocks; the first one, in which workers begin, does not count."""
        workers = model.processes() if hasattr(model, "processes") else []
        first, *blocks = blocks
        model.learn_many(*first)
        if workers:
            model.counters()  # all has been learned
        before = [processor_time(process) for process in workers]
        clock, here = time.perf_counter(), time.process_time()
        for X, y in blocks:
            model.learn_many(X, y)
        if workers:
            model.counters()  # all has been learned
        self.here.append(time.process_time() - here)
        self.clock.append(time.perf_counter() - clock)
        after = [processor_time(process) for process in workers]
        spent = [b - a for a, b in zip(before, after, strict=True)]
        self.worker.append(max(spent, default=0.0))
        self.workers.append(sum(spent))


def show_throughput(options: argparse.Namespace) -> bool:
    """Let one process and several workers learn the same blocks in turn."""
    import pandas as pd

    start_ray()
    print(
        "microseconds per sample: clock / processor time of this process / of the busiest worker;"
    )
    print("two cores: one process's time over half of all, or the busiest process if that is more")
    print("plan: one process's time over the larger of the last two, each with a processor alone")
    print(
        f"{'forest':34} {'trees':>5} {'block':>5} {'workers':>7} {'one process':>15} "
        f"{'spread':>23} {'clock':>6} {'two cores':>9} {'plan':>6}   load {os.getloadavg()[0]:.1f}"
    )
    kinds = options.forests or list(FORESTS)[::2]
    settings = itertools.product(kinds, options.trees, options.blocks, options.workers or [2])
    found: dict[str, list[list[float]]] = {}
    for name, n_models, size, n_workers in settings:
        rows = rows_for(name, options.samples)
        frame, targets = pd.DataFrame([x for x, _ in rows]), [y for _, y in rows]
        starts = range(0, len(rows), size)
        blocks = [(frame[i : i + size], targets[i : i + size]) for i in starts]
        one, several = Measured(), Measured()
        for _ in range(options.repeats):
            forest = FORESTS[name](n_models=n_models, seed=1)
            with distributed(forest, n_workers=n_workers) as model:
                model.processes()
                several.run(model, blocks)
            one.run(forest, blocks)
        what = f"{name:34} {n_models:5} {size:5} {n_workers:7}"
        times = show_ratio(what, one, several, len(rows) - size)
        found.setdefault(name, []).append([n_models, n_workers, *times])
    for name, measured in found.items():
        show_costs(name, measured)
    return True


def show_ratio(what: str, one: Measured, several: Measured, n_samples: int) -> list[float]:
    """Print a line; return the processor time per sample of one process, coordinator and worker."""
    alone, clock = (1e6 / n_samples * statistics.median(each) for each in (one.here, one.clock))
    times = (several.clock, several.here, several.worker, several.workers)
    *spread, workers = [1e6 / n_samples * statistics.median(each) for each in times]
    half = max(0.5 * (spread[1] + workers), *spread[1:])
    print(
        f"{what} {clock:7.1f} {alone:7.1f} {spread[0]:7.1f} {spread[1]:7.1f} {spread[2]:7.1f} "
        f"{clock / spread[0]:6.2f} {alone / half:9.2f} {alone / max(spread[1:]):6.2f}",
        flush=True,
    )
    return [alone, *spread[1:]]


def show_costs(name: str, measured: list[list[float]]) -> None:
    """Fit the constants of a plan to the processor times, by least squares of relative errors."""
    trees, workers, one, coordinator, worker = np.array(measured).T
    ones = np.ones_like(trees)
    for what, columns, times in (
        ("one process = {:.1f} + {:.2f} trees", [ones, trees], one),
        (
            "coordinator = {:.1f} + {:.1f} workers + {:.2f} trees",
            [ones, workers, trees],
            coordinator,
        ),
        ("worker = {:.1f} + {:.2f} trees / workers", [ones, trees / workers], worker),
    ):
        if len(measured) > len(columns):
            relative = np.column_stack(columns) / times[:, np.newaxis]
            constants = np.linalg.lstsq(relative, ones)[0]
            print(f"{name}: {what.format(*constants)}")


def show_messages(options: argparse.Namespace) -> bool:
    """Send empty messages to a worker, one after the other."""
    start_ray()
    with DistributedKeyedModels(ret.StreamDecisionTreeClassifier(), n_workers=1) as model:
        process = model.processes()[0]
        clock, here = time.perf_counter(), time.process_time()
        there = processor_time(process)
        for _ in range(options.samples):
            model.counts()
        print(
            f"{1e3 * (time.perf_counter() - clock) / options.samples:.2f} ms by the clock, "
            f"{1e3 * (time.process_time() - here) / options.samples:.2f} ms of a processor here, "
            f"{1e3 * (processor_time(process) - there) / options.samples:.2f} ms there; "
            f"load {os.getloadavg()[0]:.1f}"
        )
    return True


# --- kill


def show_kill(options: argparse.Namespace) -> bool:
    """Kill workers under load, and show their counters before and after."""
    start_ray()
    name = "ExtraTreesClassifier"
    rows = rows_for(name, options.samples)
    forest = FORESTS[name](n_models=10, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        model = distributed(forest, folder=folder, checkpoint_every=1000)
        processes: list[int] = []
        for i, (x, y) in enumerate(rows):
            model.learn_one(x, y)
            forest.learn_one(x, y)
            show_death("forest", model, i, len(rows) // 4, processes)
        same = answers(model, rows[:200]) == answers(forest, rows[:200])
        print(f"{model.n_restarts} restarts; 200 predictions equal those of one process: {same}")
        model.close()
    return same


def show_death(what: str, model: Any, i: int, every: int, processes: list[int]) -> None:
    """Every so often, kill a worker just after it was sent a block, without asking it first."""
    if i % every == 777:
        show_counters(f"{what}, {i + 1} samples sent", model)
        processes[:] = model.processes()
    if i % every == 777 + model.block_size:
        number = i // every % 2
        os.kill(processes[number], signal.SIGKILL)
        start = time.perf_counter()
        show_counters(f"  {i + 1} samples sent and worker {number} killed", model)
        print(f"  back after {time.perf_counter() - start:.1f} s", flush=True)


def show_counters(what: str, model: Any) -> None:
    print(f"{what:44} (learned, in the checkpoint): {model.counters()}", flush=True)


# --- memory and pickles


def show_memory(options: argparse.Namespace) -> bool:
    """Create many models in a new process, and measure the growth of its memory."""
    print(f"{'learner':36} {'samples':>7} {'kB each':>8} {'own account':>12} {'models per GB':>14}")
    context = multiprocessing.get_context("fork")
    for name in LEARNERS:
        for n_samples in (20, 200, 1000):
            with context.Pool(1) as pool:
                size, own = pool.apply(size_of_model, (name, n_samples))
            print(
                f"{name:36} {n_samples:7} {size / 1e3:8.1f} {own / 1e3:12.1f} {1e9 / size:14,.0f}",
                flush=True,
            )
    return True


def size_of_model(name: str, n_samples: int) -> tuple[float, float]:
    """Bytes of resident memory per model, and what a model says of itself."""
    rows = rows_for(name.partition(",")[0], 2000)
    n_models = min(200, max(20, 20_000 // n_samples))
    before, models = resident(), []
    for k in range(n_models):
        model = LEARNERS[name]()
        for i in range(n_samples):
            model.learn_one(*rows[(37 * k + i) % len(rows)])
        models.append(model)
    return (resident() - before) / n_models, models[0]._raw_memory_usage


def resident() -> int:
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def show_pickles(options: argparse.Namespace) -> bool:
    """The sizes of what travels: bytes in the message, and beside it without a copy."""
    print(f"{'what':48} {'message':>9} {'buffers':>9} {'dump ms':>8} {'load ms':>8}")
    rows = rows_for("Classifier", 1000)
    block = Block([x for x, _ in rows], [y for _, y in rows])
    for name, make in LEARNERS.items():
        model = make()
        for x, y in rows_for(name.partition(",")[0], 1000):
            model.learn_one(x, y)
        show_pickle(name, model)
        show_pickle("  its snapshot", model.snapshot())
        if is_splittable(model):
            part = split(model, 2)[0]
            show_pickle("  half of its trees", part)
            show_pickle("  votes of half of its trees on the block", part.votes(block))
    show_pickle("block of 1,000 samples", block)
    show_pickle("the same as a list of dicts", rows)
    return True


def show_pickle(what: str, thing: Any) -> None:
    dumps, loads = [], []
    for _ in range(5):
        buffers: list[pickle.PickleBuffer] = []
        start = time.process_time()
        message = pickle.dumps(thing, 5, buffer_callback=buffers.append)
        dumps.append(time.process_time() - start)
        start = time.process_time()
        pickle.loads(message, buffers=buffers)
        loads.append(time.process_time() - start)
    size = sum(buffer.raw().nbytes for buffer in buffers)
    print(
        f"{what:48} {len(message):9,} {size:9,} {1e3 * min(dumps):8.2f} {1e3 * min(loads):8.2f}",
        flush=True,
    )


def show_clouds(options: argparse.Namespace) -> bool:
    """The mean absolute error of one cloud, and of several that are averaged."""
    print(f"{'clouds':>6} {'particles each':>14} {'MAE':>8}")
    rows = rows_for("Regressor", options.samples)
    for n_clouds, n_particles in ((1, 50), (2, 50), (4, 50), (1, 200)):
        errors = []
        for seed in range(options.repeats):
            model = ret.DynamicTreeRegressor(n_particles=n_particles, window=200, seed=seed)
            clouds, error = split(model, n_clouds), 0.0
            for x, y in rows:
                block = Block([x], [y])
                votes = [cloud.votes(block) for cloud in clouds]
                error += abs(y - clouds[0].predict_numbers(votes)[0])
                learn_together(clouds, block)
            errors.append(error / len(rows))
        mean = statistics.fmean(errors)
        print(f"{n_clouds:6} {n_particles:14} {mean:8.4f}   of each seed {errors}", flush=True)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shows = {
        "equality": (show_equality, 2000),
        "throughput": (show_throughput, 6000),
        "messages": (show_messages, 1000),
        "kill": (show_kill, 8000),
        "memory": (show_memory, 0),
        "pickles": (show_pickles, 0),
        "clouds": (show_clouds, 1500),
    }
    parser.add_argument("what", choices=shows)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--forests", nargs="+", choices=FORESTS)
    parser.add_argument("--workers", nargs="+", type=int)
    parser.add_argument("--trees", nargs="+", type=int, default=[10, 25, 50, 100])
    parser.add_argument("--blocks", nargs="+", type=int, default=[1000])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    show, n_samples = shows[options.what]
    options.samples = options.samples or n_samples
    sys.exit(0 if show(options) else 1)


if __name__ == "__main__":
    main()
