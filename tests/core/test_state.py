"""States are read with distrust: each getter takes what it names, and refuses all else."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from river_extra_trees._core.schema import Labels, Schema
from river_extra_trees._core.state import (
    LARGEST_COUNT,
    State,
    StateError,
    Table,
    fields_of,
    from_state,
    put_back,
)
from tests.tools.contract import CORE_CLASSIFIERS, Case
from tests.tools.estimators import make


def state(value: Any) -> State:
    return State("Owner", {"name": value}, ("name",))


ONE, TWO = Schema(), Schema()

TAKEN = {
    "whole": [(0,), (LARGEST_COUNT,), (-3, -3, -3)],
    "number": [(0.5,), (-math.inf,), (1.0, 1.0, 1.0)],
    "real": [(1, 0.0, 2.0), (0.5, 0.0, 2.0), (Fraction(1, 3), 0.0, 2.0), (np.int64(2), 0.0, 2.0)],
    "flag": [(True,), (False,)],
    "word": [("a", ("a", "b"))],
    "items": [([],), ([1], 1)],
    "part": [(ONE, Schema)],
    "parts": [([], Schema), ([ONE, TWO], Schema, 2)],
    "array": [(np.zeros(3), float, 3), (np.zeros((2, 3), dtype=np.int32), np.int32, None, 3)],
    "numbers": [(np.zeros(0), 0), (np.array([0.0, 1.0]), None)],
}

TABLE: Table = {
    "n": ("whole", 1, 3),
    "cuts": ("numbers", "nodes", {"least": 0.0, "most": 9.0}),
    "links": ("whole_numbers", np.int32, "nodes", 2, {"most": 1}),
    "row": ("numbers", "width"),
}
FIELDS = {
    "n": 2,
    "cuts": np.zeros(3),
    "links": np.ones((3, 2), np.int32),
    "row": np.arange(4.0),
}

REFUSED = {
    "whole": [(-1,), (LARGEST_COUNT + 1,), (1.0,), (True,), (np.int64(1),), (None,)],
    "number": [(1,), (math.nan,), (2.0, 3.0), (2.0, 0.0, 1.0), ("2.0",)],
    "real": [
        (-1, 0.0, 2.0),
        (10**400, 0.0, 2.0),
        (math.nan, 0.0, 2.0),
        (3.0, 0.0, 2.0),
        ("1", 0.0, 2.0),
        (1j, 0, 2),
    ],
    "flag": [(1,), (np.bool_(True),), (None,)],
    "word": [("c", ("a", "b")), (1, ("a", "b")), (np.str_("a"), ("a", "b"))],
    "items": [((),), (None,), ([1], 2)],
    "part": [(Labels(), Schema), (None, Schema)],
    "parts": [([ONE, ONE], Schema), ([ONE, None], Schema), ([ONE], Schema, 2), (None, Schema)],
    "array": [
        *(([0.0], float, 1), (np.zeros(3), float, 2), (np.zeros(3), float, 3, None)),
        *((np.zeros(3), np.float32, 3), (np.zeros(3, dtype=">f8"), float, 3)),
    ],
    "numbers": [(np.array([math.nan]), 1), (np.zeros(2), 3), (np.zeros(2, dtype=int), 2)],
}


def cases(table: dict[str, list[tuple[Any, ...]]]) -> list[Any]:
    return [
        pytest.param(getter, *arguments, id=f"{getter}-{i}")
        for getter, calls in table.items()
        for i, arguments in enumerate((value, tuple(rest)) for value, *rest in calls)
    ]


@pytest.mark.parametrize(("getter", "value", "wanted"), cases(TAKEN))
def test_what_is_wanted_is_given_as_it_is(getter: str, value: Any, wanted: tuple[Any, ...]) -> None:
    """Also at the ends of a range."""
    found = getattr(state(value), getter)("name", *wanted)
    if isinstance(value, np.ndarray):
        assert np.array_equal(found, value)
    else:
        assert found == value
        assert type(found) is type(value)


@pytest.mark.parametrize(("getter", "value", "wanted"), cases(REFUSED))
def test_what_is_not_wanted_is_refused(getter: str, value: Any, wanted: tuple[Any, ...]) -> None:
    """Of another type, out of range, of another length; the message says whose and which it is."""
    with pytest.raises(StateError, match=r"^Owner: name must be "):
        getattr(state(value), getter)("name", *wanted)


def test_a_table_names_what_is_read() -> None:
    """All fields, and those of the arrays that share a length."""
    found = State("Owner", FIELDS, TABLE).read(TABLE, width=4)
    assert list(found) == list(TABLE)
    assert all(np.array_equal(found[name], FIELDS[name]) for name in TABLE)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 4),
        ("cuts", np.zeros(2)),
        ("cuts", np.array([0.0, 0.0, -1.0])),
        ("cuts", np.array([0.0, 9.5, 0.0])),
        ("links", np.ones((4, 2), np.int32)),
        ("links", np.full((3, 2), -1, np.int32)),
        ("links", np.full((3, 2), 2, np.int32)),
        ("row", np.arange(5.0)),
    ],
)
def test_a_table_sets_limits_and_lengths(name: str, value: Any) -> None:
    """A length has one value: the known one, or that of the first array."""
    with pytest.raises(StateError, match=r"^Owner: .* must be"):
        State("Owner", {**FIELDS, name: value}, TABLE).read(TABLE, width=4)


def test_arrays_leave_as_copies_and_come_back_in_place() -> None:
    """Views stand for the attributes of their names."""

    class Part:
        n = 2

    memory = np.arange(6.0)
    views = {"even": memory[::2]}
    table: Table = {"n": ("whole",), "even": ("numbers", 3)}
    fields = fields_of(Part(), table, views)
    memory[:] = -1.0
    assert fields["n"] == 2
    assert fields["even"].tolist() == [0.0, 2.0, 4.0]
    put_back(views, fields)
    assert memory.tolist() == [0.0, -1.0, 2.0, -1.0, 4.0, -1.0]


@pytest.mark.parametrize("shape", [(), (1,), (2,), (4,), (3, 1)])
def test_arrays_of_other_shapes_than_their_memory_are_refused(shape: tuple[int, ...]) -> None:
    """A longer one would end beyond the memory, and numpy would repeat a shorter one."""
    memory = np.zeros(3)
    with pytest.raises(StateError, match=r"cuts must have the shape \(3,\)"):
        put_back({"cuts": memory}, {"cuts": np.ones(shape)})
    assert memory.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("values", [None, [], {}, {"name": 1, "more": 2}, {"other": 1}], ids=repr)
def test_a_state_has_its_names_and_no_others(values: Any) -> None:
    """No dict, too few, too many, others."""
    with pytest.raises(StateError, match="the state of Owner"):
        State("Owner", values, ("name",))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        *(
            (Schema, {"names": names, "nominal_values": values, "max_columns": 16384})
            for names, values in (
                (["a", "a"], [None, None]),
                ([[]], [None]),
                (["a"], []),
                (["a"], ["red"]),
                (["a"], [[[]]]),
                (["a"], [["red", "red"]]),
                (["a"], [list(map(str, range(1025)))]),
                (list(range(16385)), [None] * 16385),
            )
        ),
        *((Labels, {"labels": x}) for x in ([None], [math.nan], [[]], ["a"] * 2, [*range(1025)])),
    ],
    ids=lambda values: repr(values)[:40],
)
def test_schemas_and_labels_that_no_stream_makes_are_refused(kind: Any, values: Any) -> None:
    """What is there twice, missing, cannot be looked up, or is too much."""
    with pytest.raises(StateError, match=kind.__name__):
        from_state(kind, values)


@pytest.mark.parametrize("value", [2.0**52, 0.5, -1.0, -2.0, 1e300])
@pytest.mark.parametrize("case", CORE_CLASSIFIERS[:3], ids=str)
def test_nominal_values_of_stored_samples_are_codes(case: Case, value: float) -> None:
    """A code is a whole number of 52 bits."""
    model = make(case)
    for i in range(90):
        model.learn_one({"number": 1e9, "text": f"v{i % 41}"}, i % 2)
    core = model._core
    state = core.state()
    window = state["window"].values
    text = core.schema.names.index("text")
    end = window["n_values"][: text + 1].sum()
    window["values"][end - 1] = 2.0**52 - 1.0
    core.restored(state)
    window["values"][end - 1] = value
    with pytest.raises(StateError, match="the code of no nominal value"):
        core.restored(state)
