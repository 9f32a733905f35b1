"""Every public estimator with several sets of parameters, and a stream to try them on.

The contract tests run for whatever `river_extra_trees` exports. A new estimator needs an entry in
`PARAMETERS`: at least three sets, small enough to be quick, together using every kind of option,
and the last one with the tightest bound on memory.
"""

import io
import pickle
import random
from collections.abc import Iterator
from typing import Any

from river import base

import river_extra_trees
from river_extra_trees._core.forests.extra_trees import ExtraTrees
from river_extra_trees._estimator.learner import TreeLearner

Row = tuple[dict[Any, Any], Any]

_TREE = [
    {"batch_size": 20, "max_depth": 3, "seed": 1},
    {"batch_size": 50, "max_features": 0.5, "seed": 2},
    {"batch_size": 30, "max_nodes": 21, "min_samples_leaf": 3, "seed": 3},
]
_FOREST = [
    {"n_models": 3, "batch_size": 20, "leaf_memory": None, "seed": 1},
    {"n_models": 4, "batch_size": 20, "n_swaps": 2, "seed": 4},
    {"n_models": 2, "batch_size": 50, "max_features": None, "n_swaps": 0, "seed": 2},
    {"n_models": 3, "batch_size": 30, "max_nodes": 21, "n_swaps": 2, "n_jobs": 2, "seed": 3},
]
# The longer tests have more samples than the buffers of a thousand hold.
_EXTRA_TREES = [
    {"n_models": 5, "batch_size": 10, "window_sizes": (30, 80), "seed": 5},
    {
        "n_models": 4,
        "batch_size": 7,
        "max_features": None,
        "leaf_memory": None,
        "window_sizes": (20, 5, 1),
        "n_jobs": 2,
        "seed": 6,
    },
    {
        "n_models": 5,
        "batch_size": 20,
        "max_depth": 4,
        "min_samples_split": 5,
        "min_samples_leaf": 2,
        "max_features": 0.5,
        "max_nodes": 15,
        "leaf_memory": 1,
        "window_sizes": (50, 200, 120),
        "seed": 7,
    },
]
_OF_ALL_KINDS = [{**parameters, "n_models": 9} for parameters in _EXTRA_TREES]
_SHRUBS = [
    {"n_models": 8, "window_size": 40, "seed": 1},
    {"n_models": 6, "window_size": 30, "rho": 0.5, "rounds": 3, "max_features": 0.5, "seed": 2},
    {
        "window_size": 20,
        "step_size": "adaptive",
        "rounds": 2,
        "project_each_round": True,
        "update_interval": 3,
        "shuffle_features": True,
        "l0": 1e-4,
        "l1": 1e-3,
        "l2": 1e-2,
        "node_penalty": 1e-5,
        "seed": 3,
    },
    {"n_models": 2, "window_size": 16, "max_depth": 3, "step_size": 2.0, "seed": 4},
]

_FORGETFUL_TREE = [
    {"batch_size": 20, "warm_size": 30, "seed": 1},
    {"batch_size": 50, "max_depth": 2, "initial_rate": 0.8, "seed": 2},
    {"batch_size": 30, "warm_size": 20, "max_retained": 150, "seed": 3},
]
_FORGETFUL_FOREST = [
    {"n_models": 3, "batch_size": 20, "warm_size": 30, "seed": 1},
    {"n_models": 2, "batch_size": 50, "bagging": True, "significance": 0.3, "seed": 2},
    {"n_models": 3, "batch_size": 30, "max_retained": 150, "n_jobs": 2, "seed": 3},
]

_DYNAMIC = [
    {"n_particles": 20, "window": 50, "seed": 1},
    {"n_particles": 10, "window": 40, "forgetting_factor": 0.98, "discard": "random", "seed": 2},
    {"n_particles": 20, "window": 60, "forgetting_factor": 0.9, "published": True, "seed": 3},
    {"n_particles": 10, "window": 30, "rejuvenate_every": 40, "seed": 4},
]

PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "DynamicTreeClassifier": _DYNAMIC,
    "DynamicTreeRegressor": [{"leaf": "constant", **_DYNAMIC[0]}, *_DYNAMIC[1:], _DYNAMIC[0]],
    "ExtraTreesClassifier": [{"criterion": "entropy", **_EXTRA_TREES[0]}, *_EXTRA_TREES],
    "ExtraTreesRegressor": _OF_ALL_KINDS,
    "ForgetfulDecisionTreeClassifier": _FORGETFUL_TREE,
    "ForgetfulDecisionTreeRegressor": _FORGETFUL_TREE,
    "ForgetfulRandomForestClassifier": [
        {"criterion": "gini", "seed": 4},
        *_FORGETFUL_FOREST,
    ],
    "ForgetfulRandomForestRegressor": _FORGETFUL_FOREST,
    "ShrubEnsembleClassifier": [
        {"loss": "cross_entropy", "n_models": 5, "window_size": 20, "seed": 5},
        {"retrain": "error", "n_models": 1, "window_size": 16, "step_size": 100.0, "seed": 6},
        *_SHRUBS,
    ],
    "ShrubEnsembleRegressor": _SHRUBS,
    "StreamDecisionForestClassifier": [{"published": True, **_FOREST[1]}, *_FOREST],
    "StreamDecisionForestRegressor": _FOREST,
    "StreamDecisionTreeClassifier": [
        *_TREE,
        {"criterion": "entropy", "max_nodes": 15, "seed": 4},
    ],
    "StreamDecisionTreeRegressor": _TREE,
}

CLASSES = {
    name: kind
    for name in river_extra_trees.__all__
    if issubclass(kind := getattr(river_extra_trees, name), TreeLearner)
}
CASES = [(name, i) for name in CLASSES for i in range(len(PARAMETERS.get(name, ())))]
# The first, a middle and the last set of each estimator: for checks that depend little on them.
THREE = [
    (name, i)
    for name in CLASSES
    if (n := len(PARAMETERS.get(name, ())))
    for i in sorted({0, n // 2, n - 1})
]
CLASSIFIERS = [case for case in CASES if issubclass(CLASSES[case[0]], base.Classifier)]
TIGHTEST = [(name, len(PARAMETERS[name]) - 1) for name in CLASSES if name in PARAMETERS]


def make(case: tuple[str, int], **changes: Any) -> Any:
    """Make the estimator of a case, with some parameters changed."""
    name, i = case
    return CLASSES[name](**{**PARAMETERS[name][i], **changes})


def is_classifier(case: tuple[str, int]) -> bool:
    return issubclass(CLASSES[case[0]], base.Classifier)


def stream(case: tuple[str, int], n: int, seed: int = 0) -> Iterator[Row]:
    """Yield samples with all kinds of features, some missing, some only in the second half."""
    rng = random.Random(seed)
    for i in range(n):
        a, b, c = rng.random(), rng.randrange(10), rng.choice(["red", "green", "blue"])
        x: dict[Any, Any] = {"a": a, "b": b, "c": c, "d": rng.random() < 0.5, 7: rng.gauss(0, 1)}
        if rng.random() < 0.2:
            del x[rng.choice(["a", "b", "c"])]
        if rng.random() < 0.1:
            x["d"] = rng.choice([None, float("nan")])
        if i >= n // 2:
            x["late"] = a + rng.random()
        score = a + 0.1 * b + (c == "red") + 0.1 * rng.random()
        yield x, ("low", "middle", "high")[min(2, int(score))] if is_classifier(case) else score


def learn(model: Any, rows: Any) -> Any:
    """Learn all rows and return the model."""
    for x, y in rows:
        model.learn_one(x, y)
    return model


def answers(model: Any, rows: Any) -> list[str]:
    """Return all the model says of the rows, to the last bit."""
    return [repr(_answer(model, x)) for x, _ in rows]


def _answer(model: Any, x: dict[Any, Any]) -> Any:
    if isinstance(model, base.Classifier):
        probabilities = sorted(model.predict_proba_one(x).items(), key=repr)
        return model.predict_one(x), probabilities
    return model.predict_one(x)


class WithoutQuestions(pickle.Pickler):
    """Leaves out the questions that extra trees remember: they differ where one was asked."""

    def reducer_override(self, thing: Any) -> Any:
        if type(thing) is not ExtraTrees:
            return NotImplemented
        return dict, (list({**thing.state(), "questions": None}.items()),)


def frozen(model: Any) -> bytes:
    """Return the state of a model, whichever equal objects in it are one and the same."""
    file = io.BytesIO()
    pickler = WithoutQuestions(file)
    pickler.fast = True
    pickler.dump(model)
    return file.getvalue()
