"""Blocks of samples: what comes out is what went in."""

from __future__ import annotations

import datetime
import math
import pickle
import random
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pytest

from river_extra_trees._core.table import Table
from river_extra_trees._estimator.columns import labelled_table_of, read_targets
from river_extra_trees.distributed.blocks import Block
from tests.tools.blocks import rows_in, samples_in

VALUES = [0.5, 3, True, None, -(2**53), 2**60, "red", b"x", (1, 2), 1e300]


def rows(n: int, seed: int = 0) -> list[dict[Any, Any]]:
    """Columns of numbers, of other values, of both, and features that come and go."""
    rng = random.Random(seed)
    found = []
    for i in range(n):
        x = {"a": rng.random(), 7: rng.randrange(9), "b": rng.choice("xyz"), ("c", 1): True}
        x["any"] = VALUES[i % len(VALUES)]
        if rng.random() < 0.3:
            del x[rng.choice(["a", "b", 7])]
        found.append(x)
    return found


def told(x: dict[Any, Any]) -> dict[Any, Any]:
    """A sample without what is missing in it."""
    return {name: value for name, value in x.items() if value is not None and value == value}


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 200])
def test_samples_come_out_as_they_went_in(n: int) -> None:
    """In their order, whatever their number, to the last bit."""
    samples, targets, weights = rows(n), [i / 7 for i in range(n)], [1.0 + i for i in range(n)]
    block = pickle.loads(pickle.dumps(Block(samples, targets, weights)))
    assert len(block) == n
    out = samples_in(block)
    assert [x for x, _, _ in out] == [told(x) for x in samples]
    assert [(y, w) for _, y, w in out] == list(zip(targets, weights, strict=True))


@pytest.mark.parametrize(
    ("values", "row"),
    [
        ([math.inf, 0.5], 0),
        ([None, datetime.date(2026, 11, 22)], 1),
        (["red", [1]], 1),
        ([10**400, 1.0], 0),
    ],
)
def test_what_learners_refuse_is_refused_where_it_arrives(values: list[Any], row: int) -> None:
    """With the same error, for the same row."""
    for block in (
        Block([{"a": value, "b": 1.0} for value in values]),
        Block.from_frame(pd.DataFrame({"a": pd.Series(values, dtype=object), "b": 1.0})),
    ):
        column = block.columns[0]
        assert column.refused == row
        again = pickle.loads(pickle.dumps(block)).columns[0]
        assert (again.refused, repr(again.error)) == (column.refused, repr(column.error))
        assert "'a'" in str(again.error)


@pytest.mark.parametrize("regression", [False, True])
def test_batches_are_those_of_frames(regression: bool) -> None:
    """Learners read the columns of a block, however it was made, as they read frames."""
    frame = pd.DataFrame({"a": [0.5, math.nan, 2.5], "b": ["x", None, "y"], "c": [1, 2, 3]})
    targets, weights = [1.0, 2.0, 1.0], [1.0, 0.0, 2.0]
    expected = shown(labelled_table_of(frame, targets, weights, regression))
    records = [
        {name: value for name, value in row.items() if value is not None and value == value}
        for row in frame.to_dict("records")
    ]
    for block in (
        Block(records, targets, weights),
        Block.from_frame(frame, targets, weights),
    ):
        for each in (block, pickle.loads(pickle.dumps(block, 5))):
            assert shown(each.batch(regression)) == expected
            assert each.batch(regression) is each.batch(regression)
            assert each.batch().targets is None


def shown(batch: Table) -> list[str]:
    """The columns of a batch as texts, by their names; then targets and weights."""
    columns = sorted(batch.columns, key=lambda column: str(column.name))
    return [
        repr(
            (
                each.name,
                None if each.numbers is None else each.numbers.tolist(),
                None if each.codes is None else [[*each.values, None][i] for i in each.codes],
            )
        )
        for each in [*columns, batch.targets, batch.weights]
        if each is not None
    ]


