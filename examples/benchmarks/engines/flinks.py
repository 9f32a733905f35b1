"""PyFlink: a keyed process function whose state is the model of the key, as bytes.

    CHECKOUT=. python examples/benchmarks/engines/flinks.py [--events 40000]

In an environment with apache-flink and this package's dependencies; Java 17. PyFlink pins an old
numpy. Python runs in processes of its own, in bundles; the state is fetched by key and cached.
"""

import argparse
import os
import sys
from pathlib import Path

from job import KEYS, Meter, events, learn_state

HERE = str(Path(__file__).resolve().parent)
os.environ["PYTHONPATH"] = os.pathsep.join([HERE, os.environ.get("CHECKOUT", ".")])

from pyflink.common import Configuration, Types
from pyflink.datastream import (
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor

parser = argparse.ArgumentParser()
parser.add_argument("--events", type=int, default=40_000)
parser.add_argument("--keys", type=int, default=KEYS)
options = parser.parse_args()
meter = Meter()


class Learner(KeyedProcessFunction):
    def open(self, context):
        descriptor = ValueStateDescriptor("model", Types.PICKLED_BYTE_ARRAY())
        self.model = context.get_state(descriptor)

    def process_element(self, value, context):
        state, n = learn_state(self.model.value(), [value[1:]])
        self.model.update(state)
        yield n


configuration = Configuration()
configuration.set_string("python.fn-execution.bundle.size", "10000")
configuration.set_string("python.state.cache-size", str(options.keys))
environment = StreamExecutionEnvironment.get_execution_environment(configuration)
environment.set_parallelism(2)
environment.set_python_executable(sys.executable)
rows = [(key, *x, y) for key, x, y in events(options.events, options.keys)]
meter.mark("set-up")
stream = environment.from_collection(rows)
stream.key_by(lambda row: row[0]).process(Learner()).map(lambda n: n).print()
environment.execute("models per key")
meter.mark(f"{options.events} events")
