"""What requests and answers look like: JSON for one sample, JSON lines for many.

A sample is an object with the fields `x`, the features by name, and, to be learned, `y`, the
target, and `w`, its weight, if it is not 1:

    {"x": {"age": 41, "job": "nurse"}, "y": true, "w": 2.0}

Numbers are numeric features, texts and truth values nominal ones; null is missing. An answer is an
object with the prediction `y`, and with `probabilities` or the `interval` if they were asked for.
What is not understood raises `RequestError`: fields and query parameters that do not exist, names
that come twice, NaN. Whether the values make sense is for the model to say.
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

SAMPLES_SEEN = "Samples-Seen"  # header of an answer: what the model had learned when it was made

SWITCHES = {"true": True, "1": True, "false": False, "0": False}


class RequestError(ValueError):
    """A request that cannot be answered, with the status of HTTP that says so.

    Parameters
    ----------
    message
        What is wrong, and what to do.
    status
        The status.
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
    """What a prediction shall hold beside the answer."""

    probabilities: bool = False
    interval: float | None = None


def is_many(content_type: str) -> bool:
    """Return whether a body of this type holds many samples.

    Raises
    ------
    RequestError
        If it is neither JSON nor JSON lines.
    """
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
        Whether the samples are learned, and so need a target.

    Raises
    ------
    RequestError
        If the body is not such a text; the message names the line and the field.

    Examples
    --------
    >>> from river_extra_trees.serving import schema
    >>> schema.read_samples(b'{"x": {"age": 41}, "y": true}', many=False, learned=True)
    [Sample(line=1, x={'age': 41}, y=True, w=1.0)]
    """
    texts = body.split(b"\n") if many else [body]
    samples = [
        read_sample(text, line, learned)
        for line, text in enumerate(texts, start=1)
        if not many or text.strip()
    ]
    if not samples:
        raise RequestError("the body contains no sample")
    return samples


def read_sample(text: bytes, line: int, learned: bool) -> Sample:
    """Read one sample; the message of an error begins with its line."""
    try:
        return Sample(line, **fields_of(parsed(text), learned))
    except RequestError as error:
        raise at_line(line, error) from None


def at_line(line: int, error: Exception, status: int = 400) -> RequestError:
    """Make an error that tells the line."""
    return RequestError(f"line {line}: {error}", getattr(error, "status", status))


def parsed(text: bytes) -> Any:
    """Parse JSON that has no NaN, no infinity and no name twice in one object."""
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
    except ValueError:  # Python's limit on the digits of a whole number
        raise RequestError("a whole number has too many digits") from None


def without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its fields; refuse a name that comes twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise RequestError(f"{safe_repr(twin)} occurs twice in an object")
    return found


def refuse_constant(name: str) -> None:
    """Refuse NaN and the infinities, which Python reads although JSON has none."""
    raise RequestError(f"{name} is not JSON; send null for a missing value")


DECODER = json.JSONDecoder(object_pairs_hook=without_twins, parse_constant=refuse_constant)


def fields_of(document: Any, learned: bool) -> dict[str, Any]:
    """Return the fields of a sample after checking that they are those of a sample."""
    known = ("x", "y", "w") if learned else ("x",)
    if not isinstance(document, dict):
        raise RequestError(
            f'a sample must be an object, such as {{"x": {{...}}}}, {not_a(document)}'
        )
    for name in document:
        if name not in known:
            hint = "; a sample to predict has no target" if name == "y" else ""
            raise RequestError(
                f"a sample has no field {safe_repr(name)}; it has {', '.join(known)}{hint}"
            )
    for name in known[:2]:
        if name not in document:
            raise RequestError(f"the field {name!r} is missing")
    x = document["x"]
    if not isinstance(x, dict):
        raise RequestError(f"x must be an object of features by name, {not_a(x)}")
    for name, value in x.items():
        if isinstance(value, dict | list):
            raise RequestError(
                f"feature {safe_repr(name)} must be a number, a text, true, false or null, "
                f"{not_a(value)}"
            )
    return document


def not_a(value: object) -> str:
    """Say what a value is instead."""
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}
    return f"not {kinds.get(type(value), 'null' if value is None else 'a number')}"


def read_wanted(query: Iterable[tuple[str, str]]) -> Wanted:
    """Read what is wanted from the parameters of a query.

    Raises
    ------
    RequestError
        If there is no such parameter, or its value is invalid.

    Examples
    --------
    >>> from river_extra_trees.serving import schema
    >>> schema.read_wanted([("interval", "0.9")])
    Wanted(probabilities=False, interval=0.9)
    """
    wanted: dict[str, Any] = {}
    for name, text in query:
        if name == "probabilities":
            if text not in SWITCHES:
                raise RequestError(f"probabilities is {safe_repr(text)}; it must be true or false")
            wanted[name] = SWITCHES[text]
        elif name == "interval":
            wanted[name] = read_level(text)
        else:
            raise RequestError(
                f"there is no parameter {safe_repr(name)}; use probabilities or interval"
            )
    return Wanted(**wanted)


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


def answer(
    label: Any,
    probabilities: Mapping[Any, float] | None = None,
    interval: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Make the answer to one sample.

    Examples
    --------
    >>> from river_extra_trees.serving import schema
    >>> schema.answer("spam", {"ham": 0.25, "spam": 0.75})["probabilities"]
    [{'label': 'ham', 'probability': 0.25}, {'label': 'spam', 'probability': 0.75}]
    """
    document: dict[str, Any] = {"y": label}
    if probabilities is not None:
        # A list, as names of JSON are texts: True and 1 and "1" are different labels.
        document["probabilities"] = [
            {"label": each, "probability": probability}
            for each, probability in probabilities.items()
        ]
    if interval is not None:
        # JSON has no infinity, which is where a bound may lie before the first samples.
        document["interval"] = [bound if math.isfinite(bound) else None for bound in interval]
    return document


def write(document: Any) -> bytes:
    """Write a document as JSON.

    Numbers of numpy become those of JSON. Labels of other types, such as bytes, become texts.
    """
    return ENCODER.encode(document).encode()


def write_lines(documents: Iterable[Any]) -> bytes:
    """Write documents as JSON lines."""
    return b"".join(write(document) + b"\n" for document in documents)


def as_json(value: Any) -> Any:
    """Return what stands for a value that JSON has no type for."""
    return value.item() if isinstance(value, np.generic) else safe_repr(value)


ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=as_json)
