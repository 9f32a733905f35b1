# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Several processes and machines
#
# One process is not enough in three cases: one large forest on a fast stream; thousands of models,
# one per key; and one model that must serve many prediction requests. In all three cases, Ray runs
# the processes, on this machine or on others. Install it with `pip install 'ray[serve]'`.

# %%
import logging
import os
import signal
import tempfile
import time

# Without these, Ray asks about tokens and reports the killed process at length.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "A worker died")

import pandas as pd
import ray
import ray.serve
from river.datasets import synth

import river_extra_trees as ret
from river_extra_trees import plotting
from river_extra_trees.distributed import (
    DistributedClassifier,
    DistributedKeyedModels,
    SnapshotServer,
)

# On a node of a cluster, call ray.init(address="auto") instead, to use the whole cluster.
ray.init(
    num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error"
)

# %% [markdown]
# ## One forest in two processes
#
# Each worker holds half of the trees and learns every sample. The predictions are bit-identical to
# those of one process, whatever the number of workers. After 1,700 samples, this notebook kills one
# worker. The gap between the two lines shows the samples that would be sent again if the worker
# were killed at that time.

# %%
rows = list(
    synth.RandomRBFDrift(seed_model=1, seed_sample=1, n_classes=4).take(3000)
)
forest = ret.ExtraTreesClassifier(n_models=30, seed=1)
folder = tempfile.TemporaryDirectory()
model = DistributedClassifier(
    forest, n_workers=2, folder=folder.name, checkpoint_every=500
)

n_asked = n_equal = 0
records, live = [], plotting.Live()
for i, (x, y) in enumerate(rows):
    if i % 100 == 0:
        n_asked += 1
        n_equal += model.predict_proba_one(x) == forest.predict_proba_one(x)
        learned, saved = model.counters()[0]
        for name, number in (
            ("learned by worker 0", learned),
            ("in its checkpoint", saved),
        ):
            records.append({"learner": name, "items": i, "samples": number})
        if live.due:
            live.draw(plotting.PrequentialDisplay.from_records(records))
    model.learn_one(x, y)
    forest.learn_one(x, y)
    if i == 1700:
        before = model.counters()
        os.kill(model.processes()[0], signal.SIGKILL)
        after = model.counters()
live.draw(plotting.PrequentialDisplay.from_records(records))

print(f"{n_equal} of {n_asked} predictions are equal; {model.n_restarts} restart")
print(
    f"(learned, in the checkpoint) by worker, before the kill: {before}, after: {after}"
)

# %% [markdown]
# The worker was restarted from its last checkpoint, and the samples after the checkpoint were sent
# again. Nothing was lost.

# %% [markdown]
# `gather` collects the trees and returns them as one forest, which you can save, inspect or train
# further.

# %%
whole = model.gather()
model.close()
whole

# %% [markdown]
# ## Ten thousand models
#
# Each key has its own model, created when the key first appears. Rows are sent as columns, and each
# worker learns them grouped by key. The hash of a key determines its group, and each worker owns a
# range of groups, so the number of workers can change during a run.

# %%
base = ret.StreamDecisionTreeRegressor(batch_size=10, seed=1)
samples = list(synth.Friedman(seed=1).take(30_000))
sensors = [i % 10_000 for i in range(len(samples))]
X = pd.DataFrame([x for x, _ in samples])
y = pd.Series([y + sensor for (_, y), sensor in zip(samples, sensors, strict=True)])

keyed = DistributedKeyedModels(
    base, n_workers=1, folder=os.path.join(folder.name, "sensors")
)
start = time.perf_counter()
for first in range(0, 30_000, 5_000):
    block = slice(first, first + 5_000)
    keyed.predict_learn_many(sensors[block], X[block], y[block])
print(f"30,000 samples in {time.perf_counter() - start:.1f} seconds")

keyed.rescale(2)
print(keyed.counts())

x, target = next(iter(synth.Friedman(seed=2)))
print(f"sensor 7000: {keyed.predict_one(7000, x):.1f}, target {target + 7000:.1f}")
print(keyed.model_of(7000).to_text())
keyed.close()

# %% [markdown]
# All models are in the folder. Another run continues from there, with any number of workers.

# %%
with DistributedKeyedModels(
    base, n_workers=2, folder=os.path.join(folder.name, "sensors")
) as keyed:
    print(f"{keyed.position:,} samples are in the folder")
    print(f"sensor 7000: {keyed.predict_one(7000, x):.1f}")

# %% [markdown]
# ## Many clients
#
# A snapshot predicts as the model did when the snapshot was taken, and is smaller than the model.
# Replicas of Ray Serve predict with the latest snapshot, over HTTP and from Python, while the model
# continues to learn. Each response identifies its snapshot.

# %%
logging.getLogger("ray.serve").setLevel(
    logging.ERROR
)  # it reports each start otherwise
with SnapshotServer(forest.snapshot(), n_replicas=2, port=8765) as server:
    for i, (x, y) in enumerate(rows[:1000], start=1):
        forest.learn_one(x, y)
        if i % 250 == 0:
            server.publish(forest.snapshot())
            print(server.ask("predict_one", x))

# %%
ray.shutdown()
folder.cleanup()
