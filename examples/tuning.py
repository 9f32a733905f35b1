"""What changing one parameter at a time does to the accuracy of each family, on three streams.

Run it with `.venv/bin/python examples/tuning.py`; the page `docs/tune.md` shows what it prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from river import base, datasets, evaluate, metrics
from river.datasets import synth

import river_extra_trees as ret

CHANGES: list[tuple[Any, list[dict[str, Any]]]] = [
    (
        ret.ExtraTreesClassifier,
        [
            {"n_models": 20},
            {"batch_size": 100},
            {"window_sizes": (125, 500)},
            {"max_features": None},
        ],
    ),
    (
        ret.ShrubEnsembleClassifier,
        [{"n_models": 8}, {"window_size": 64}, {"window_size": 1024}, {"step_size": 0.02}],
    ),
    (
        ret.ForgetfulRandomForestClassifier,
        [{"n_models": 50}, {"batch_size": 25}, {"bagging": True}, {"max_retained": 500}],
    ),
    (
        ret.DynamicTreeClassifier,
        [{"n_particles": 400}, {"window": 2000}, {"forgetting_factor": 1.0}],
    ),
]


def changing() -> Iterator[Any]:
    for concept in (0, 1):
        yield from synth.Sine(classification_function=concept, seed=1, has_noise=True).take(1000)


def accuracies(model: base.Classifier) -> list[float]:
    """Test-then-train on at most 2,000 samples of each stream."""
    streams = datasets.ImageSegments().take(2000), datasets.Bananas().take(2000), changing()
    return [
        evaluate.progressive_val_score(stream, model.clone(), metrics.Accuracy()).get()
        for stream in streams
    ]


def main() -> None:
    print(f"{'':36}{'segments':>9}{'bananas':>9}{'a change':>9}")
    for family, changes in CHANGES:
        defaults = accuracies(family(seed=1))
        print(f"{family.__name__:36}" + "".join(f"{score:9.3f}" for score in defaults))
        for change in changes:
            differences = zip(accuracies(family(seed=1, **change)), defaults, strict=True)
            words = ", ".join(f"{name}={value!r}" for name, value in change.items())
            print(f"  {words:34}" + "".join(f"{new - old:+9.3f}" for new, old in differences))


if __name__ == "__main__":
    main()
