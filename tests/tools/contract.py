"""Models that have learned a little, and which of them read which values."""

import functools
import math
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from river import base

from river_extra_trees._core.safe_repr import safe_repr
from tests.tools.estimators import CASES, TIGHTEST, learn, make, stream

Case = tuple[str, int]

# One parameter set of each estimator: how input is read does not depend on the parameters.
FIRST = [case for case in CASES if case[1] == 0]

# And the set with the tightest bound on memory.
ENDS = FIRST + TIGHTEST

# One estimator on each class of the core.
FAMILIES = (
    *("StreamDecisionTree", "ForgetfulRandomForest", "ShrubEnsemble", "DynamicTree"),
    "ExtraTrees",
)

CORE_CLASSIFIERS = [(f"{family}Classifier", 0) for family in FAMILIES]

CORE_REGRESSORS = [(f"{family}Regressor", 0) for family in FAMILIES]

CORES = [
    *(CORE_CLASSIFIERS[0], CORE_REGRESSORS[1], CORE_CLASSIFIERS[2], CORE_REGRESSORS[3]),
    CORE_CLASSIFIERS[4],
]


def told(cases: list[Case], values: Sequence[Any]) -> list[Any]:
    """Give all values to the first case, and up to five to each other: one function reads them."""
    step = -(-len(values) // 5)
    return [
        pytest.param(case, value, id=f"{case[0]}-{safe_repr(value)}")
        for case in cases
        for value in (values if case == cases[0] else values[::step])
    ]


@functools.cache
def pickled(case: Case) -> tuple[bytes, dict[Any, Any], Any]:
    *rows, (x, y) = stream(case, 61)
    return pickle.dumps(learn(make(case), rows)), {**x, "a": 0.5}, y


def taught(case: Case) -> tuple[Any, dict[Any, Any], Any]:
    """Return a model that has learned sixty samples, and the next sample."""
    content, x, y = pickled(case)
    model = pickle.loads(content)
    model.predict_one(x)  # so that it remembers the keys: samples are then read the fast way
    return model, dict(x), y


def is_finite(model: Any, x: dict[Any, Any]) -> bool:
    """Tell whether the model's answer is one."""
    if isinstance(model, base.Classifier):
        probabilities = model.predict_proba_one(x)
        return math.isclose(sum(probabilities.values()), 1.0) and min(probabilities.values()) >= 0
    return math.isfinite(model.predict_one(x))
