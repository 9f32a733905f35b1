"""A dict of models in one process, and `KeyedModels`.

CHECKOUT=. python examples/benchmarks/engines/alone.py
"""

from job import NAMES, Meter, events, learn, new_model

meter = Meter()
rows = events()
new_model()
meter.mark("set-up")
models = {}
for key, x, y in rows:
    if key not in models:
        models[key] = new_model()
    learn(models[key], [(*x, y)])
meter.mark("dict of models, 40,000 events")

import pandas as pd

from river_extra_trees.keyed import KeyedModels

X = pd.DataFrame([x for _, x, _ in rows], columns=NAMES)
keys, y = [key for key, _, _ in rows], [y for *_, y in rows]
keyed = KeyedModels(new_model())
meter.mark("set-up of frames")
for i in range(0, len(keys), 5000):
    keyed.predict_learn_many(keys[i : i + 5000], X[i : i + 5000], y[i : i + 5000])
meter.mark("KeyedModels, 40,000 events")
assert keyed.counts().n_samples_seen == len(rows)
