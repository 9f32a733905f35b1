"""Parameters of a living model cannot be changed: its core object was made by them."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

from river_extra_trees import persistence
from tests.tools.estimators import CASES, CLASSES, answers, learn, make, stream

PARAMETERS = [
    (name, each) for name, kind in CLASSES.items() for each in inspect.signature(kind).parameters
]


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_a_parameter_cannot_be_changed(name: str, parameter: str) -> None:
    """Whatever the value, the error names the parameter and says what to do."""
    model = CLASSES[name](seed=1)
    before = model._get_params()
    for value in (0, 10**6, "x", None, getattr(model, parameter)):
        with pytest.raises(AttributeError, match=f"parameter {parameter} .* clone"):
            setattr(model, parameter, value)
    with pytest.raises(AttributeError, match=f"parameter {parameter} .* clone"):
        delattr(model, parameter)
    assert model._get_params() == before


@pytest.mark.parametrize("name", CLASSES)
def test_mutate_refuses_as_river_does(name: str) -> None:
    """No parameter is declared mutable."""
    model = CLASSES[name](seed=1)
    assert model._mutable_attributes == set()
    with pytest.raises(ValueError, match="'seed' is not a mutable attribute"):
        model.mutate({"seed": 2})


@pytest.mark.parametrize("name", CLASSES)
def test_other_attributes_are_free(name: str) -> None:
    """A user may write notes on a model; `clone` can take them along."""
    model = CLASSES[name](seed=1)
    model.note = "the first"
    assert model.clone(include_attributes=True).note == "the first"
    del model.note
    assert model.clone({"seed": 7}).seed == 7


@pytest.mark.parametrize("case", CASES, ids=str)
def test_copies_cannot_be_changed_either(case: tuple[str, int]) -> None:
    """A copy, however it is made, goes on as the model does and protects its parameters."""
    rows = list(stream(case, 60))
    model = learn(make(case), rows[:40])
    copies = [
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        persistence.load_bytes(persistence.save_bytes(model)),
        model.clone(include_attributes=True),
    ]
    wanted = answers(learn(model, rows[40:]), rows)
    for each in copies:
        with pytest.raises(AttributeError, match="seed"):
            each.seed = 5
        assert answers(learn(each, rows[40:]), rows) == wanted


def test_a_parameter_can_be_set_before_there_is_a_core() -> None:
    """`__init__` sets its parameters like any class."""
    for name, kind in CLASSES.items():
        model: Any = kind.__new__(kind)
        model.seed = 3
        assert model.seed == 3, name
