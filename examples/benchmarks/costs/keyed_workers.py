"""Models per key over processes: what they cost.

    python -m examples.benchmarks.costs.keyed_workers costs --events 200000
    python -m examples.benchmarks.costs.keyed_workers latency
    python -m examples.benchmarks.costs.keyed_workers load --events 200000

`costs` prints processor time per event in feeder and worker. `latency` prints how long
test-then-train takes. `load` sends frames at a given rate, whether or not the last answers are
there, and prints how long each one waits and takes: throughput and latency of one run. All need Ray
(the extra `ray`).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import river_extra_trees as ret
from river_extra_trees.distributed import DistributedKeyedModels
from river_extra_trees.keyed import KeyedModels

BLOCK = 10_000  # events of the stream that are made together
FEATURES = 10
TICKS = os.sysconf("SC_CLK_TCK")
Events = tuple[list[str], pd.DataFrame, np.ndarray]


def model() -> ret.StreamDecisionTreeRegressor:
    """The model of each key."""
    return ret.StreamDecisionTreeRegressor(seed=1)


def blocks(n_events: int, n_keys: int) -> Iterator[Events]:
    """The events: keys, features and targets."""
    for first in range(0, n_events, BLOCK):
        rng, n = np.random.default_rng(first), min(BLOCK, n_events - first)
        owners, X = rng.integers(n_keys, size=n), rng.random((n, FEATURES))
        frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(FEATURES)])
        yield [f"key {owner}" for owner in owners], frame, X[:, 0] + owners % 7 * X[:, 1]


def processor_time(process: int) -> float:
    """Seconds that a process has kept processors busy."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def start_ray() -> Any:
    """Ray on this machine."""
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "60")  # a busy machine takes its time
    os.environ.setdefault("RAY_worker_niceness", "0")  # else whatever runs beside it comes first
    import ray

    options = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
    ray.init(address="local", num_cpus=8, **options)
    return ray


# --- costs


def show_costs(options: argparse.Namespace) -> None:
    """Processor time per event: bare models, one process, and several."""
    ready = list(blocks(options.events, options.keys))
    per_event = 1e6 / options.events
    models: dict[str, Any] = {}
    rows = [list(zip(k, f.to_dict("records"), y.tolist(), strict=True)) for k, f, y in ready]
    start = time.process_time()
    for block in rows:
        for key, x, target in block:
            if key not in models:
                models[key] = model()
            models[key].learn_one(x, target)
    print(
        f"dict of models, learn_one: {per_event * (time.process_time() - start):.2f} us per event"
    )
    del rows
    alone = KeyedModels(model())
    start = time.process_time()
    for keys, frame, y in ready:
        alone.learn_many(keys, frame, y)
    print(f"KeyedModels, learn_many: {per_event * (time.process_time() - start):.2f} us per event")
    start_ray()
    print(
        f"{'workers':>7} {'call':20} {'clock':>7} {'feeder':>7} {'all workers':>11}  us per event"
    )
    for n_workers in (1, 2):
        for call in ("learn_many", "predict_learn_many"):
            for is_stored in (False, True):
                measure(ready, n_workers, call, is_stored, per_event)


def measure(
    ready: list[Events], n_workers: int, call: str, is_stored: bool, per_event: float
) -> None:
    """Send all blocks once, and print the times."""
    with (
        tempfile.TemporaryDirectory() as folder,
        DistributedKeyedModels(model(), n_workers, folder=folder if is_stored else None) as models,
    ):
        models.predict_many(*ready[0][:2])  # workers begin with their first message
        before = sum(map(processor_time, models._of_all("process")))
        clock, here = time.perf_counter(), time.process_time()
        for keys, frame, y in ready:
            getattr(models, call)(keys, frame, y)
        if is_stored:
            models.commit()
        models.counts()  # waits
        here, clock = time.process_time() - here, time.perf_counter() - clock
        there = sum(map(processor_time, models._of_all("process"))) - before
    what = call + (", stored" if is_stored else "")
    print(
        f"{n_workers:7} {what:26} {per_event * clock:7.2f} {per_event * here:7.2f} "
        f"{per_event * there:11.2f}",
        flush=True,
    )


# --- latency


def show_latency(options: argparse.Namespace) -> None:
    """How long test-then-train takes: per event, and by frames of several sizes."""
    start_ray()
    keys, frame, y = next(blocks(BLOCK, options.keys))
    rows = list(zip(keys, frame.to_dict("records"), strict=True))[:1000]
    with DistributedKeyedModels(model(), 2) as models:
        models.learn_many(keys, frame, y)
        models.counts()  # waits
        seconds = []
        for key, x in rows:
            start = time.perf_counter()
            models.predict_one(key, x)
            seconds.append(time.perf_counter() - start)
        show_percentiles("predict_one", seconds)
        for size in (1, 100, 1000):
            seconds = []
            for i in range(200):
                at = i * size % (BLOCK - size)
                start = time.perf_counter()
                models.predict_learn_many(
                    keys[at : at + size], frame[at : at + size], y[at : at + size]
                )
                seconds.append(time.perf_counter() - start)
            show_percentiles(f"predict_learn_many, {size} rows", seconds)


# --- load


def show_load(options: argparse.Namespace) -> None:
    """Throughput of test-then-train as fast as it goes, then the latency at shares of this rate."""
    start_ray()
    ready = list(blocks(options.events, options.keys))
    with DistributedKeyedModels(model(), options.workers) as models:
        models.learn_many(*ready[0])
        models.counts()  # waits
        for size in (100, 1000):
            frames = [
                (keys[at : at + size], frame[at : at + size], y[at : at + size])
                for keys, frame, y in ready
                for at in range(0, len(keys) - size + 1, size)
            ][: options.frames]
            most, _ = rate_and_latencies(models, frames, 0.0)
            print(f"frames of {size} rows, as fast as they go: {most:,.0f} events per second")
            for share in (0.5, 0.8):
                rate, seconds = rate_and_latencies(models, frames, size / (share * most))
                show_percentiles(f"  at {rate:,.0f} events per second", seconds)


def rate_and_latencies(
    models: DistributedKeyedModels, frames: list[Any], every: float
) -> tuple[float, list[float]]:
    """Events per second; of each frame, the seconds from when it was due to its answers."""
    seconds, start = [], time.perf_counter()
    for i, (keys, frame, y) in enumerate(frames):
        due = start + i * every if every else time.perf_counter()
        time.sleep(max(0.0, due - time.perf_counter()))
        models.predict_learn_many(keys, frame, y)
        seconds.append(time.perf_counter() - due)
    return sum(len(keys) for keys, _, _ in frames) / (time.perf_counter() - start), seconds


def show_percentiles(what: str, seconds: list[float]) -> None:
    """Print the median and the 99th percentile."""
    median, last = 1e3 * np.percentile(seconds, [50, 99])
    print(f"{what:32} p50 {median:7.2f} ms   p99 {last:7.2f} ms", flush=True)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["costs", "latency", "load"])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--keys", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--frames", type=int, default=500, help="that load sends at each rate")
    options = parser.parse_args()
    {"costs": show_costs, "latency": show_latency, "load": show_load}[options.command](options)


if __name__ == "__main__":
    main()
