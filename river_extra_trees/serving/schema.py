"""Requests and responses: JSON for one sample, JSON lines for many.

A sample is an object with the field `x`, its features by name. To be learned, it also has `y`, the
target, and optionally `w`, its weight:

    {"x": {"age": 41, "job": "nurse"}, "y": true, "w": 2.0}

Numbers are numeric features, strings and booleans are nominal, and null is missing. A response is
an object with the prediction `y`, and on request with `probabilities` or an `interval`. Unknown
fields and query parameters, duplicate names and NaN raise `RequestError`. The model checks the
values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from river_extra_trees._core.safe_repr import safe_repr

JSON = "application/json"
JSON_LINES = "application/x-ndjson"
MANY = (JSON_LINES, "application/jsonl", "application/jsonlines")

SAMPLES_SEEN = "Samples-Seen"  # header of a response: how many samples the model had learned

SWITCHES = {"true": True, "1": True, "false": False, "0": False}


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
    """A sample of a request; `line` is its line in the body."""

    line: int
    x: dict[str, Any]
    y: Any = None
    w: Any = 1.0


class Wanted(NamedTuple):
    """Extra fields of a prediction."""

    probabilities: bool = False
    interval: float | None = None


# ---------------------------------------------------------------------- requests


def is_many(content_type: str) -> bool:
    """Return whether a body of this type holds many samples, one per line."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == JSON or kind in MANY:
        return kind != JSON
    raise RequestError(
        f"the Content-Type is {safe_repr(kind)}; send {JSON} for one sample, or {JSON_LINES} "
        "for many, one per line",
        415,
    )


def read_samples(body: bytes, *, many: bool, learned: bool) -> list[Sample]:
    """Read the samples of a body.

    Parameters
    ----------
    body
        JSON or JSON lines in UTF-8.
    many
        Whether each line holds a sample. Empty lines are skipped.
    learned
        Whether the samples are learned, and therefore need a target.

    Raises
    ------
    RequestError
        If the body is invalid; the message names the line and the field.

    Examples
    --------
    >>> from river_extra_trees.serving import schema
    >>> schema.read_samples(b'{"x": {"age": 41}, "y": true}', many=False, learned=True)
    [Sample(line=1, x={'age': 41}, y=True, w=1.0)]
    """
    samples = []
    for line, text in enumerate(body.split(b"\n") if many else [body], start=1):
        if text.strip() or not many:
            try:
                document = parse(text)
                check_fields(document, learned)
            except RequestError as error:
                raise at_line(line, error) from None
            samples.append(Sample(line, **document))
    if not samples:
        raise RequestError("the body contains no sample")
    return samples


def at_line(line: int, error: Exception, status: int = 400) -> RequestError:
    """Return an error whose message begins with the line."""
    return RequestError(f"line {line}: {error}", getattr(error, "status", status))


def parse(text: bytes) -> Any:
    """Parse JSON without NaN, infinities and duplicate names."""
    try:
        return DECODER.decode(text.decode())
    except RequestError:
        raise
    except UnicodeDecodeError as error:
        raise RequestError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise RequestError(f"not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise RequestError("not a sample: values are nested too deeply") from None
    except ValueError:  # Python limits the digits of an integer
        raise RequestError("a whole number has too many digits") from None


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object as a dict; refuse duplicate names."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise RequestError(f"{safe_repr(name)} occurs twice in an object")
        found[name] = value
    return found


def refuse_constant(name: str) -> None:
    """Refuse NaN and the infinities, which Python reads although JSON has none."""
    raise RequestError(f"{name} is not JSON; send null for a missing value")


DECODER = json.JSONDecoder(object_pairs_hook=object_of, parse_constant=refuse_constant)


def check_fields(document: Any, learned: bool) -> None:
    """Raise RequestError unless a document is a sample."""
    known = ("x", "y", "w") if learned else ("x",)
    if not isinstance(document, dict):
        raise RequestError(
            f'a sample must be an object, such as {{"x": {{...}}}}, {not_a(document)}'
        )
    for name in document:
        if name not in known:
            hint = "; a sample to predict has no target" if name == "y" else ""
            fields = ", ".join(known)
            raise RequestError(f"a sample has no field {safe_repr(name)}; it has {fields}{hint}")
    for name in known[:2]:
        if name not in document:
            raise RequestError(f"the field {name!r} is missing")
    x = document["x"]
    if not isinstance(x, dict):
        raise RequestError(f"x must be an object of features by name, {not_a(x)}")
    for name, value in x.items():
        if isinstance(value, dict | list):
            wanted = "must be a number, a string, true, false or null"
            raise RequestError(f"feature {safe_repr(name)} {wanted}, {not_a(value)}")


def not_a(value: object) -> str:
    """Name the JSON type of a value."""
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return f"not {kinds.get(type(value), 'null' if value is None else 'a number')}"


def read_wanted(query: Iterable[tuple[str, str]]) -> Wanted:
    """Read the parameters of a query.

    Examples
    --------
    >>> from river_extra_trees.serving import schema
    >>> schema.read_wanted([("interval", "0.9")])
    Wanted(probabilities=False, interval=0.9)
    """
    wanted = Wanted()
    for name, text in query:
        if name == "probabilities":
            if text not in SWITCHES:
                raise RequestError(f"probabilities is {safe_repr(text)}; it must be true or false")
            wanted = wanted._replace(probabilities=SWITCHES[text])
        elif name == "interval":
            wanted = wanted._replace(interval=read_level(text))
        else:
            raise RequestError(
                f"there is no parameter {safe_repr(name)}; use probabilities or interval"
            )
    return wanted


def read_level(text: str) -> float:
    """Read the probability of an interval."""
    try:
        level = float(text)
    except ValueError:
        level = math.nan
    if not 0.0 < level < 1.0:
        raise RequestError(
            f"interval is {safe_repr(text)}; it must be between 0 and 1, such as 0.9"
        )
    return level


# ---------------------------------------------------------------------- responses


def answer(
    label: Any,
    probabilities: Mapping[Any, float] | None = None,
    interval: tuple[float, float] | None = None,
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
        # A list, because names in JSON are strings: True, 1 and "1" are different labels.
        document["probabilities"] = [
            {"label": each, "probability": share} for each, share in probabilities.items()
        ]
    if interval is not None:
        # JSON has no infinity, which a bound may be before the first samples.
        document["interval"] = [bound if math.isfinite(bound) else None for bound in interval]
    return document


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
