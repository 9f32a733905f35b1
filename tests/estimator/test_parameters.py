"""Parameters of any type and value; those of a living model change by `mutate` alone."""

import contextlib
import copy
import fractions
import functools
import math
import re
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

import numpy as np
import pandas as pd
import pytest

from river_extra_trees import DynamicTreeRegressor, persistence
from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees.active import AcquisitionSampler
from tests.tools.contract import Case
from tests.tools.estimators import CLASSES, THREE, answers, learn, make, stream


@pytest.mark.parametrize("name", CLASSES)
def test_a_parameter_cannot_be_changed(name: str) -> None:
    """Whatever the value, the error names the parameter and says what to do."""
    model = CLASSES[name](seed=1)
    before = model._get_params()
    for parameter in signature(CLASSES[name]).parameters:
        for value in (0, getattr(model, parameter)):
            with pytest.raises(AttributeError, match=f"parameter {parameter} .*(clone|mutate)"):
                setattr(model, parameter, value)
        with pytest.raises(AttributeError, match=f"parameter {parameter} .*(clone|mutate)"):
            delattr(model, parameter)
    assert model._get_params() == before
    model.note = "the first"  # other attributes are free
    assert model.clone(include_attributes=True).note == "the first"
    del model.note


# What `mutate` can change, with another value than the default.
MUTABLE: dict[str, dict[str, Any]] = {
    "DynamicTree": {"discard": "random", "rejuvenate_every": 30},
    "ExtraTrees": {"n_jobs": 2},
    "Forgetful": {"max_depth": 2, "max_retained": 10},
    "ShrubEnsemble": {
        **{"step_size": 0.5, "rho": 1.5, "rounds": 3, "update_interval": 7},
        **{"l0": 0.2, "l1": 0.5, "l2": 10.0, "node_penalty": 0.1},
    },
    "StreamDecision": {"max_features": 1, "max_nodes": 5},
}


def parameters_of(name: str) -> Mapping[str, Parameter]:
    return signature(CLASSES[name]).parameters


def mutable(name: str) -> dict[str, Any]:
    return next((new for start, new in MUTABLE.items() if name.startswith(start)), {})


@pytest.mark.parametrize("name", CLASSES)
def test_mutate_refuses_as_river_does(name: str) -> None:
    """What is not declared mutable is refused by name, with what can be changed."""
    model = CLASSES[name](seed=1)
    assert model._mutable_attributes == mutable(name).keys()
    for parameter in {*signature(CLASSES[name]).parameters} - model._mutable_attributes:
        with pytest.raises(ValueError, match=f"'{parameter}' is not a mutable .*mutable are: "):
            model.mutate({**mutable(name), parameter: getattr(model, parameter)})
    assert model._get_params() == CLASSES[name](seed=1)._get_params()
    with pytest.raises(ValueError, match="'depth' is not a mutable attribute"):
        model.mutate({"depth": 2})


@pytest.mark.parametrize("name", [name for name in CLASSES if mutable(name)])
def test_mutate_changes_what_comes(name: str) -> None:
    """Each parameter takes effect, at once, in copies and in files; a wrong value changes none."""
    case = (name, 0)
    small = {"batch_size": 10} if "batch_size" in signature(CLASSES[name]).parameters else {}
    small |= {"window": 40, "n_particles": 20} if name.startswith("Dynamic") else {}
    small |= {"window_size": 40, "n_models": 8} if name.startswith("Shrub") else {}
    rows, asked = list(stream(case, 300)), list(stream(case, 60, seed=2))
    for parameter, value in mutable(name).items():
        model = learn(CLASSES[name](seed=1, **small), rows[:100])
        as_before = learn(copy.deepcopy(model), rows[100:])
        wanted = answers(model, asked)
        for wrong in ({parameter: -3}, {parameter: value, "seed": 1}):
            with pytest.raises(ValueError, match=f"{parameter}|seed"):
                model.mutate(wrong)
        model.mutate({parameter: value})
        assert getattr(model, parameter) == value
        assert answers(model, asked) == wanted
        other = persistence.load_bytes(persistence.save_bytes(model))
        assert getattr(other, parameter) == value
        learn(model, rows[100:])
        model._core.check()
        other_answers = (model.to_text(), answers(model, asked)) != (
            as_before.to_text(),
            answers(as_before, asked),
        )
        assert other_answers is (parameter != "n_jobs"), parameter
        assert answers(learn(other, rows[100:]), asked) == answers(model, asked)


