"""A model per sensor, learned from the partitions of a Kafka topic by several processes.

Run it with `.venv/bin/python examples/kafka_partitions.py`. It needs Ray and the package
`confluent-kafka`, whose library contains a mock cluster, so that you need no broker. For a cluster
of your own, pass its address with `--brokers`.

Kafka sends all events of a key to one partition. Each partition has a task of Ray that reads it and
keeps the models of its keys in a file, together with the offset at which to continue. Therefore
Kafka need not store offsets. One task is killed, and Ray starts it again. At the end, all models
are compared, to the last bit, with models that learned the same events in this process.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import time
from pathlib import Path

# Without these, Ray asks about tokens and reports the killed process.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "A worker died|Task consume failed")

import confluent_kafka
import numpy as np
import pandas as pd
import ray

import river_extra_trees as ret
from river_extra_trees.keyed import KeyedModels
from river_extra_trees.persistence import save_bytes

PARTITIONS = 2  # of the four that the mock cluster gives to a new topic
FEATURES = ["temperature", "pressure", "age"]
READ = 1000  # messages at a time


def new_models(store: Path | None = None) -> KeyedModels:
    """Create the models, or continue with those of a file."""
    return KeyedModels(ret.StreamDecisionTreeRegressor(seed=1), store=store)


def produce(
    producer: confluent_kafka.Producer, topic: str, n_events: int, n_sensors: int
) -> KeyedModels:
    """Write the events into the partitions; return models that have learned them here."""
    rng = np.random.default_rng(1)
    sensors, X = rng.integers(n_sensors, size=n_events), rng.random((n_events, len(FEATURES)))
    y = X[:, 0] + sensors % 7 * X[:, 1]
    for sensor, x, target in zip(sensors.tolist(), X.tolist(), y.tolist(), strict=True):
        event = json.dumps([x, target]).encode()
        producer.produce(topic, event, str(sensor).encode(), partition=sensor % PARTITIONS)
        producer.poll(0)
    producer.flush()
    models = new_models()
    models.learn_many(sensors, pd.DataFrame(X, columns=FEATURES), y)
    return models


def consume(partition: int, brokers: str, topic: str, store: Path) -> None:
    """Learn a partition up to its present end."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": brokers, "group.id": "models", "enable.auto.commit": False}
    )
    with new_models(store) as models:
        offset = models.note.get("offset", 0)
        place = confluent_kafka.TopicPartition(topic, partition, offset)
        _, end = consumer.get_watermark_offsets(place)
        consumer.assign([place])
        while offset < end:
            messages = [each for each in consumer.consume(READ, timeout=1.0) if not each.error()]
            for message in messages:
                x, target = json.loads(message.value())
                features = dict(zip(FEATURES, x, strict=True))
                models.learn_one(int(message.key()), features, target)
                offset = message.offset() + 1
            models.commit({"offset": offset})
            store.with_suffix(".pid").write_text(str(os.getpid()))
    consumer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--sensors", type=int, default=500)
    parser.add_argument("--brokers", help="host:port; a mock cluster in this process by default")
    options = parser.parse_args()
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
    ray.init(address="local", num_cpus=4, **quiet)
    cluster = {"bootstrap.servers": options.brokers} if options.brokers else {}
    mock = {} if options.brokers else {"test.mock.num.brokers": 1}
    producer = confluent_kafka.Producer({**cluster, **mock, "log_level": 0})
    topic = f"events-{time.time_ns()}"
    alone = produce(producer, topic, options.events, options.sensors)
    broker = next(iter(producer.list_topics(topic).brokers.values()))
    brokers = options.brokers or f"{broker.host}:{broker.port}"
    with tempfile.TemporaryDirectory() as folder:
        stores = [Path(folder) / f"partition{number}.db" for number in range(PARTITIONS)]
        task = ray.remote(max_retries=-1)(consume)
        consumers = [
            task.remote(number, brokers, topic, store) for number, store in enumerate(stores)
        ]
        process = stores[0].with_suffix(".pid")
        while not process.exists() or not process.read_text():
            ended, _ = ray.wait(consumers, timeout=0.002)
            ray.get(ended)  # raises what a consumer has raised
        os.kill(int(process.read_text()), signal.SIGKILL)
        ray.get(consumers)
        n_learned = n_equal = 0
        for partition, store in enumerate(stores):
            with new_models(store) as models:
                n_learned += models.counts().n_samples_seen
                n_equal += sum(
                    save_bytes(models.model_of(sensor)) == save_bytes(alone.model_of(sensor))
                    for sensor in range(partition, options.sensors, PARTITIONS)
                    if sensor in alone
                )
        print(f"1 consumer killed; {options.events} events, {n_learned} learned")
        print(f"{n_equal} of {len(alone)} models are equal to the last bit")


if __name__ == "__main__":
    main()
