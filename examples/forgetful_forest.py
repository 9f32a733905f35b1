"""Forgetful forests: the accuracy decides how many samples each tree retains.

Run it with `.venv/bin/python examples/forgetful_forest.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from river import metrics, tree, utils
from river.datasets import synth

import river_extra_trees as ret


def three_concepts(n: int = 2000) -> Iterator[Any]:
    for concept in (0, 2, 1):
        yield from synth.STAGGER(classification_function=concept, seed=concept).take(n)


def main() -> None:
    models = {
        "forgetful tree": ret.ForgetfulDecisionTreeClassifier(seed=1),
        "forgetful forest": ret.ForgetfulRandomForestClassifier(seed=1),
        "Hoeffding tree": tree.HoeffdingTreeClassifier(),
    }
    recent = {name: utils.Rolling(metrics.Accuracy, window_size=500) for name in models}
    print("accuracy on the last 500 samples; the concept changes at 2,000 and at 4,000")
    print("samples", *(f"{name:>17}" for name in models), "  retained by the tree")
    for n, (x, y) in enumerate(three_concepts(), start=1):
        for name, model in models.items():
            recent[name].update(y, model.predict_one(x))
            model.learn_one(x, y)
        if n % 500 == 0:
            scores = (f"{metric.get():17.1%}" for metric in recent.values())
            print(f"{n:7,}", *scores, f"{models['forgetful tree'].retained_sizes[0]:7,}")


if __name__ == "__main__":
    main()
