"""A model per sensor, learned from Redis Streams by processes that are killed again and again.

Run it with `.venv/bin/python examples/redis_streams.py`. It needs Ray, the package `redis` and the
program `redis-server` (on Debian: `apt-get install redis-server`), which it starts on a free port.
`--events 1000000 --sensors 10000` takes minutes.

Each stream of Redis has a task of Ray that reads it and keeps the models of its keys in a file,
together with the id of the last entry. Therefore there is no consumer group, and no entry is
acknowledged: Ray starts a killed task again, and it continues after the last commit. At the end,
all models are compared, to the last bit, with models that learned the same events in this process.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# Without these, Ray asks about tokens and reports the killed processes.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "A worker died|Task consume failed")

import numpy as np
import pandas as pd
import ray
import redis

import river_extra_trees as ret
from river_extra_trees.keyed import KeyedModels
from river_extra_trees.persistence import save_bytes

STREAMS = ("events:0", "events:1")
FEATURES = ("temperature", "pressure", "age")
READ = 500  # entries at a time


def new_models(store: Path | None = None) -> KeyedModels:
    """Create the models, or continue with those of a file."""
    return KeyedModels(ret.StreamDecisionTreeRegressor(seed=1), store=store)


@contextlib.contextmanager
def running_redis() -> Iterator[str]:
    """Run a server of Redis that keeps nothing on the disk; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    try:
        client = redis.Redis(port=port)
        while True:
            try:
                client.ping()
                break
            except redis.exceptions.ConnectionError:
                time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def produce(client: redis.Redis, n_events: int, n_sensors: int) -> KeyedModels:
    """Write the events into the streams; return models that have learned them here."""
    alone = new_models()
    rng = np.random.default_rng(1)
    for start in range(0, n_events, READ):
        n = min(READ, n_events - start)
        sensors, X = rng.integers(n_sensors, size=n), rng.random((n, len(FEATURES)))
        y = X[:, 0] + sensors % 7 * X[:, 1]
        pipeline = client.pipeline(transaction=False)
        for sensor, x, target in zip(sensors.tolist(), X.tolist(), y.tolist(), strict=True):
            event = {"sensor": sensor, **dict(zip(FEATURES, x, strict=True)), "target": target}
            pipeline.xadd(STREAMS[sensor % len(STREAMS)], event)
        pipeline.execute()
        alone.learn_many(sensors, pd.DataFrame(X, columns=list(FEATURES)), y)
    return alone


def consume(stream: str, address: str, store: Path) -> None:
    """Learn a stream up to its present end."""
    client = redis.Redis.from_url(address)
    with new_models(store) as models:
        last = models.note.get("last", "0-0")
        while found := client.xread({stream: last}, count=READ):
            entries = found[stream.encode()][0] if isinstance(found, dict) else found[0][1]
            ids, events = zip(*entries, strict=True)
            for event in events:
                x = {name: float(event[name.encode()]) for name in FEATURES}
                models.learn_one(int(event[b"sensor"]), x, float(event[b"target"]))
            last = ids[-1]
            models.commit({"last": last})
            client.set(f"consumer of {stream}", os.getpid())


def kill_consumers(client: redis.Redis, consumers: list[ray.ObjectRef], kills: int) -> int:
    """Kill consumers in turn, each time after a commit; return how often."""
    n_killed = 0
    while n_killed < kills:
        ended, _ = ray.wait(consumers, num_returns=len(consumers), timeout=0.001)
        ray.get(ended)  # raises what a consumer has raised
        if len(ended) == len(consumers):
            break
        process = client.getdel(f"consumer of {STREAMS[n_killed % len(STREAMS)]}")
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        n_killed += process is not None
    return n_killed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--sensors", type=int, default=500)
    parser.add_argument("--kills", type=int, default=10)
    options = parser.parse_args()
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
    ray.init(address="local", num_cpus=4, **quiet)
    with running_redis() as address, tempfile.TemporaryDirectory() as folder:
        client = redis.Redis.from_url(address)
        alone = produce(client, options.events, options.sensors)
        stores = [Path(folder) / f"stream{number}.db" for number in range(len(STREAMS))]
        task = ray.remote(max_retries=-1)(consume)
        pairs = zip(STREAMS, stores, strict=True)
        consumers = [task.remote(stream, address, store) for stream, store in pairs]
        n_killed = kill_consumers(client, consumers, options.kills)
        ray.get(consumers)
        n_learned = n_equal = 0
        for number, store in enumerate(stores):
            with new_models(store) as models:
                n_learned += models.counts().n_samples_seen
                n_equal += sum(
                    save_bytes(models.model_of(sensor)) == save_bytes(alone.model_of(sensor))
                    for sensor in range(number, options.sensors, len(STREAMS))
                    if sensor in alone
                )
        print(f"{n_killed} times a consumer was killed")
        print(f"{options.events} events, {n_learned} learned")
        print(f"{n_equal} of {len(alone)} models are equal to the last bit")


if __name__ == "__main__":
    main()
