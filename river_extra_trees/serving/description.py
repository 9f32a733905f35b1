"""Descriptions of models and of what they have learned, as plain values."""

from __future__ import annotations

import math
from typing import Any

from river.compose import Pipeline

import river_extra_trees
from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees.column_kinds import parted
from river_extra_trees.explanation import Explanation
from river_extra_trees.watch import learner_of, name_of, unwatched

WITH_INTERVALS = "DynamicTreeRegressor and ExtraTreesRegressor"


def before_learner(model: Any, x: dict[str, Any]) -> Any:
    """Return a sample as the other steps of a pipeline pass it to the learner."""
    if isinstance(model, Pipeline):
        *steps, _ = model.steps.values()
        for step in steps:
            x = step.transform_one(x)
    return x


def explained(model: Any, x: dict[str, Any]) -> Explanation:
    """Explain a prediction of a learner, or of a pipeline: the features that reach its learner."""
    return learner_of(model).explain_one(before_learner(model, x))


def features_of(model: Any) -> list[Any]:
    """Return the names of the features that the learner of a model has learned."""
    return list(dict.fromkeys(name for _, name in learner_of(model)._schema.features()))


def is_classifier(model: Any) -> bool:
    """Return whether a model predicts labels."""
    return hasattr(learner_of(model), "predict_proba_one")


def has_intervals(model: Any) -> bool:
    """Return whether a model predicts distributions with its parameters."""
    try:
        learner_of(model).predict_one({}, with_dist=True)
    except (TypeError, ValueError):
        return False
    return True


def memory_of(model: Any) -> int:
    """Return the bytes of a model."""
    steps = model.steps.values() if isinstance(model, Pipeline) else [model]
    return sum(int(step._raw_memory_usage) for step in steps)


def input_errors(model: Any) -> tuple[type[Exception], ...]:
    """Return what a model raises for an invalid sample; steps of a pipeline may raise anything."""
    return (Exception,) if isinstance(model, Pipeline) else (TypeError, ValueError)


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
    memory, name = memory_of(model), name_of(parted(model)[1])
    kinds, model = parted(unwatched(model)[1])
    learner = learner_of(model)
    summary = learner.summary
    sizes = {name: size for name, size in summary.items() if isinstance(size, int)}
    return {
        "model": name,
        "task": task_of(model),
        "version": river_extra_trees.__version__,
        "parameters": {name: safe_repr(value) for name, value in learner._get_params().items()},
        "samples_seen": int(learner.n_samples_seen),
        "features": list(dict.fromkeys(safe_repr(name, str) for name in features_of(learner))),
        "crowded": summary.get("crowded"),
        "crowded_label": summary.get("crowded_label"),
        "labels": [safe_repr(label, str) for label in learner._labels()]
        if is_classifier(model)
        else None,
        "columns": None if kinds is None else kinds._described,
        "memory_bytes": memory,
        "size": {name.removeprefix("n_"): value for name, value in sizes.items()},
    }


def learned_by(model: Any, most: int) -> dict[str, Any]:
    """Return the importances of features, and the weights of windows if the model has several.

    The result names the most important features, up to `most`, and counts the others. For large
    forests, this takes tens of milliseconds, because it visits all nodes.
    """
    learner = learner_of(model)
    importances = list(learner.feature_importances_.items())
    return {
        "importances": [[safe_repr(name, str), float(share)] for name, share in importances[:most]],
        "n_more": max(0, len(importances) - most),
        "window_weights": weights_of_windows(learner),
    }


def weights_of_windows(model: Any) -> list[list[Any]] | None:
    """Return the windows of a model, in samples, and their weights; None if it has only one."""
    if hasattr(model, "forgetting_factors"):  # of dynamic trees
        weights = {
            math.inf if factor == 1.0 else 1.0 / (1.0 - factor): weight
            for factor, weight in model.forgetting_factors.items()
        }
    else:
        weights = dict(getattr(model, "window_weights", {}))
    if len(weights) < 2:
        return None
    return [
        ["all" if size == math.inf else f"{size:,.0f}", float(weight)]
        for size, weight in sorted(weights.items())
    ]
