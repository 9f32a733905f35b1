"""Feature names become columns and values doubles, whatever the order of the keys."""

import collections
import decimal
import fractions
import pickle
import random
import types
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from river_extra_trees import StreamDecisionTreeClassifier
from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._core.schema import Labels, Schema
from river_extra_trees._core.state import StateError
from tests.naive.codes import code_of
from tests.naive.columns import Columns
from tests.tools.inputs import HUGE, Colour, Percent, Shade

NUMBERS = [2, np.float64(2), np.float32(2), np.int64(-2), np.uint8(2), Percent(50), 10**9]
NUMBERS += [True, False, decimal.Decimal(2), fractions.Fraction(1, 2)]
VALUES = st.one_of(
    *(st.floats(allow_infinity=False), st.sampled_from(NUMBERS), st.none()),
    *(st.text(max_size=2), st.tuples(st.integers(0, 2))),
)
ROWS = st.dictionaries(st.sampled_from("abcdef"), VALUES, max_size=6)


def same(a: Sequence[float], b: Sequence[float]) -> bool:
    return np.array_equal(a, b, equal_nan=True)


class Doubled(dict[str, Any]):
    """A dict whose items are what a sample is, not what it holds."""

    def items(self) -> Any:
        return [(name, value) for name, (value, _) in super().items()]


def doubled(x: dict[str, Any]) -> Doubled:
    return Doubled({name: (value, value) for name, value in x.items()})


MAPPINGS = [dict, collections.Counter, collections.UserDict, types.MappingProxyType, doubled]


@settings(max_examples=200)
@given(
    st.lists(ROWS, max_size=15),
    ROWS,
    st.randoms(use_true_random=False),
    st.sampled_from(MAPPINGS),
)
def test_rows_hold_the_values_of_their_names(
    rows: list[dict[str, Any]], asked: dict[str, Any], shuffler: random.Random, mapping: Any
) -> None:
    """Each value is in the column of its name and kind, all else is missing; asking brings nothing.

    A schema that reads shuffled keys or another mapping, or is restored, is equal.
    """
    schema, other, naive = Schema(), Schema(), Columns()
    for x in rows:
        row = schema.learn_row(x)
        schema.check()
        assert same(row, naive.learned(x))
        assert same(row, schema.row_of(x))
        items = list(x.items())
        shuffler.shuffle(items)
        assert same(row, other.learn_row(mapping(dict(items))))
        assert same(row, other.row_of(mapping(dict(items))))
    before = pickle.dumps(schema)
    assert same(schema.row_of(asked), naive.encoded(asked))
    assert pickle.dumps(schema) == before
    assert (schema.names, schema.codes) == (other.names, other.codes)
    restored = pickle.loads(before)
    restored.check()
    assert pickle.dumps(restored) == before
    assert same(restored.learn_row(asked), schema.learn_row(asked))


NAN = float("nan")
HOLD_NAN = [
    *(NAN, np.float32("nan"), np.datetime64("NaT"), pd.NaT, pd.NA),
    *((NAN, "x"), ("x", (1, (NAN,))), frozenset([NAN])),
]


@pytest.mark.parametrize("value", HOLD_NAN, ids=repr)
def test_what_is_never_met_again_is_refused(value: Any) -> None:
    """A dict finds a NaN by its identity alone: each sample would bring a feature, value or class.

    As a nominal value, NaN itself is a missing one; within a tuple it is nothing at all.
    """
    schema = Schema()
    schema.learn_row({"a": 1.0, "b": "red"})
    before = schema.state()
    for act in (schema.learn_row, schema.row_of):
        for content in (1.0, "blue", None):
            with pytest.raises(ValueError, match=r"^feature .*: a name must not be NaN"):
                act({"a": 1.0, value: content, "c": 1.0})
        if isinstance(value, tuple | frozenset):
            with pytest.raises(ValueError, match=r"^feature 'b': a nominal value must not hold"):
                act({"a": 1.0, "b": value})
    assert schema.state() == before
    with pytest.raises(StateError, match="no name to find it by"):
        Schema.restored({"names": [value], "nominal_values": [None], "max_columns": 9})
    with pytest.raises(StateError, match="equal to themselves"):
        Schema.restored({"names": ["b"], "nominal_values": [[value]], "max_columns": 9})
    model = StreamDecisionTreeClassifier(batch_size=2, seed=1)
    model.learn_one({"a": 1.0}, "x")
    with pytest.raises(ValueError, match="a label must not be missing or hold NaN"):
        model.learn_one({"a": 1.0}, value)
    assert model._core.labels.labels == ["x"]
    with pytest.raises(StateError, match="a label must not be missing"):
        Labels.restored({"labels": [value], "latest": np.zeros(1, np.int64)})


