"""Beyond one machine: one forest and ten thousand models in several processes.

Run it with `python examples/distributed_forest.py`. It needs Ray: `pip install
'river-extra-trees[ray]'`.
"""

from __future__ import annotations

import os
import signal
import tempfile

# Ray asks to decide on tokens, and tells at length of the process that is killed here.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "A worker died")

import ray
from river import datasets
from river.datasets import synth

import river_extra_trees as ret
from river_extra_trees.distributed import DistributedClassifier, KeyedModels


def one_forest() -> None:
    """The same forest in this process and over two others, one of which is killed."""
    forest = ret.StreamDecisionForestClassifier(n_models=50, seed=1)
    with (
        tempfile.TemporaryDirectory() as folder,
        DistributedClassifier(forest, n_workers=2, folder=folder, checkpoint_every=500) as model,
    ):
        for i, (x, y) in enumerate(datasets.Phishing()):
            forest.learn_one(x, y)
            model.learn_one(x, y)
            if i == 800:
                print("(samples seen, samples in the checkpoint) of each worker:", model.counters())
                os.kill(model.processes()[0], signal.SIGKILL)
                print("and after the death of the first one:", model.counters())
        same = sum(
            forest.predict_proba_one(x) == model.predict_proba_one(x)
            for x, _ in datasets.Phishing().take(100)
        )
        print(f"{same} of 100 answers are the same to the last bit, after {model.n_restarts} death")


def ten_thousand_models() -> None:
    """A model for each of ten thousand sensors."""
    base = ret.StreamDecisionTreeRegressor(batch_size=10, seed=1)
    with KeyedModels(base, n_workers=2, block_size=5000) as model:
        for i, (x, y) in enumerate(synth.Friedman(seed=1).take(30_000)):
            sensor = i % 10_000
            model.learn_one(sensor, x, y + sensor)
        for counts in model.counts():
            print(f"a worker holds {counts.n_models} models of {counts.n_samples_seen} samples")
        x, y = next(iter(synth.Friedman(seed=2)))
        for sensor in (7, 7000):
            print(f"sensor {sensor}: {model.predict_one(sensor, x):.1f}, truly {y + sensor:.1f}")


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    one_forest()
    ten_thousand_models()


if __name__ == "__main__":
    main()
