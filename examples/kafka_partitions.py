"""A model per sensor, fed from the partitions of a Kafka topic.

Run it with `.venv/bin/python examples/kafka_partitions.py`. It needs Ray and the package
`confluent-kafka`, whose library brings a mock cluster, so that no broker has to be installed. For a
cluster of your own, pass its address with `--brokers`.

Each partition has a consumer of its own, a process that reads it and feeds the models. Kafka's
offsets number the samples, and the position of the feeder, which is kept with the models, is the
offset at which to begin: the offsets that Kafka can keep for a group are not needed. One consumer
is killed on the way. At the end, all models are compared, to the last bit, with models that learned
the same events in this process.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import time
from pathlib import Path

# Without these, Ray asks about tokens and reports the killed process at length.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "A worker died|Task consume failed")

import confluent_kafka
import numpy as np
import pandas as pd
import ray

import river_extra_trees as ret
from river_extra_trees.distributed import DistributedKeyedModels, Feeder
from river_extra_trees.keyed import KeyedModels
from river_extra_trees.persistence import save_bytes

PARTITIONS = 4  # as many as the mock cluster gives to a new topic
FEATURES = ["temperature", "pressure", "age"]
READ = 1000  # messages at a time


def produce(
    producer: confluent_kafka.Producer, topic: str, n_events: int, n_sensors: int
) -> KeyedModels:
    """Write the events into the partitions; return models that have learned them here."""
    alone = KeyedModels(ret.StreamDecisionTreeRegressor(seed=1))
    rng = np.random.default_rng(1)
    sensors, X = rng.integers(n_sensors, size=n_events), rng.random((n_events, len(FEATURES)))
    y = X[:, 0] + sensors % 7 * X[:, 1]
    for sensor, x, target in zip(sensors.tolist(), X.tolist(), y.tolist(), strict=True):
        event = json.dumps([x, target]).encode()
        producer.produce(topic, event, str(sensor).encode(), partition=sensor % PARTITIONS)
        producer.poll(0)
    producer.flush()
    alone.learn_many(sensors, pd.DataFrame(X, columns=FEATURES), y)
    return alone


def consume(feeder: Feeder, brokers: str, topic: str, note: Path) -> None:
    """Feed the models from a partition, up to its present end."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": brokers, "group.id": "models", "enable.auto.commit": False}
    )
    place = confluent_kafka.TopicPartition(topic, feeder.partition, feeder.position)
    _, end = consumer.get_watermark_offsets(place)
    consumer.assign([place])
    while feeder.position < end:
        messages = [each for each in consumer.consume(READ, timeout=1.0) if not each.error()]
        if messages:
            events = [json.loads(message.value()) for message in messages]
            feeder.learn_many(
                [int(message.key()) for message in messages],
                pd.DataFrame([x for x, _ in events], columns=FEATURES),
                [target for _, target in events],
                numbers=[message.offset() for message in messages],
            )
            note.write_text(str(os.getpid()))
    feeder.commit()
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
    with tempfile.TemporaryDirectory() as folder:
        notes = [Path(folder) / f"consumer {partition}" for partition in range(PARTITIONS)]
        with DistributedKeyedModels(alone.model, n_workers=2, folder=folder) as models:
            task = ray.remote(max_retries=-1)(consume)
            brokers = options.brokers or f"{broker.host}:{broker.port}"
            consumers = [
                task.remote(models.feeder(partition), brokers, topic, note)
                for partition, note in enumerate(notes)
            ]
            while not notes[0].exists() or not notes[0].read_text():
                ended, _ = ray.wait(consumers, timeout=0.002)
                ray.get(ended)  # raises what a consumer has raised
            os.kill(int(notes[0].read_text()), signal.SIGKILL)
            ray.get(consumers)
            positions = [models.feeder(partition).position for partition in range(PARTITIONS)]
            print(f"1 consumer killed; next offsets of the partitions: {positions}")
            print(f"{options.events} events, {models.counts().n_samples_seen} learned")
            equal = sum(
                save_bytes(models.model_of(sensor)) == save_bytes(alone.model_of(sensor))
                for sensor in range(options.sensors)
                if sensor in alone
            )
            print(f"{equal} of {len(alone)} models are equal to the last bit")


if __name__ == "__main__":
    main()
