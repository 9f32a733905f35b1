"""Models per key over processes: equal to a loop in one process, whatever dies; and what it costs.

    python -m examples.benchmarks.costs.keyed_workers equality --events 1000000 --keys 10000
    python -m examples.benchmarks.costs.keyed_workers costs --events 200000
    python -m examples.benchmarks.costs.keyed_workers latency
    python -m examples.benchmarks.costs.keyed_workers load --events 200000

`equality` compares all models, bit for bit, for several numbers of workers and feeders, and after
kill -9 of a worker, of a feeder and of all processes, and after a change from 2 to 3 workers.
`costs` prints processor time per event in feeder and worker. `latency` prints how long
test-then-train takes. `load` sends frames at a given rate, whether or not the last answers are
there, and prints how long each one waits and takes: throughput and latency of one run. All need Ray
(the extra `ray`).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees.distributed import DistributedKeyedModels, Feeder
from river_extra_trees.keyed import KeyedModels

BLOCK = 10_000  # events of the stream that are made together
FEATURES = 10
TICKS = os.sysconf("SC_CLK_TCK")
Events = tuple[np.ndarray, list[str], pd.DataFrame, np.ndarray]


def model() -> ret.StreamDecisionTreeRegressor:
    """The model of each key."""
    return ret.StreamDecisionTreeRegressor(seed=1)


def blocks(
    n_events: int, n_keys: int, part: int = 0, n_parts: int = 1, start: int = 0
) -> Iterator[Events]:
    """The events of a partition from a number on: numbers, keys, features and targets.

    A key belongs to one partition. Each block is made from its own number, so that the stream can
    be read from anywhere.
    """
    for first in range(start // BLOCK * BLOCK, n_events, BLOCK):
        rng = np.random.default_rng(first)
        n = min(BLOCK, n_events - first)
        owners, X = rng.integers(n_keys, size=BLOCK)[:n], rng.random((BLOCK, FEATURES))[:n]
        numbers = np.arange(first, first + n)
        chosen = np.flatnonzero((owners % n_parts == part) & (numbers >= start))
        keys = [f"key {owner}" for owner in owners[chosen].tolist()]
        frame = pd.DataFrame(X[chosen], columns=[f"x{i}" for i in range(FEATURES)])
        y = X[chosen, 0] + owners[chosen] % 7 * X[chosen, 1]
        if len(chosen):
            yield numbers[chosen], keys, frame, y


def digest_of(model: Any) -> str:
    """A model as a digest of all its bits."""
    return hashlib.sha256(persistence.save_bytes(model)).hexdigest()


def digests_alone(n_events: int, n_keys: int) -> dict[str, str]:
    """The models of a loop in one process."""
    models: dict[str, Any] = {}
    for _, keys, frame, y in blocks(n_events, n_keys):
        names = list(frame.columns)
        for key, row, target in zip(keys, frame.to_numpy().tolist(), y.tolist(), strict=True):
            if key not in models:
                models[key] = model()
            models[key].learn_one(dict(zip(names, row, strict=True)), target)
    return {key: digest_of(each) for key, each in models.items()}


def digests_in(folder: Path, n_keys: int) -> dict[str, str]:
    """The models that lie in a folder."""
    found = {}
    for path in sorted(folder.glob("*.db")):
        with KeyedModels(model(), store=path) as models:
            for key in (f"key {i}" for i in range(n_keys)):
                if key in models:
                    found[key] = digest_of(models.model_of(key))
    return found


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


# --- equality


def n_consecutive(numbers: np.ndarray, start: int) -> int:
    """How many samples of the first half of a block have the numbers from a position on."""
    first = numbers[: len(numbers) // 2]
    return int((first == start + np.arange(len(first))).cumprod().sum())


def feed(feeder: Feeder, n_events: int, n_keys: int, part: int, n_parts: int, note: Path) -> None:
    """Send a partition from its position on; note the process and how far it is."""
    for numbers, keys, frame, y in blocks(n_events, n_keys, part, n_parts, feeder.position):
        # Samples that are sent alone are numbered by the feeder, one after the other.
        n_alone = n_consecutive(numbers, feeder.position)
        rows = frame[:n_alone].to_dict("records")
        for key, row, target in zip(keys, rows, y[:n_alone].tolist(), strict=False):
            feeder.learn_one(key, row, target)
        rest = slice(n_alone, None)
        feeder.learn_many(keys[rest], frame[rest], y[rest], numbers=numbers[rest])
        note.write_text(f"{os.getpid()} {numbers[-1]}")
    feeder.save()


def run_once(options: argparse.Namespace) -> None:
    """Feed a whole stream; kill or rescale on the way. The program of a process that may die."""
    ray = start_ray()
    folder = Path(options.folder)
    notes = [folder / f"feeder{part}" for part in range(options.feeders)]
    every = max(1000, options.events // 20)
    with DistributedKeyedModels(
        model(), options.workers, folder=folder / "models", checkpoint_every=every
    ) as models:
        (folder / "workers").write_text(" ".join(map(str, models.processes())))
        task = ray.remote(max_retries=-1)(feed)
        running = [
            task.remote(models.feeder(i), options.events, options.keys, i, len(notes), note)
            for i, note in enumerate(notes)
        ]
        while number_in(notes[0]) < options.events // 2:
            ended, _ = ray.wait(running, timeout=0.01)
            ray.get(ended)  # raises what a feeder has raised
        if options.disturb == "worker":
            os.kill(models.processes()[0], signal.SIGKILL)
        elif options.disturb == "feeder":
            os.kill(int(notes[0].read_text().split()[0]), signal.SIGKILL)
        elif options.disturb == "rescale":
            models.rescale(options.workers + 1)
        (folder / "half").touch()
        ray.get(running)


def number_in(note: Path) -> int:
    """How far a feeder has come."""
    words = note.read_text().split() if note.exists() else []
    return int(words[1]) if words else 0


def descendants(process: int) -> list[int]:
    """A process, those that it began, and those that they began."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    own = [int(child) for path in tasks for child in path.read_text().split()]
    return [process, *(each for child in own for each in descendants(child))]


