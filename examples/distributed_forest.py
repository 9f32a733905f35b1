"""Several processes: one forest, and ten thousand models.

Run it with `.venv/bin/python examples/distributed_forest.py`. It needs Ray:
`.venv/bin/python -m pip install ray`.
"""

from __future__ import annotations

import os
import signal
import tempfile

# Without these, Ray asks about tokens and reports the killed process at length.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "A worker died")

import pandas as pd
import ray
from river import datasets
from river.datasets import synth

import river_extra_trees as ret
from river_extra_trees.distributed import DistributedClassifier, DistributedKeyedModels


def one_forest() -> None:
    """Learn one forest in this process, and in two workers, one of which is killed."""
    forest = ret.StreamDecisionForestClassifier(n_models=50, seed=1)
    with (
        tempfile.TemporaryDirectory() as folder,
        DistributedClassifier(forest, n_workers=2, folder=folder, checkpoint_every=500) as model,
    ):
        for i, (x, y) in enumerate(datasets.Phishing()):
            forest.learn_one(x, y)
            model.learn_one(x, y)
            if i == 800:
                print("(samples learned, samples in the checkpoint) by worker:", model.counters())
                os.kill(model.processes()[0], signal.SIGKILL)
                print("the same after the first worker was killed:", model.counters())
        same = sum(
            forest.predict_proba_one(x) == model.predict_proba_one(x)
            for x, _ in datasets.Phishing().take(100)
        )
        print(
            f"{same} of 100 predictions are equal to the last bit, after {model.n_restarts} restart"
        )


def ten_thousand_models() -> None:
    """Learn a model for each of ten thousand sensors."""
    base = ret.StreamDecisionTreeRegressor(batch_size=10, seed=1)
    rows = list(synth.Friedman(seed=1).take(30_000))
    sensors = [i % 10_000 for i in range(len(rows))]
    X = pd.DataFrame([x for x, _ in rows])
    y = [target + sensor for sensor, (_, target) in zip(sensors, rows, strict=True)]
    with DistributedKeyedModels(base, n_workers=2) as model:
        answers = model.predict_learn_many(sensors, X, y)
        print(f"{answers.notna().sum()} samples were predicted before they were learned")
        print(f"{model.counts().n_models} models, {model.counts().n_samples_seen} samples")
        x, y = next(iter(synth.Friedman(seed=2)))
        for sensor in (7, 7000):
            print(f"sensor {sensor}: {model.predict_one(sensor, x):.1f}, target {y + sensor:.1f}")


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    one_forest()
    ten_thousand_models()


if __name__ == "__main__":
    main()
