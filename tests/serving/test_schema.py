"""What requests and answers look like."""

from __future__ import annotations

import json

import numpy as np
import pytest

from river_extra_trees.serving import schema
from river_extra_trees.serving.schema import RequestError, Sample


def test_samples_of_lines() -> None:
    """Lines are numbered as they stand in the body; empty ones are skipped."""
    body = b'{"x": {"a": 1, "b": null}, "y": "s"}\r\n\n{"y": 2, "x": {}, "w": 0.5}\n'
    found = schema.read_samples(body, many=True, learned=True)
    assert found == [Sample(1, {"a": 1, "b": None}, "s", 1.0), Sample(3, {}, 2, 0.5)]


REFUSED = [
    (b"", "line 1: not JSON"),
    (b"\xff", "line 1: not UTF-8"),
    (b"[" * 100_000, "nested too deeply"),
    (b"1" * 5000, "too many digits"),
    (b"[1]", "a sample must be an object"),
    (b'{"x": {"a": NaN}, "y": 1}', "NaN is not JSON; send null"),
    (b'{"x": {"a": 1, "a": 2}, "y": 1}', "'a' occurs twice"),
    (b'{"x": {}, "y": 1, "z": 1}', "no field 'z'; it has x, y, w"),
    (b'{"x": {}}', "the field 'y' is missing"),
    (b'{"y": 1}', "the field 'x' is missing"),
    (b'{"x": [1], "y": 1}', "x must be an object of features by name, not a list"),
    (
        b'{"x": {"a": {}}, "y": 1}',
        "feature 'a' must be a number, a string, true, false or null, not",
    ),
]


@pytest.mark.parametrize(("body", "says"), REFUSED)
def test_what_is_no_sample_is_refused(body: bytes, says: str) -> None:
    """The message says what is wrong."""
    with pytest.raises(RequestError, match=says.replace("[", r"\[")) as caught:
        schema.read_samples(body, many=False, learned=True)
    assert 400 <= caught.value.status < 500


def test_the_line_is_named() -> None:
    """The message names the line of many."""
    with pytest.raises(RequestError, match=r"^line 2: the field 'y' is missing"):
        schema.read_samples(b'{"x": {}, "y": 1}\n{"x": {}}', many=True, learned=True)
    with pytest.raises(RequestError, match="contains no sample"):
        schema.read_samples(b"\n\n", many=True, learned=True)
    with pytest.raises(RequestError, match="a sample to predict has no target"):
        schema.read_samples(b'{"x": {}, "y": 1}', many=False, learned=False)


def test_labels_keep_their_types() -> None:
    """Labels of one text are told apart, and numpy's are numbers; other types become texts."""
    probabilities = {1: 0.5, "1": 0.25, np.int64(2): 0.125, b"x": 0.125}
    document = json.loads(schema.write(schema.answer(np.bool_(True), probabilities)))
    assert document["y"] is True
    assert [each["label"] for each in document["probabilities"]] == [1, "1", 2, "b'x'"]


def test_infinite_bounds_are_null() -> None:
    """JSON has no infinity."""
    found = schema.answer(0.0, interval=(-np.inf, 2.5))
    assert json.loads(schema.write(found)) == {"y": 0.0, "interval": [None, 2.5]}


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ([("interval", "1")], "between 0 and 1"),
        ([("interval", "x")], "between 0 and 1"),
        ([("probabilities", "yes")], "true or false"),
        ([("proba", "1")], "no parameter 'proba'"),
    ],
)
def test_what_cannot_be_wanted_is_refused(query: list[tuple[str, str]], says: str) -> None:
    """Parameters of a query are checked."""
    with pytest.raises(RequestError, match=says):
        schema.read_wanted(query)
