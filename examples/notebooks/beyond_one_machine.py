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
# # Beyond one machine
#
# One process is outgrown in three ways: one big forest on a fast stream; thousands of models, one
# per key; and one model with many readers. Ray runs the processes for all three, here or on other
# machines: `pip install 'river-extra-trees[ray]'`.

# %%
import os
import signal
import tempfile
import time

# Ray asks to decide on tokens, and tells at length of the process that is killed below.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "A worker died")

import matplotlib.pyplot as plt
import ray
from river.datasets import synth

import river_extra_trees as ret
from river_extra_trees import plotting
from river_extra_trees.distributed import (
    DistributedClassifier,
    KeyedModels,
    SnapshotServer,
)

# On a node of a cluster, say ray.init(address="auto") in place of this, to use all of it.
ray.init(
    num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error"
)

# %% [markdown]
# ## The same forest, here and over two processes
#
# Each worker holds half of the trees and learns every sample. Once per batch they tell each other
# how their trees did, so that the forest swaps the worst trees of all. Its answers are those of one
# process, bit for bit, whatever the number of workers. In the middle of the stream one worker is
# killed. Between the two lines lies what a worker would have to be told again if it died then.

# %%
rows = list(
    synth.RandomRBFDrift(seed_model=1, seed_sample=1, n_classes=4).take(3000)
)
forest = ret.StreamDecisionForestClassifier(n_models=30, seed=1)
folder = tempfile.TemporaryDirectory()
model = DistributedClassifier(
    forest, n_workers=2, folder=folder.name, checkpoint_every=500
)

n_asked = n_equal = 0
seen, saved = [], []
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
live = plotting.Live(figure)


def draw():
    axes.clear()
    told = range(0, 100 * len(seen), 100)
    axes.step(told, seen, where="post", label="seen by worker 0")
    axes.step(told, saved, where="post", label="in its checkpoint")
    axes.axvline(1700, color="black", linestyle=":", label="killed")
    axes.set_xlim(0, len(rows))
    axes.set_ylim(0, len(rows))
    axes.set_xlabel("samples told")
    axes.set_ylabel("samples")
    axes.legend(loc="upper left")


for i, (x, y) in enumerate(rows):
    if i % 100 == 0:
        n_asked += 1
        n_equal += model.predict_proba_one(x) == forest.predict_proba_one(x)
        counters = model.counters()
        seen.append(counters[0][0])
        saved.append(counters[0][1])
        if live.due:
            draw()
            live.show()
    model.learn_one(x, y)
    forest.learn_one(x, y)
    if i == 1700:
        before = model.counters()
        os.kill(model.processes()[0], signal.SIGKILL)
        after = model.counters()
draw()
live.show()

print(f"{n_equal} of {n_asked} answers are equal; {model.n_restarts} restart")
print(
    f"(seen, in its checkpoint) of each worker before its death: {before}, after: {after}"
)

# %% [markdown]
# The worker came back from its last checkpoint and was told again what came after, so that nothing
# was lost.

# %% [markdown]
# `gather` fetches the trees and makes one forest of them: to save, to look at, or to go on with.

# %%
whole = model.gather()
model.close()
whole

# %% [markdown]
# ## Ten thousand models
#
# Each key has a model of its own, made when the key is met first. A worker owns a range of the
# keys' hashes.

# %%
base = ret.StreamDecisionTreeRegressor(batch_size=10, seed=1)
keyed = KeyedModels(base, n_workers=2, block_size=5000)
start = time.perf_counter()
for i, (x, y) in enumerate(synth.Friedman(seed=1).take(30_000)):
    keyed.learn_one(i % 10_000, x, y + i % 10_000)
keyed.wait()
print(f"30,000 samples in {time.perf_counter() - start:.1f} seconds")
for counts in keyed.counts():
    print(counts)

x, y = next(iter(synth.Friedman(seed=2)))
print(f"sensor 7000: {keyed.predict_one(7000, x):.1f}, truly {y + 7000:.1f}")
print(keyed.model_of(7000).to_text())
keyed.close()

# %% [markdown]
# ## Many readers
#
# A snapshot answers as the model did when it was taken, and is smaller. Readers answer with the one
# published last, while the model learns on.

# %%
with SnapshotServer(forest.snapshot(), n_readers=2) as server:
    for i, (x, y) in enumerate(rows[:1000], start=1):
        forest.learn_one(x, y)
        if i % 250 == 0:
            server.publish(forest.snapshot())
            print(
                server.predict_one(x),
                "by readers that know",
                server.n_samples_seen(),
            )

# %%
ray.shutdown()
folder.cleanup()
