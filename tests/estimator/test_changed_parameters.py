"""Parameters of a living model cannot be changed: its core object was made by them."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import pytest
from river import preprocessing

from river_extra_trees import persistence
from tests.tools.estimators import CLASSES, answers, learn, stream


@pytest.mark.parametrize("name", CLASSES)
def test_a_parameter_cannot_be_changed(name: str) -> None:
    """Whatever the value, the error names the parameter and says what to do."""
    model = CLASSES[name](seed=1)
    before = model._get_params()
    for parameter in inspect.signature(CLASSES[name]).parameters:
        for value in (0, getattr(model, parameter)):
            with pytest.raises(AttributeError, match=f"parameter {parameter} .*(clone|mutate)"):
                setattr(model, parameter, value)
        with pytest.raises(AttributeError, match=f"parameter {parameter} .*(clone|mutate)"):
            delattr(model, parameter)
    assert model._get_params() == before


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


def mutable(name: str) -> dict[str, Any]:
    return next((new for start, new in MUTABLE.items() if name.startswith(start)), {})


@pytest.mark.parametrize("name", CLASSES)
def test_mutate_refuses_as_river_does(name: str) -> None:
    """What is not declared mutable is refused by name, with what can be changed."""
    model = CLASSES[name](seed=1)
    assert model._mutable_attributes == mutable(name).keys()
    for parameter in {*inspect.signature(CLASSES[name]).parameters} - model._mutable_attributes:
        with pytest.raises(ValueError, match=f"'{parameter}' is not a mutable .*mutable are: "):
            model.mutate({**mutable(name), parameter: getattr(model, parameter)})
    assert model._get_params() == CLASSES[name](seed=1)._get_params()
    with pytest.raises(ValueError, match="'depth' is not a mutable attribute"):
        model.mutate({"depth": 2})


@pytest.mark.parametrize("name", [name for name in CLASSES if mutable(name)])
def test_mutate_changes_what_comes(name: str) -> None:
    """Each parameter takes effect, at once, in copies and in files; a wrong value changes none."""
    case = (name, 0)
    small = (
        {"batch_size": 10} if "batch_size" in inspect.signature(CLASSES[name]).parameters else {}
    )
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


def test_mutate_in_a_pipeline() -> None:
    """River passes the parameters to the step."""
    model = preprocessing.StandardScaler() | CLASSES["ForgetfulDecisionTreeClassifier"]()
    model.mutate({"ForgetfulDecisionTreeClassifier": {"max_retained": 200}})
    assert model["ForgetfulDecisionTreeClassifier"].max_retained == 200


@pytest.mark.parametrize("name", CLASSES)
def test_other_attributes_are_free(name: str) -> None:
    """A user may write notes on a model; `clone` can take them along."""
    model = CLASSES[name](seed=1)
    model.note = "the first"
    assert model.clone(include_attributes=True).note == "the first"
    del model.note
    assert model.clone({"seed": 7}).seed == 7
