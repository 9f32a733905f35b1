"""Explanations, missing values of other libraries, and parameters of any type."""

from __future__ import annotations

import fractions
import functools
import math
import random
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest

from river_extra_trees import DynamicTreeRegressor, StreamDecisionTreeClassifier, persistence
from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._estimator.inspection import path
from river_extra_trees.active import AcquisitionSampler
from tests.tools.contract import FIRST
from tests.tools.estimators import CLASSES, learn, make, stream


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_explained_path_is_the_path_taken(splitter: str) -> None:
    """Values beyond the remembered ones, and missing ones, are explained as they are answered."""
    generator = random.Random(1)
    model = StreamDecisionTreeClassifier(batch_size=50, splitter=splitter, seed=1)
    samples = []
    for _ in range(1500):
        name = generator.randrange(3000)
        x: dict[str, Any] = {"name": f"v{name}", "b": generator.choice([1.0, "one", None])}
        samples.append(x)
        model.learn_one(x, name % 3 == 0)
    nodes = model._core.nodes(0)
    for x in samples[-300:]:
        *_, leaf = path(nodes, model._core.row_of(x))
        shares = [value / leaf["weight"] for value in leaf["values"]]
        assert shares == pytest.approx(list(model.predict_proba_one(x).values()), rel=1e-12)


def made_or_refused(parameter: str, kind: Callable[..., Any], value: Any) -> Any:
    """What is made with this value of a parameter, or None if an error names the parameter."""
    try:
        return kind(**{parameter: value})
    except ValueError as error:
        message = str(error)
    assert parameter in message, safe_repr(value)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_a_parameter_of_no_use_is_named(name: str) -> None:
    """Any value of any parameter is refused by name, or makes a learner that learns.

    A regressor, which reads its parameters as the classifier does, meets every third value.
    """
    rows = list(stream((name, 0), 70))
    for i, parameter in enumerate(signature(CLASSES[name]).parameters):
        values = PARAMETERS_OF_ALL_KINDS[i % 3 :: 3 if name.endswith("Regressor") else 1]
        taken = 0
        for value in values:
            model = made_or_refused(parameter, functools.partial(make, (name, 0)), value)
            if model is None:
                continue
            taken += 1
            learn(model, rows)
            persistence.load_bytes(persistence.save_bytes(model))
            answers = [model.predict_one(x) for x, _ in rows]
            assert all(isinstance(y, str) or math.isfinite(y) for y in answers)
        assert taken < len(values) / 2, parameter


PARAMETERS_OF_ALL_KINDS: list[Any] = [
    *(None, True, False, np.False_, -1, 0, 1, 2, 1.5, 2.5, 0.5, -0.5, np.int64(3), np.float32(0.5)),
    *(2**31, 2**63, 2**64, 10**400, -(10**400), 10**5000, 1e308, 5e-324),
    *(math.inf, math.nan, np.float64("nan"), fractions.Fraction(10**400, 3), 1j, 10.5),
    *("", "x", "1", b"x", (), (1,), [], [1], {}, {1}, np.array([1.0, 2.0]), np.array([1.0])),
    *(np.array([]), np.datetime64("NaT"), pd.NA, Ellipsis, int),
    *(np.timedelta64(2), np.timedelta64(2, "D"), np.timedelta64("NaT")),
]


# Values out of range that have the type of good ones.
OUT_OF_RANGE: dict[str, list[Any]] = {
    "n_models": [0, 2**31],
    "n_particles": [0],
    "batch_size": [0],
    "window": [0],
    "window_size": [0, 2**40],
    "window_sizes": [30, [30], (), (0,), (30, 30), (1.5,), (2**30,)],
    "warm_size": [0],
    "max_depth": [-1],
    "max_features": [0, 1.5, "half", True],
    "max_nodes": [0],
    "max_retained": [10],
    "max_columns": [2**14 + 1],
    "min_samples_split": [0],
    "min_samples_leaf": [0],
    "leaf_memory": [0.5],
    "n_swaps": [-1, 1.5],
    "n_jobs": [0, -2, 1.5, True, None],
    "splitter": ["worst"],
    "criterion": ["variance"],
    "discard": ["never"],
    "loss": ["hinge"],
    "retrain": ["never"],
    "initial_rate": [-1.0],
    "significance": [1.5],
    "forgetting_factor": [0.0, 1.5],
    "rounds": [0],
    "update_interval": [0],
    "step_size": [0.0, "slow", math.inf],
    "rho": [2.0],
    "l0": [-1.0],
    "l1": [-1.0],
    "l2": [math.nan],
    "node_penalty": [-1.0],
    "seed": [1.5, "x"],
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_parameter_out_of_its_range_is_named(name: str) -> None:
    """At construction."""
    for parameter in signature(CLASSES[name]).parameters.keys() & OUT_OF_RANGE.keys():
        for value in OUT_OF_RANGE[parameter]:
            with pytest.raises(ValueError, match=f"^{parameter} must be"):
                CLASSES[name](**{parameter: value})


@pytest.mark.parametrize("parameter", ["regressor", "criterion", "budget", "n_first"])
def test_a_parameter_of_a_sampler_is_named(parameter: str) -> None:
    """In the same way."""
    given = {"regressor": DynamicTreeRegressor(n_particles=5, seed=1)}
    make_sampler = functools.partial(AcquisitionSampler, **given)
    for value in PARAMETERS_OF_ALL_KINDS:
        sampler = made_or_refused(parameter, make_sampler, value)
        for x, y in [] if sampler is None else stream(("DynamicTreeRegressor", 0), 30):
            sampler.predict_one(x)
            sampler.learn_one(x, y)


NUMBERS_OF_OTHERS = (np.uint8, np.int64, np.float32, np.longdouble, fractions.Fraction)


def in_type(value: Any, kind: Any) -> Any:
    """A parameter as a number of another type if that holds it exactly, or as it is."""
    if type(value) is int and issubclass(kind, np.integer):
        limits = np.iinfo(kind)
        return kind(value) if limits.min <= value <= limits.max else value
    if type(value) is float and not issubclass(kind, np.integer):
        return kind(value) if float(kind(value)) == value else value
    return value


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_parameters_may_be_numbers_of_any_type(case: tuple[str, int]) -> None:
    """They mean what Python's own numbers mean: the same model, whose file has the same bytes."""
    rows = list(stream(case, 150))
    model = make(case)
    plain = model._get_params()
    expected = persistence.save_bytes(learn(model, rows))
    for kind in NUMBERS_OF_OTHERS:
        given = {name: in_type(value, kind) for name, value in plain.items()}
        if not any(isinstance(value, kind) for value in given.values()):
            continue
        twin = make(case, **given)
        assert list(map(repr, twin._get_params().values())) == list(map(repr, plain.values()))
        assert persistence.save_bytes(learn(twin, rows)) == expected


def test_switches_and_words_may_be_those_of_numpy() -> None:
    """As numbers; and a share of the features may be any number from 0 to 1."""
    made = StreamDecisionTreeClassifier(
        criterion=np.str_("entropy"),
        max_features=np.float32(0.5),  # type: ignore[arg-type]
        published=np.True_,  # type: ignore[arg-type]
    )
    plain = StreamDecisionTreeClassifier(criterion="entropy", max_features=0.5, published=True)
    assert repr(made._get_params()) == repr(plain._get_params())
    assert type(made.criterion) is str
    assert repr(AcquisitionSampler(DynamicTreeRegressor(), budget=np.float16(0.5)).budget) == "0.5"