def show_equality(options: argparse.Namespace) -> bool:
    """Compare all models with those of a loop, after one run for each way to disturb it."""
    expected = digests_alone(options.events, options.keys)
    print(f"{len(expected)} keys, {options.events} events", flush=True)
    runs = [("nothing", workers, feeders) for workers in (1, 2, 4) for feeders in (1, 2)]
    # A single feeder sends half of its samples one by one.
    disturbances = ("worker", "feeder", "all", "rescale")
    runs += [(disturb, 2, feeders) for disturb in disturbances for feeders in (1, 2)]
    print(
        f"{'killed':8} {'workers':>7} {'feeders':>7} {'models':>7} {'different':>9} {'seconds':>8}"
    )
    all_equal = True
    for disturb, workers, feeders in runs:
        if options.disturb not in ("", disturb):
            continue
        with tempfile.TemporaryDirectory() as name:
            folder, start = Path(name), time.perf_counter()
            given = {"workers": workers, "feeders": feeders, "folder": folder, "disturb": disturb}
            first = run_apart(options, given)
            if disturb == "all":
                while not (folder / "half").exists():
                    time.sleep(0.01)
                for process in descendants(first.pid):
                    os.kill(process, signal.SIGKILL)
                first.wait()
                (folder / "half").unlink()
                first = run_apart(options, {**given, "workers": 3})
            assert first.wait() == 0
            seconds = time.perf_counter() - start
            found = digests_in(folder / "models", options.keys)
        different = sum(found.get(key) != each for key, each in expected.items())
        different += len(found.keys() - expected.keys())
        all_equal = all_equal and different == 0
        print(f"{disturb:8} {workers:7} {feeders:7} {len(found):7} {different:9} {seconds:8.1f}")
        sys.stdout.flush()
    return all_equal


