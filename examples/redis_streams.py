"""A model per sensor, fed from Redis Streams by consumers that are killed again and again.

Run it with `.venv/bin/python examples/redis_streams.py`. It needs Ray, the package `redis` and the
program `redis-server` (on Debian: `apt-get install redis-server`), which it starts on a free port.
`--events 1000000 --sensors 10000` takes minutes.

Each stream of Redis is a partition with a consumer of its own, a process that reads the stream and
feeds the models. The position in the stream is kept with the models, in the same transaction, so
that no consumer group and no acknowledgement is needed: a consumer that begins again reads from its
position on, and the workers skip what they have learned. At the end, all models are compared, to
the last bit, with models that learned the same events in this process.
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

# Without these, Ray asks about tokens and reports the killed processes at length.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "A worker died|Task consume failed")

import numpy as np
import pandas as pd
import ray
import redis

import river_extra_trees as ret
from river_extra_trees.distributed import DistributedKeyedModels, Feeder
from river_extra_trees.keyed import KeyedModels
from river_extra_trees.persistence import save_bytes

STREAMS = ("events:0", "events:1")
FEATURES = ("temperature", "pressure", "age")
READ = 500  # entries at a time


def number_of(entry: bytes) -> int:
    """An ID of Redis, `milliseconds-sequence`, as a whole number; IDs and numbers ascend alike."""
    milliseconds, sequence = entry.split(b"-")
    return int(milliseconds) << 20 | int(sequence)


def id_of(number: int) -> str:
    """The ID of a number."""
    return f"{number >> 20}-{number & 0xFFFFF}"


@contextlib.contextmanager
def running_redis() -> Iterator[str]:
    """A server of Redis that keeps nothing on the disk; its address."""
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
    alone = KeyedModels(ret.StreamDecisionTreeRegressor(seed=1))
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


def consume(feeder: Feeder, address: str) -> int:
    """Feed the models from a stream, up to its present end; return the number of events read."""
    client, n_read = redis.Redis.from_url(address), 0
    at = id_of(max(0, feeder.position - 1))
    while found := client.xread({feeder.partition: at}, count=READ):
        entries = found[feeder.partition.encode()][0] if isinstance(found, dict) else found[0][1]
        ids, events = zip(*entries, strict=True)
        frame = pd.DataFrame(
            {name: [float(event[name.encode()]) for event in events] for name in FEATURES}
        )
        sensors = [int(event[b"sensor"]) for event in events]
        targets = [float(event[b"target"]) for event in events]
        feeder.learn_many(sensors, frame, targets, numbers=[number_of(each) for each in ids])
        at, n_read = ids[-1], n_read + len(ids)
        client.incrby("read", len(ids))
        client.set(f"consumer of {feeder.partition}", os.getpid())
    feeder.commit()
    return n_read


def kill_consumers(client: redis.Redis, consumers: list[ray.ObjectRef], kills: int) -> int:
    """Kill a consumer again and again, each time after it has read some events."""
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
        with DistributedKeyedModels(alone.model, n_workers=2, folder=folder) as models:
            task = ray.remote(max_retries=-1)(consume)
            consumers = [task.remote(models.feeder(stream), address) for stream in STREAMS]
            n_killed = kill_consumers(client, consumers, options.kills)
            ray.get(consumers)
            counts = models.counts()
            print(f"{n_killed} times a consumer was killed")
            print(f"{int(client.get('read'))} events read, {counts.n_samples_seen} learned")
            equal = sum(
                save_bytes(models.model_of(sensor)) == save_bytes(alone.model_of(sensor))
                for sensor in range(options.sensors)
                if sensor in alone
            )
            print(f"{equal} of {len(alone)} models are equal to the last bit")


if __name__ == "__main__":
    main()