# What the published programs do not have.
ABSENT: dict[str, dict[str, Any]] = {
    "DynamicTreeRegressor": {"discard": "alm"},
    "Forgetful": {"warm_size": 65, "max_depth": 9, "max_retained": 2**31 - 1, "max_columns": 9},
    "StreamDecision": {"max_nodes": 9, "leaf_memory": None},
}


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        (name, *absent)
        for start, values in ABSENT.items()
        for name in CLASSES
        for absent in values.items()
        if name.startswith(start) and "published" in parameters_of(name)
    ],
)
def test_what_a_published_program_does_not_have_keeps_its_default(
    name: str, parameter: str, value: Any
) -> None:
    """One argument gives the program; `mutate` cannot take it away, either."""
    default = parameters_of(name)[parameter].default
    message = re.escape(f"{parameter} must be {default!r}, its default, when published=True")
    with pytest.raises(ValueError, match=message):
        CLASSES[name](published=True, **{parameter: value})
    model = CLASSES[name](published=True, **{parameter: default})
    if parameter in model._mutable_attributes:
        with pytest.raises(ValueError, match=message):
            model.mutate({parameter: value})
    assert getattr(CLASSES[name](**{parameter: value}), parameter) == value


# --- Values of parameters


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
COUNTS = [
    "n_models",
    "n_particles",
    "batch_size",
    "window",
    "window_size",
    "warm_size",
    "max_nodes",
]
COUNTS += ["min_samples_split", "min_samples_leaf", "rounds", "update_interval"]
AMOUNTS = ["max_depth", "n_swaps", "initial_rate", "l0", "l1", "l2", "node_penalty"]
WORDS = ["criterion", "discard", "leaf", "loss", "retrain"]
OUT_OF_RANGE: dict[str, Any] = {
    **dict.fromkeys(COUNTS, (0, 2**40, 1.5)),
    **dict.fromkeys(AMOUNTS, (-1, math.nan)),
    **dict.fromkeys(WORDS, ("another",)),
    "window_sizes": [30, [30], (), (0,), (30, 30), (1.5,), (2**30,)],
    "max_features": [0, 1.5, "half", True],
    "max_retained": [10],
    "max_columns": [2**14 + 1],
    "leaf_memory": [0.5],
    "n_jobs": [0, -2, 1.5, True, None],
    "significance": [1.5],
    "forgetting_factor": [0.0, 1.5],
    "step_size": [0.0, "slow", math.inf],
    "rho": [2.0],
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
    assert repr(make_sampler(budget=np.float16(0.5)).budget) == "0.5"


OTHER_TYPES: dict[Any, type] = {
    **{np.uint8: int, np.int64: int, np.float32: float, np.longdouble: float},
    **{fractions.Fraction: float, np.bool_: bool, np.str_: str},
}


def in_type(value: Any, kind: Any) -> Any:
    """A parameter in another type if that holds it exactly, or as it is."""
    with contextlib.suppress(OverflowError):
        if type(value) is OTHER_TYPES[kind] and type(value)(kind(value)) == value:
            return kind(value)
    return value


@pytest.mark.parametrize("case", THREE, ids=str)
def test_parameters_may_be_of_other_types(case: Case) -> None:
    """They mean what Python's own types mean: the same model, whose file has the same bytes."""
    rows = list(stream(case, 150))
    model = make(case)
    plain = model._get_params()
    expected = persistence.save_bytes(learn(model, rows))
    for kind in OTHER_TYPES:
        given = {name: in_type(value, kind) for name, value in plain.items()}
        if not any(isinstance(value, kind) for value in given.values()):
            continue
        twin = make(case, **given)
        assert list(map(repr, twin._get_params().values())) == list(map(repr, plain.values()))
        assert persistence.save_bytes(learn(twin, rows)) == expected
