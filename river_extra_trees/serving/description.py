"""What a model is and what it has learned, as plain values."""

from __future__ import annotations

import math
from typing import Any

import river_extra_trees
from river_extra_trees._core.safe_repr import safe_repr


def is_classifier(model: Any) -> bool:
    """Return whether a model predicts labels."""
    return hasattr(model, "predict_proba_one")


def task_of(model: Any) -> str:
    """Return the task of a model."""
    return "classification" if is_classifier(model) else "regression"


def description_of(model: Any) -> dict[str, Any]:
    """Describe a model.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river_extra_trees.serving.description import description_of
    >>> model = ret.StreamDecisionTreeClassifier(seed=1)
    >>> model.learn_one({"age": 41}, True)
    >>> found = description_of(model)
    >>> found["features"], found["labels"], found["samples_seen"]
    (['age'], ['True'], 1)
    """
    sizes = dict(model.summary)
    return {
        "model": type(model).__name__,
        "task": task_of(model),
        "version": river_extra_trees.__version__,
        "parameters": {name: safe_repr(value) for name, value in model._get_params().items()},
        "samples_seen": int(model.n_samples_seen),
        "features": list(dict.fromkeys(safe_repr(name, str) for name in model._schema.names)),
        "labels": [safe_repr(label, str) for label in model._labels()]
        if is_classifier(model)
        else None,
        "memory_bytes": sizes.pop("memory"),
        "size": {name.removeprefix("n_"): value for name, value in sizes.items()},
    }


def learned_by(model: Any) -> dict[str, Any]:
    """Return what a model has learned: importances of features, weights of memories if it has any.

    It walks through all trees, which takes tens of milliseconds for large forests.
    """
    importances = sorted(model.feature_importances_.items(), key=lambda pair: -pair[1])
    return {
        "importances": [[safe_repr(name, str), float(share)] for name, share in importances],
        "memory_weights": weights_of_memories(model),
    }


def weights_of_memories(model: Any) -> list[list[Any]] | None:
    """Return the memories of a model, in samples, and their weights; None if it has only one."""
    if hasattr(model, "forgetting_factors"):  # of dynamic trees
        weights = {
            math.inf if factor == 1.0 else 1.0 / (1.0 - factor): weight
            for factor, weight in model.forgetting_factors.items()
        }
    else:
        weights = dict(getattr(model, "memory_weights", {}))
    if len(weights) < 2:
        return None
    return [
        ["all" if memory == math.inf else f"{memory:,.0f}", float(weight)]
        for memory, weight in sorted(weights.items())
    ]
