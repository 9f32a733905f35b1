"""What requests and answers look like."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from river_extra_trees.serving import schema
from river_extra_trees.serving.schema import RequestError, Sample


def test_samples_of_lines() -> None:
    """Lines are numbered as they stand in the body; empty ones are skipped."""
    body = b'{"x": {"a": 1, "b": null}, "y": "s"}\r\n\n{"y": 2, "x": {}, "w": 0.5}\n'
    found = schema.read_samples(body, many=True, learned=True)
    assert found == [Sample(1, {"a": 1, "b": None}, "s", 1.0), Sample(3, {}, 2, 0.5)]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "line 1: Invalid JSON"),
        (b"\xff", "line 1: Invalid JSON"),
        (b"[" * 100_000, "line 1: Invalid JSON"),
        (b"[1]", "line 1: Input should be an object"),
        (b'{"x": {}, "y": 1, "z": 1}', "line 1: z: Extra inputs are not permitted"),
        (b'{"x": {}}', "line 1: y: Field required"),
        (b'{"y": 1}', "line 1: x: Field required"),
        (b'{"x": {}, "y": -Infinity}', "line 1: y: Value error, must be finite"),
        (b'{"x": [1], "y": 1}', "line 1: x: Input should be an object"),
    ],
)
def test_what_is_no_sample_is_refused(body: bytes, says: str) -> None:
    """The message says what is wrong, and in which field."""
    with pytest.raises(RequestError, match=re.escape(says)) as caught:
        schema.read_samples(body, many=False, learned=True)
    assert caught.value.status == 400


def test_the_line_is_named() -> None:
    """The message names the line of many."""
    with pytest.raises(RequestError, match=r"^line 2: y: Field required"):
        schema.read_samples(b'{"x": {}, "y": 1}\n{"x": {}}', many=True, learned=True)
    with pytest.raises(RequestError, match="contains no sample"):
        schema.read_samples(b"\n\n", many=True, learned=True)
    with pytest.raises(RequestError, match="line 1: y: Extra inputs"):
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
        ({"interval": "1"}, "interval: Input should be less than 1"),
        ({"interval": "x"}, "interval: Input should be a valid number"),
        ({"probabilities": "perhaps"}, "probabilities: Input should be a valid boolean"),
        ({"proba": "1"}, "proba: Extra inputs are not permitted"),
    ],
)
def test_what_cannot_be_wanted_is_refused(query: dict[str, str], says: str) -> None:
    """Parameters of a query are checked."""
    with pytest.raises(RequestError, match=says):
        schema.read_wanted(query)