def run_apart(options: argparse.Namespace, given: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Run `run_once` in a process of its own."""
    command = [sys.executable, "-m", "examples.benchmarks.costs.keyed_workers", "once"]
    given = {**given, "events": options.events, "keys": options.keys}
    return subprocess.Popen([*command, *(f"--{name}={value}" for name, value in given.items())])


# --- costs


def show_costs(options: argparse.Namespace) -> bool:
    """Processor time per event: bare models, one process, and several."""
    ready = list(blocks(options.events, options.keys))
    per_event = 1e6 / options.events
    models: dict[str, Any] = {}
    rows = [list(zip(k, f.to_dict("records"), y.tolist(), strict=True)) for _, k, f, y in ready]
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
    for _, keys, frame, y in ready:
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
    return True


def measure(
    ready: list[Events], n_workers: int, call: str, is_stored: bool, per_event: float
) -> None:
    """Send all blocks once, and print the times."""
    with (
        tempfile.TemporaryDirectory() as folder,
        DistributedKeyedModels(model(), n_workers, folder=folder if is_stored else None) as models,
    ):
        models.predict_many(*ready[0][1:3])  # workers begin with their first message
        before = sum(map(processor_time, models.processes()))
        clock, here = time.perf_counter(), time.process_time()
        for _, keys, frame, y in ready:
            getattr(models, call)(keys, frame, y)
        models.wait()
        here, clock = time.process_time() - here, time.perf_counter() - clock
        there = sum(map(processor_time, models.processes())) - before
    what = call + (", stored" if is_stored else "")
    print(
        f"{n_workers:7} {what:26} {per_event * clock:7.2f} {per_event * here:7.2f} "
        f"{per_event * there:11.2f}",
        flush=True,
    )


# --- latency


def show_latency(options: argparse.Namespace) -> bool:
    """How long test-then-train takes: per event, and by frames of several sizes."""
    start_ray()
    _, keys, frame, y = next(blocks(BLOCK, options.keys))
    rows = list(zip(keys, frame.to_dict("records"), y.tolist(), strict=True))[:1000]
    with DistributedKeyedModels(model(), 2) as models:
        models.learn_many(keys, frame, y)
        models.wait()
        seconds = []
        for key, x, target in rows:
            start = time.perf_counter()
            models.predict_one(key, x)
            models.learn_one(key, x, target)
            seconds.append(time.perf_counter() - start)
        show_percentiles("predict_one, learn_one", seconds)
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
    return True


# --- load


def show_load(options: argparse.Namespace) -> bool:
    """Throughput of test-then-train as fast as it goes, then the latency at shares of this rate."""
    start_ray()
    ready = list(blocks(options.events, options.keys))
    with DistributedKeyedModels(model(), options.workers) as models:
        models.learn_many(*ready[0][1:])
        models.wait()
        for size in (100, 1000):
            frames = [
                (keys[at : at + size], frame[at : at + size], y[at : at + size])
                for _, keys, frame, y in ready
                for at in range(0, len(keys) - size + 1, size)
            ][: options.frames]
            most, _ = rate_and_latencies(models, frames, 0.0)
            print(f"frames of {size} rows, as fast as they go: {most:,.0f} events per second")
            for share in (0.5, 0.8):
                rate, seconds = rate_and_latencies(models, frames, size / (share * most))
                show_percentiles(f"  at {rate:,.0f} events per second", seconds)
    return True


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
    parser.add_argument("command", choices=["equality", "costs", "latency", "load", "once"])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--keys", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--feeders", type=int, default=1)
    parser.add_argument("--frames", type=int, default=500, help="that load sends at each rate")
    parser.add_argument("--folder", default="")
    parser.add_argument("--disturb", default="")
    options = parser.parse_args()
    commands = {
        "equality": show_equality,
        "costs": show_costs,
        "latency": show_latency,
        "load": show_load,
    }
    if options.command == "once":
        run_once(options)
    elif not commands[options.command](options):
        sys.exit("there are differences")


if __name__ == "__main__":
    main()
