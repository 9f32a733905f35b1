"""Requests per second and latency of a model served by replicas of Ray Serve, on this machine.

    python -m examples.benchmarks.costs.replicas          one and two replicas, HTTP and handles

Clients, each a process with one connection, send requests as fast as they are answered. They share
the processors with the proxy and the replicas, so the tables also show the processor time of all
processes of Ray.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import socket
import time
from pathlib import Path
from typing import Any

import pandas as pd

import river_extra_trees as ret
from examples.benchmarks.common import tables
from examples.benchmarks.costs.serve import SAMPLES, client, processor_seconds
from river_extra_trees.distributed import SnapshotServer

HEADS = ["way", "samples", "clients", "requests/s", "samples/s", "median, ms", "p99, ms"]


def learned() -> Any:
    """A forest that has learned the stream."""
    model = ret.ExtraTreesClassifier(seed=1)
    for x, y in SAMPLES:
        model.learn_one(x, y)
    return model


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def processes_of_ray() -> list[int]:
    """All that this process began, and what they began."""
    found, new = [], [os.getpid()]
    while new:
        paths = [
            path for process in new for path in Path(f"/proc/{process}/task").glob("*/children")
        ]
        new = [int(child) for path in paths for child in path.read_text().split()]
        found += new
    return found


def used_by(processes: list[int]) -> float:
    """Seconds of processor time; clients, which have ended, do not count."""
    return sum(processor_seconds(each) for each in processes if Path(f"/proc/{each}").exists())


def line(way: str, size: int, clients: int, times: list[float], seconds: float, used: float) -> Any:
    """A line of the table."""
    times, rate = sorted(times), len(times) / seconds
    return [
        *(way, str(size), str(clients), f"{rate:,.0f}", f"{rate * size:,.0f}"),
        *(f"{1e3 * times[int(share * len(times))]:.2f}" for share in (0.5, 0.99)),
        f"{1e6 * used / len(times):,.0f}",
    ]


def over_http(port: int, size: int, clients: int, seconds: float) -> Any:
    """Measure clients that are processes of their own."""
    processes, results = processes_of_ray(), multiprocessing.Queue()
    used = used_by(processes)
    workers = [
        multiprocessing.Process(target=client, args=(port, "/predict", size, seconds, results))
        for _ in range(clients)
    ]
    for worker in workers:
        worker.start()
    times = list(itertools.chain.from_iterable(results.get() for _ in workers))
    for worker in workers:
        worker.join()
    return line("HTTP", size, clients, times, seconds, used_by(processes) - used)


def by_handle(server: SnapshotServer, size: int, seconds: float) -> Any:
    """Measure this process, which asks one question after the other."""
    frame = pd.DataFrame([x for x, _ in SAMPLES[:size]])
    ask = (
        (lambda: server.ask("predict_many", frame))
        if size > 1
        else (lambda: server.ask("predict_one", SAMPLES[0][0]))
    )
    processes, times = processes_of_ray(), []
    used, end = used_by(processes), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        ask()
        times.append(time.perf_counter() - start)
    return line("handle", size, 1, times, seconds, used_by(processes) - used)


def show_rates(options: argparse.Namespace) -> None:
    """Print a table for each number of replicas."""
    model, port = learned(), free_port()
    for n_replicas in options.replicas:
        with SnapshotServer(model.snapshot(), n_replicas, port=port) as server:
            server.ask("predict_one", SAMPLES[0][0])
            lines = [
                over_http(port, size, clients, options.seconds)
                for size, clients in itertools.product((1, 100), options.clients)
            ]
            lines += [by_handle(server, size, options.seconds) for size in (1, 100)]
            start = time.perf_counter()
            for _ in range(10):
                server.publish(model.snapshot())
            published = (time.perf_counter() - start) / 10
        print(f"\n{n_replicas} replicas; a snapshot is published in {1e3 * published:.0f} ms\n")
        tables.show([*HEADS, "Ray, µs CPU per request"], lines)


def main() -> None:
    """Print what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="time of each line")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_worker_niceness", "0")
    show_rates(options)


if __name__ == "__main__":
    main()
