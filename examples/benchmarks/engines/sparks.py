"""Spark Structured Streaming: `applyInPandasWithState` and `transformWithStateInPandas`.

    CHECKOUT=. python examples/benchmarks/engines/sparks.py apply      (or: transform)

In an environment with pyspark, pandas, pyarrow, protobuf and this package's dependencies; Java 17.
The events lie in eight files, each of which is a micro-batch. A model is kept as bytes. Spark gives
each key its rows of the micro-batch as an Arrow batch.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from job import KEYS, NAMES, Meter, events, learn_state

HERE = str(Path(__file__).resolve().parent)
os.environ["PYTHONPATH"] = os.pathsep.join([HERE, os.environ.get("CHECKOUT", ".")])
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

import pandas as pd
from pyspark.sql import SparkSession

parser = argparse.ArgumentParser()
parser.add_argument("way", choices=["apply", "transform"])
parser.add_argument("--events", type=int, default=40_000)
parser.add_argument("--keys", type=int, default=KEYS)
options = parser.parse_args()

meter = Meter()
COLUMNS = [*NAMES, "y"]
folder = Path(tempfile.mkdtemp())
(folder / "in").mkdir()
rows = events(options.events, options.keys)
frame = pd.DataFrame([(key, *x, y) for key, x, y in rows], columns=["key", *COLUMNS])
size = len(frame) // 8
for i in range(8):
    frame[i * size : (i + 1) * size].to_parquet(folder / "in" / f"{i}.parquet", index=False)

session = (
    SparkSession.builder.master("local[2]")
    .config("spark.sql.shuffle.partitions", 2)
    .config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.sql.execution.arrow.maxRecordsPerBatch", 10_000)
    .config(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    )
    .getOrCreate()
)
session.sparkContext.setLogLevel("ERROR")
stream = (
    session.readStream.schema("key string, " + ", ".join(f"{name} double" for name in COLUMNS))
    .option("maxFilesPerTrigger", 1)
    .parquet(str(folder / "in"))
)


def rows_of(frames):
    return [row for each in frames for row in each[COLUMNS].to_numpy().tolist()]


if options.way == "apply":

    def learn_key(key, frames, state):
        found, n = learn_state(state.get[0] if state.exists else None, rows_of(frames))
        state.update((found,))
        yield pd.DataFrame({"key": [key[0]], "n": [n]})

    out = stream.groupBy("key").applyInPandasWithState(
        learn_key, "key string, n long", "model binary", "update", "NoTimeout"
    )
else:
    from pyspark.sql.streaming import StatefulProcessor

    class Learner(StatefulProcessor):
        def init(self, handle):
            self.model = handle.getValueState("model", "model binary")

        def handleInputRows(self, key, frames, timers):
            state = self.model.get()
            found, n = learn_state(None if state is None else bytes(state[0]), rows_of(frames))
            self.model.update((found,))
            yield pd.DataFrame({"key": [key[0]], "n": [n]})

        def close(self):
            pass

    out = stream.groupBy("key").transformWithStateInPandas(
        Learner(), "key string, n long", "update", "None"
    )

learned = []


def note(batch, number):
    n = batch.count()
    learned.append(n)
    meter.mark(f"micro-batch {number}: {size} events, {n} keys")


meter.mark("set-up")
query = (
    out.writeStream.foreachBatch(note)
    .outputMode("update")
    .option("checkpointLocation", str(folder / "checkpoint"))
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
meter.mark("end")
session.stop()
