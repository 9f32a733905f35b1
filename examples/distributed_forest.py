"""Several processes: one forest; ten thousand models whose workers change and start again.

Run it with `.venv/bin/python examples/distributed_forest.py`. It needs Ray:
`.venv/bin/python -m pip install ray`, and pandas.
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
    """Predict and learn with a model for each of ten thousand sensors; change the workers."""
    base = ret.StreamDecisionTreeRegressor(batch_size=10, seed=1)
    rows = list(synth.Friedman(seed=1).take(30_000))
    sensors = [i % 10_000 for i in range(len(rows))]
    X = pd.DataFrame([x for x, _ in rows])
    y = pd.Series([y + sensor for sensor, (_, y) in zip(sensors, rows, strict=True)])
    with tempfile.TemporaryDirectory() as folder:
        with DistributedKeyedModels(base, n_workers=1, folder=folder) as models:
            for start in range(0, 20_000, 5_000):
                block = slice(start, start + 5_000)
                predictions = models.predict_learn_many(sensors[block], X[block], y[block])
            error = (predictions - y[block]).abs().mean()
            print(f"mean absolute error of the last block: {error:.0f}")
            models.rescale(2)
            print("two workers from now on")
            models.learn_many(sensors[20_000:], X[20_000:], y[20_000:])
            models.save()
        with DistributedKeyedModels(base, n_workers=2, folder=folder) as models:
            print(f"started again at sample {models.position:,}: {models.counts()}")
            for sensor in (7, 7000):
                print(f"sensor {sensor}: {models.predict_one(sensor, rows[0][0]):.1f}")


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    one_forest()
    ten_thousand_models()


if __name__ == "__main__":
    main()
