"""Shrub ensembles: a few small trees on a sliding window, on a stream whose concept changes.

Run it with `.venv/bin/python examples/shrub_ensemble.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from river import metrics, tree
from river.datasets import synth

import river_extra_trees as ret


def three_concepts(n: int = 1000) -> Iterator[Any]:
    for concept in (0, 1, 2):
        yield from synth.Sine(classification_function=concept, seed=concept).take(n)


def main() -> None:
    shrubs = ret.ShrubEnsembleClassifier(n_models=10, window_size=100, seed=1)
    hoeffding = tree.HoeffdingAdaptiveTreeClassifier(seed=1)
    for model in (shrubs, hoeffding):
        metric = metrics.Accuracy()
        for x, y in three_concepts():
            metric.update(y, model.predict_one(x))
            model.learn_one(x, y)
        size = model._raw_memory_usage / 1000
        print(f"{type(model).__name__}: {metric}, {size:,.0f} kB")
    print("weights of the shrubs:", [round(weight, 2) for weight in shrubs.weights])
    print("the first shrub:")
    print(shrubs.to_text(max_depth=2))


if __name__ == "__main__":
    main()
