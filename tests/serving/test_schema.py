"""What requests and answers look like."""

import json

import numpy as np

from river_extra_trees.serving import schema
from river_extra_trees.serving.schema import Sample


def test_samples_of_lines() -> None:
    """Lines are numbered as they stand in the body; empty ones are skipped."""
    body = b'{"x": {"a": 1, "b": null}, "y": "s"}\r\n\n{"y": 2, "x": {}, "w": 0.5}\n'
    found = schema.read_samples(body, schema.ToLearn, many=True)
    expected = [Sample(1, {"a": 1, "b": None}, "s", 1.0), Sample(3, {}, 2, 0.5)]
    assert [each._replace(text=b"") for each in found] == expected


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
