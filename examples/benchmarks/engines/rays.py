"""Ray, by this package: `DistributedKeyedModels` with two workers.

CHECKOUT=. python examples/benchmarks/engines/rays.py
"""

import os
import sys
import tempfile

from job import NAMES, Meter, events, new_model

os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_worker_niceness", "0")
os.environ["PYTHONPATH"] = os.environ.get("CHECKOUT", ".")

import pandas as pd

from river_extra_trees.distributed import DistributedKeyedModels

meter = Meter()
rows = events()
X = pd.DataFrame([x for _, x, _ in rows], columns=NAMES)
keys, y = [key for key, _, _ in rows], [y for *_, y in rows]
folder = tempfile.mkdtemp() if "--stored" in sys.argv else None
with DistributedKeyedModels(new_model(), n_workers=2, folder=folder) as models:
    models.counts()
    meter.mark("set-up")
    for _ in range(3):
        for i in range(0, len(keys), 5000):
            models.predict_learn_many(keys[i : i + 5000], X[i : i + 5000], y[i : i + 5000])
        models.counts()
        meter.mark("40,000 events")
    if folder:
        models.commit()
        meter.mark("commit of all models")
    print(models.counts())
