"""Requests and responses: JSON for one sample, JSON lines for many.

A sample is an object with the field `x`, its features by name. To be learned, it also has `y`, the
target, and optionally `w`, its weight:

    {"x": {"age": 41, "job": "nurse"}, "y": true, "w": 2.0}

The label of a sample that was predicted before needs no features, but the id of the answer:

    {"id": "5f0c2a9e41d7-1", "y": true}

Numbers are numeric features, strings and booleans are nominal, and null is missing. A response is
an object with the prediction `y`, its `id`, and on request `probabilities`, an `interval` or an
`explanation`.
pydantic checks the fields, and the model checks the values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
import pydantic

from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees.explanation import Explanation

JSON = "application/json"
JSON_LINES = "application/x-ndjson"

SAMPLES_SEEN = "Samples-Seen"  # header of a response: how many samples the model had learned


class RequestError(ValueError):
    """An invalid request.

    Parameters
    ----------
    message
        What is wrong, and what to do.
    status
        The status of the HTTP response.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Sample(NamedTuple):
    """A sample of a request; `line` is its line in the body, and `text` what stands there."""

    line: int
    x: dict[str, Any]
    y: Any = None
    w: Any = 1.0
    id: str = ""
    text: bytes = b""


class ToPredict(pydantic.BaseModel, extra="forbid"):
    """A sample to predict, as it is sent."""

    x: dict[str, Any]


def check_finite(y: Any) -> Any:
    """Raise a ValueError for NaN and infinities, which Python reads although JSON has none."""
    if isinstance(y, float) and not math.isfinite(y):
        raise ValueError("must be finite")
    return y


Target = Annotated[Any, pydantic.AfterValidator(check_finite)]


class ToLearn(ToPredict):
    """A sample to learn, as it is sent."""

    y: Target
    w: Any = 1.0


class ToLabel(pydantic.BaseModel, extra="forbid"):
    """The label of an answer, as it is sent."""

    id: str
    y: Target
    w: Any = 1.0


Form = type[ToPredict] | type[ToLabel]


class Wanted(pydantic.BaseModel, extra="forbid"):
    """Extra fields of a prediction, which are parameters of a query."""

    probabilities: bool = False
    interval: float | None = pydantic.Field(None, gt=0.0, lt=1.0)
    explain: int = pydantic.Field(0, ge=0)  # number of contributions, the largest ones


# ---------------------------------------------------------------------- requests


def is_many(content_type: str) -> bool:
    """Return whether a body of this type holds many samples, one per line."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in (JSON, JSON_LINES):
        raise RequestError(
            f"the Content-Type is {safe_repr(kind)}; send {JSON} for one sample, or {JSON_LINES} "
            "for many, one per line",
            415,
        )
    return kind == JSON_LINES


def read_samples(body: bytes, form: Form, *, many: bool = False) -> list[Sample]:
    """Read the samples of a body.

    Parameters
    ----------
    body
        JSON or JSON lines in UTF-8.
    form
        What the samples are sent for, and which fields they therefore have.
    many
        Whether each line holds a sample. Empty lines are skipped.

    Raises
    ------
    RequestError
        If the body is invalid; the message names the line and the field.

    Examples
    --------
    >>> from river_extra_trees.serving import schema
    >>> (sample,) = schema.read_samples(b'{"x": {"age": 41}, "y": true}', schema.ToLearn)
    >>> sample.x, sample.y, sample.w
    ({'age': 41}, True, 1.0)
    """
    samples = []
    for line, text in enumerate(body.split(b"\n") if many else [body], start=1):
        if text.strip() or not many:
            try:
                read = {"x": {}, **dict(form.model_validate_json(text))}
            except pydantic.ValidationError as error:
                raise at_line(line, first_of(error, form)) from None
            samples.append(Sample(line, **read, text=text))
    if not samples:
        raise RequestError("the body contains no sample")
    return samples


def first_of(error: pydantic.ValidationError, form: type[pydantic.BaseModel]) -> RequestError:
    """Return the first error that pydantic has found."""
    found = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, found["loc"]))
    if found["type"] == "extra_forbidden":
        return RequestError(f"there is no {place!r} here, only {', '.join(form.model_fields)}")
    return RequestError(f"{place}: {found['msg']}" if place else found["msg"])


def at_line(line: int, error: Exception, status: int = 400) -> RequestError:
    """Return an error whose message begins with the line."""
    return RequestError(f"line {line}: {error}", getattr(error, "status", status))


def read_wanted(query: Mapping[str, str]) -> Wanted:
    """Read the parameters of a query.

    Examples
    --------
    >>> from river_extra_trees.serving import schema
    >>> schema.read_wanted({"interval": "0.9"})
    Wanted(probabilities=False, interval=0.9, explain=0)
    """
    try:
        return Wanted.model_validate(query)
    except pydantic.ValidationError as error:
        raise first_of(error, Wanted) from None


# ---------------------------------------------------------------------- responses


def answer(
    label: Any,
    probabilities: Mapping[Any, float] | None = None,
    interval: tuple[float, float] | None = None,
    explanation: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the response to one sample.

    Examples
    --------
    >>> from river_extra_trees.serving import schema
    >>> schema.answer("spam", {"ham": 0.25, "spam": 0.75})["probabilities"]
    [{'label': 'ham', 'probability': 0.25}, {'label': 'spam', 'probability': 0.75}]
    """
    document: dict[str, Any] = {"y": label}
    if probabilities is not None:
        # A list, because names in JSON are strings: 1 and "1" are different labels.
        document["probabilities"] = [
            {"label": each, "probability": share} for each, share in probabilities.items()
        ]
    if interval is not None:
        # JSON has no infinity, which a bound may be before the first samples.
        document["interval"] = [bound if math.isfinite(bound) else None for bound in interval]
    if explanation is not None:
        document["explanation"] = explanation
    return document


def explanation_of(explanation: Explanation, sent: Mapping[Any, Any], n: int) -> dict[str, Any]:
    """Return an explanation with its n largest contributions, and the values as they were sent."""
    return {
        "base_value": explanation.base_value,
        "contributions": [
            {"feature": name, "value": sent.get(name, value), "contribution": part}
            for name, value, part in explanation.largest(n)
        ],
        "output": explanation.output,
    }


def write(document: Any) -> bytes:
    """Write a document as JSON; labels of other types, such as bytes, become strings."""
    return ENCODER.encode(document).encode()


def write_lines(documents: Iterable[Any]) -> bytes:
    """Write documents as JSON lines."""
    return b"".join(write(document) + b"\n" for document in documents)


def as_json(value: Any) -> Any:
    """Convert a value that JSON has no type for."""
    return value.item() if isinstance(value, np.generic) else safe_repr(value)


ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=as_json)
