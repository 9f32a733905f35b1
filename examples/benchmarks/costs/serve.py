"""Requests per second and latency of the HTTP service, on this machine.

    python -m examples.benchmarks.costs serve

A service of its own process learns the stream once; then clients, each a process with one
connection, send requests as fast as they are answered, for a few seconds each. Everything stays on
the loopback interface. Clients and service share the processors, so the table also shows the
processor time of the service alone.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from river import datasets

import river_extra_trees as ret
from examples.benchmarks.common import tables
from river_extra_trees import persistence

LEARNERS = ("StreamDecisionTreeClassifier", "ExtraTreesClassifier", "DynamicTreeClassifier")
PATHS = ("/predict", "/learn", "/predict-learn")
KINDS = {1: "application/json", 100: "application/x-ndjson"}  # samples of a request
TICKS = os.sysconf("SC_CLK_TCK")
SAMPLES = list(datasets.ImageSegments())


def requests(path: str, size: int) -> list[bytes]:
    """Return requests that hold the stream, each with so many samples."""
    found = []
    for start in range(0, len(SAMPLES) - size + 1, size):
        lines = [
            json.dumps({"x": x} if path == "/predict" else {"x": x, "y": y})
            for x, y in SAMPLES[start : start + size]
        ]
        body = "\n".join(lines).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {KINDS[size]}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        found.append(head.encode() + body)
    return found


def answer(connection: socket.socket) -> None:
    """Read one answer; raise if it is not the one to a good request."""
    received = b""
    while (end := received.find(b"\r\n\r\n")) < 0:
        received += connection.recv(1 << 16)
    head = received[:end].lower()
    if not head.startswith(b"http/1.1 200"):
        raise RuntimeError(received.decode())
    left = int(re.search(rb"content-length: (\d+)", head)[1]) - (len(received) - end - 4)  # type: ignore[index]
    while left > 0:
        left -= len(connection.recv(min(left, 1 << 16)))


def client(port: int, path: str, size: int, seconds: float, results: Any) -> None:
    """Send requests for some seconds; tell how long each took."""
    times: list[float] = []
    stream = itertools.cycle(requests(path, size))
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end = time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            connection.sendall(next(stream))
            answer(connection)
            times.append(time.perf_counter() - start)
    results.put(times)


def processor_seconds(process: int) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextlib.contextmanager
def service(learner: str, folder: Path) -> Iterator[tuple[int, int]]:
    """Serve a model that has learned the stream; yield the process and its port."""
    model = getattr(ret, learner)(seed=1)
    for x, y in SAMPLES:
        model.learn_one(x, y)
    path = folder / "m.model"
    persistence.save(model, path)
    command = [sys.executable, "-m", "river_extra_trees", "serve", str(path), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = re.search(r":(\d+) ", process.stdout.readline())
        if port is None:
            raise RuntimeError("the service did not start")
        yield process.pid, int(port[1])
    finally:
        process.terminate()
        process.communicate()


def measured(
    process: int, port: int, path: str, size: int, clients: int, seconds: float
) -> list[str]:
    """Return a line of the table."""
    results: Any = multiprocessing.Queue()
    used = processor_seconds(process)
    workers = [
        multiprocessing.Process(target=client, args=(port, path, size, seconds, results))
        for _ in range(clients)
    ]
    for worker in workers:
        worker.start()
    times = sorted(itertools.chain.from_iterable(results.get() for _ in workers))
    for worker in workers:
        worker.join()
    used = processor_seconds(process) - used
    rate = len(times) / seconds
    return [
        *(path, str(size), str(clients), f"{rate:,.0f}", f"{rate * size:,.0f}"),
        *(f"{1e3 * times[int(share * len(times))]:.2f}" for share in (0.5, 0.99)),
        f"{1e6 * used / len(times):,.0f}",
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--seconds", type=float, default=3.0, help="time of each line")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))


def run(options: argparse.Namespace) -> None:
    """Print a line for each learner, kind of request and number of clients."""
    lines = []
    for learner in options.learners:
        with tempfile.TemporaryDirectory() as folder, service(learner, Path(folder)) as found:
            for path, size, clients in itertools.product(PATHS, KINDS, options.clients):
                line = measured(*found, path, size, clients, options.seconds)
                lines.append([learner, *line])
    heads = ["learner", "path", "samples", "clients", "requests/s", "samples/s"]
    tables.show([*heads, "median, ms", "p99, ms", "service, µs CPU per request"], lines)