def test_targets_are_kept_as_they_are() -> None:
    """Floats in an array, labels and whole numbers in a list; without weights each is 1."""
    x = [{"a": 1.0}] * 3
    assert isinstance(Block(x, [1.0, 2.0, 3.0]).targets, np.ndarray)
    for targets in (["a", 1, None], [1, 2, 3], [True, False, 0.5]):
        said = [(y, w) for _, y, w in samples_in(Block(x, targets))]
        assert [(y, type(y), w) for y, w in said] == [(y, type(y), 1.0) for y in targets]


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "bool"])
def test_targets_of_numpy_travel_as_an_array(kind: str) -> None:
    """They mean what they are: labels stay those of numpy, as in `learn_many`."""
    targets = np.arange(300).astype(kind)
    rows = [{"a": float(i)} for i in range(300)]
    for block in (Block(rows, targets), Block.from_frame(pd.DataFrame(rows), targets, targets)):
        message = pickle.dumps(block, 5)
        assert len(message) < 300 * 26  # a row and its target and weight are 24 bytes
        again = pickle.loads(message)
        assert [(type(y), y) for _, y, _ in samples_in(again)] == [(type(y), y) for y in targets]
        for regression in (False, True):
            read, expected = (
                again.batch(regression),
                Table(300, [], read_targets(targets, regression)),
            )
            assert shown(Table(300, [], read.targets)) == shown(expected)
        assert {type(float(w)) for _, _, w in samples_in(again)} == {float}


@pytest.mark.parametrize("given", [{"targets": [1.0]}, {"weights": [1.0]}])
def test_lengths_have_to_agree(given: dict[str, Any]) -> None:
    """The message says which is wrong."""
    (what,) = given
    with pytest.raises(ValueError, match=f"2 rows and 1 {what}"):
        Block([{}, {}], **given)
    frame = narwhals.from_native(pd.DataFrame({"a": [1.0, 2.0]}), eager_only=True)
    with pytest.raises(ValueError, match=f"2 rows and 1 {what}"):
        Block.from_frame(frame, **given)


@pytest.mark.parametrize("wrong", [{"a": 1}, {1.0}, "a", 1.0, pd.DataFrame({"a": [1.0]})], ids=repr)
def test_targets_and_weights_are_sequences(wrong: Any) -> None:
    """Neither names nor anything without an order."""
    with pytest.raises(TypeError, match="targets must be a series"):
        Block([{"a": 1.0}], wrong)
    with pytest.raises(TypeError, match="weights must be a series"):
        Block([{"a": 1.0}], [1.0], wrong)
    frame = narwhals.from_native(pl.DataFrame({"a": [1.0]}))
    with pytest.raises(TypeError, match="targets must be a series"):
        Block.from_frame(frame, wrong)


@pytest.mark.parametrize("x", [None, 1.0, [("a", 1.0)]], ids=repr)
def test_rows_are_mappings(x: Any) -> None:
    """Anything else is refused in the words of the learners."""
    with pytest.raises(TypeError, match="x must be a mapping"):
        Block([{"a": 1.0}, x])


def test_without_targets_there_are_features_only() -> None:
    """A block to be predicted."""
    block = Block([{"a": 1.0}])
    assert rows_in(block) == [{"a": 1.0}]
    assert block.batch().targets is None
    with pytest.raises(ValueError, match="no targets"):
        block.batch(True)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("weights", [None, 2.0, [1.0, 2.0, 3.0]])
def test_frames(kind: Any, weights: Any) -> None:
    """Of any kind, with one weight for all or one for each."""
    columns = {"a": [0.5, math.nan, 2.5], "b": ["x", None, "y"], "c": [1, 2, 3]}
    frame = narwhals.from_native(kind(columns), eager_only=True)
    block = Block.from_frame(frame, ["p", "q", "r"], weights)
    out = samples_in(block)
    assert [x for x, _, _ in out] == [
        {"a": 0.5, "b": "x", "c": 1},
        {"c": 2},
        {"a": 2.5, "b": "y", "c": 3},
    ]
    assert [y for _, y, _ in out] == ["p", "q", "r"]
    expected = weights if isinstance(weights, list) else [1.0 if weights is None else weights] * 3
    assert [w for _, _, w in out] == expected
    assert rows_in(Block.from_frame(frame))[2] == out[2][0]