@pytest.mark.parametrize("name", [HUGE, (1, HUGE)], ids=safe_repr)
def test_a_name_that_cannot_be_written_has_a_column(name: Any) -> None:
    """Columns that come together are in the order of their texts; those without are first."""
    one, other = Schema(), Schema()
    assert one.learn_row({"a": 1.0, name: 2.0}) == other.learn_row({name: 2.0, "a": 1.0})
    assert one.names == other.names
    assert one.row_of({name: 3.0})[one.names.index(name)] == 3.0


def test_remembered_values_are_bounded() -> None:
    """The latest 1,024 values of a column have names; every value has a code of its own."""
    schema = Schema()
    rows = [{"a": str(i), "b": "same"} for i in range(1100)]
    codes = {schema.learn_row(x)[0] for x in rows}
    assert len(codes) == 1100
    assert list(schema.codes[0].values()) == list(map(str, range(76, 1100)))
    assert list(schema.codes[1].values()) == ["same"]
    assert schema.row_of({"a": "0"})[0] == code_of("0")
    assert [schema.is_new("a", value) for value in ("75", "76", None, 1)] == [True, *[False] * 3]
    schema.check()


EQUAL = [
    *(("dark", np.str_("dark"), Shade.DARK), ("grün",), ("\ud800",), ("\U0001f600",), ("",)),
    *((b"red", np.bytes_(b"red")), (b"",), ((1, "a"), (1.0, "a"), (True, np.str_("a")))),
    *(((-1,), (-1.0,)), ((-2,), (decimal.Decimal(-2),)), (("a", ("b",)),), (("a", "b"),)),
    *((("b", "a"),), ((),), (frozenset("ab"), frozenset("ba")), (frozenset(),), ((None,),)),
    *((Colour.RED,), (Colour.BLUE,), ((HUGE, 1),), (uuid.UUID(int=1),)),
]


def test_equal_values_have_one_code() -> None:
    """As keys of a dict are equal; the codes of all others differ, and are those of the naive hash.

    They are the same in every process: one is written down.
    """
    schema = Schema()
    codes = [{schema.learn_row({"a": value})[0] for value in equal} for equal in EQUAL]
    assert [len(each) for each in codes] == [1] * len(EQUAL)
    assert len(set.union(*codes)) == len(EQUAL)
    assert codes == [{code_of(equal[0])} for equal in EQUAL]
    assert code_of("red") == 4193853506962585.0


def test_a_value_without_a_text_is_refused() -> None:
    """Its address is another in every process."""
    schema = Schema()
    for value in (object(), lambda: 0, (1, (object(),))):
        with pytest.raises(TypeError, match=r"^feature 'a': a value of type .* is its address"):
            schema.learn_row({"a": value})
    deep: Any = ()
    for _ in range(60):
        deep = (deep,)
    with pytest.raises(ValueError, match=r"feature 'a': a nominal value .* 40 levels"):
        schema.row_of({"a": deep})
    assert schema.n_columns == 0


def test_columns_are_bounded() -> None:
    """A stream of ever-new names does not take ever more memory."""
    schema = Schema()
    for i in range(17):
        schema.learn_row({f"{i}-{j}": 1.0 for j in range(1000)})
    assert schema.n_columns == 1 << 14
    schema.check()


def test_value_of_tells_the_value_behind_a_number() -> None:
    """Thresholds are told in the user's own values."""
    schema = Schema()
    schema.learn_row({"a": 1.0, "b": "red"})
    assert schema.value_of(0, 1.5) == 1.5
    assert schema.value_of(1, code_of("red")) == "red"
    assert schema.value_of(1, code_of("blue")) == "a value not met lately"
    assert schema.value_of(1, -2.0) is None


def test_a_row_is_read_in_time_of_its_own_length() -> None:
    """After a row of thousands of names, a short one does not look up all of these."""
    hashed: list[str] = []

    class Name(str):
        __slots__ = ()

        def __hash__(self) -> int:
            hashed.append(self)
            return super().__hash__()

    schema = Schema()
    wide = {Name(f"w{i}"): 1.0 for i in range(2_000)}
    schema.learn_row(wide)
    schema.row_of(dict(wide))
    for n in (1, 10, 900):
        short = dict(list(wide.items())[-n:])
        for _ in range(20):
            hashed.clear()
            assert sum(value == 1.0 for value in schema.row_of(short)) == n
            assert len(hashed) <= 4 * n
