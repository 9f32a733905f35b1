"""Quix Streams against the cluster that librdkafka makes up in this process.

    CHECKOUT=. python examples/benchmarks/engines/quix.py [--events 40000]

Quix keeps state per key as JSON, one access per message; this keeps a model as base64 text.
"""

import argparse
import base64
import json
import tempfile

from confluent_kafka import Producer
from job import KEYS, Meter, events, learn_state
from quixstreams import Application
from quixstreams.models.topics import TopicAdmin, TopicConfig

# The cluster does not tell how its topics are configured, which Quix asks.
TopicAdmin.inspect_topics = lambda self, names, timeout=None: {
    name: TopicConfig(4, 1, {"retention.ms": "-1", "retention.bytes": "-1"}) for name in names
}

parser = argparse.ArgumentParser()
parser.add_argument("--events", type=int, default=40_000)
parser.add_argument("--keys", type=int, default=KEYS)
options = parser.parse_args()
meter = Meter()
# The first client makes the cluster, which lives as long as it does.
maker = Producer({"bootstrap.servers": "", "test.mock.num.brokers": 1})
servers = next(iter(maker.list_topics(timeout=20).brokers.values()))
maker.produce("events", b"null", key="first")  # makes the topic
maker.flush()
application = Application(
    broker_address=f"{servers.host}:{servers.port}",
    consumer_group="models",
    auto_offset_reset="earliest",
    state_dir=tempfile.mkdtemp(),
    use_changelog_topics=False,
    processing_guarantee="at-least-once",
    auto_create_topics=False,  # the cluster makes a topic when it is first named
)
topic = application.topic("events", value_deserializer="json")
with application.get_producer() as producer:
    for key, x, y in events(options.events, options.keys):
        producer.produce("events", key=key, value=json.dumps([*x, y]).encode())

meter.mark("set-up, and messages sent")


def learn(row, state):
    if row is None:
        return 0
    text = state.get("model")
    found, n = learn_state(None if text is None else base64.b64decode(text), [row])
    state.set("model", base64.b64encode(found).decode())
    return n


frame = application.dataframe(topic).apply(learn, stateful=True)
application.run(count=options.events + 1, timeout=30)
meter.mark(f"{options.events} events")
