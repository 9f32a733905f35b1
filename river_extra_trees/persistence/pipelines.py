"""Pipelines of river in model files: steps of known classes, written as plain values.

`form_of` lists the classes with their parameters and state. A step can be saved if its class is
listed and it has exactly the listed attributes, so that nothing is lost if river adds one. Loading
calls the constructors of listed classes; no name in a file is imported or called.
"""

from __future__ import annotations

import functools
import json
import math
import numbers
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from river import compose, stats

from .._core.state import LARGEST_COUNT, State, StateError, require
from .._estimator.kinds import is_kind
from .._estimator.parameters import LARGEST
from ..column_kinds import ColumnKinds
from .values import Encoder, is_plain

__all__ = ["document_of", "is_pipeline", "restored"]

FIELDS = ("class", "parameters", "state")
Document = dict[str, Any]


@dataclass(frozen=True)
class Codec:
    """Conversion of an attribute to plain values, and back with checks."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


@dataclass(frozen=True)
class Form:
    """The attributes of a class in a file: parameters of the constructor, and state set afterwards.

    `starred` is the parameter that the constructor takes as `*args`. The constructor computes the
    `derived` attributes from the parameters.
    """

    kind: type
    parameters: dict[str, Codec] = field(default_factory=dict)
    state: dict[str, Codec] = field(default_factory=dict)
    starred: str = ""
    derived: frozenset[str] = frozenset()

    def write(self, thing: Any) -> Document:
        """Return the document of an object of this class."""
        names = {*self.parameters, *self.state, *self.derived}
        unknown = names ^ vars(thing).keys()
        require(not unknown, f"this version of river gives it other attributes: {unknown}")
        return {
            "class": self.kind.__name__,
            "parameters": written(thing, self.parameters),
            "state": written(thing, self.state),
        }

    def read(self, document: State) -> Any:
        """Make an object of this class from its document."""
        parameters = read(self.kind, document.values["parameters"], self.parameters)
        state = read(self.kind, document.values["state"], self.state)
        arguments = parameters.pop(self.starred, ())
        try:
            thing = self.kind(*arguments, **parameters)
        except (TypeError, ValueError) as error:
            raise StateError(
                f"the parameters of {self.kind.__name__} are invalid: {error}"
            ) from None
        for name, value in state.items():
            present = getattr(thing, name)
            if isinstance(present, dict):  # may be a defaultdict, which keeps its default_factory
                present.clear()
                present.update(value)
            else:
                setattr(thing, name, value)
        return thing


def plain_name(attribute: str) -> str:
    """Name of an attribute in a file."""
    return attribute.strip("_").lower()


def written(thing: Any, codecs: dict[str, Codec]) -> Document:
    fields = {}
    for name, codec in codecs.items():
        try:
            fields[plain_name(name)] = codec.write(getattr(thing, name))
        except StateError as error:
            raise StateError(f"{name} {error}") from None
    return fields


def read(kind: type, fields: Any, codecs: dict[str, Codec]) -> Document:
    names = {name: plain_name(name) for name in codecs}
    state = State(kind.__name__, fields, names.values())
    return {name: codec.read(state.values[names[name]]) for name, codec in codecs.items()}


# --------------------------------------------------------------------------- attributes


def same(fits: Callable[[Any], bool], wanted: str) -> Codec:
    """Codec of an attribute that is a plain value; the error says that it must be `wanted`."""

    def check(value: Any) -> Any:
        require(is_plain(value) and fits(value), f"must be {wanted}")
        return value

    return Codec(check, check)


def is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real | np.bool_)


def by_name(values: Codec, names: Codec | None = None, sort: bool = False) -> Codec:
    """Codec of a dict from feature names (or strings) to values, which keeps the order.

    After `compose.Select` the order is that of a set, which differs between processes. With `sort`,
    for dicts whose order does not matter, equal dicts are written equally.
    """
    key = names or VALUE

    def write(table: Any) -> Document:
        require(isinstance(table, dict), "must be a dict")
        ordered = in_order(table) if sort else list(table)
        return {"names": ordered, "values": [values.write(table[name]) for name in ordered]}

    def read(document: Any) -> dict[Hashable, Any]:
        table = State("a table", document, ("names", "values"))
        keys = [key.read(name) for name in table.items("names")]
        items = [values.read(item) for item in table.items("values", len(keys))]
        found = dict(zip(keys, items, strict=True))
        require(len(found) == len(keys), "a name occurs twice")
        return found

    return Codec(write, read)


def write_set(members: Any) -> Document:
    """Write the members of a set in sorted order, so that equal sets are written equally."""
    require(isinstance(members, set | frozenset), "must be sets of values")
    return {"categories": in_order(members)}


def in_order(names: Iterable[Any]) -> list[Any]:
    return sorted(names, key=lambda name: json.dumps(Encoder().encode(name)))


def read_set(document: Any) -> set[Hashable]:
    members = State("a set", document, ("categories",)).items("categories")
    require(all(map(is_plain, members)), "a category is no plain value")
    found = set(members)
    require(len(found) == len(members), "a category occurs twice")
    return found


def or_none(codec: Codec) -> Codec:
    return Codec(
        lambda value: None if value is None else codec.write(value),
        lambda value: None if value is None else codec.read(value),
    )


def of_kind(kind: type) -> Codec:
    """Codec of a statistic of one class."""
    name = kind.__name__

    def write(statistic: Any) -> Document:
        require(type(statistic) is kind, f"must be of the class {name}")
        return STATISTICS[name].write(statistic)

    def read(document: Any) -> Any:
        state = State("a statistic", document, FIELDS)
        require(state.values["class"] == name, f"a statistic is no {name}")
        return STATISTICS[name].read(state)

    return Codec(write, read)


def write_replacement(value: Any) -> Document:
    """Write the replacement of a missing value: a statistic, or a constant."""
    from river.preprocessing.impute import Constant

    kind = type(value).__name__
    require(
        type(value) is Constant or (kind in STATISTICS and type(value) is STATISTICS[kind].kind),
        f"must be values or statistics of the classes {', '.join(STATISTICS)}, not {kind}",
    )
    return {"value": value.value} if kind == "Constant" else STATISTICS[kind].write(value)


def read_replacement(document: Any) -> Any:
    if isinstance(document, dict) and document.keys() == {"value"}:
        require(is_plain(document["value"]), "a replacement is no plain value")
        return document["value"]
    state = State("a statistic", document, FIELDS)
    kind = state.values["class"]
    require(isinstance(kind, str) and kind in STATISTICS, "a statistic has an unknown class")
    return STATISTICS[kind].read(state)


VALUE = same(lambda value: True, "a plain value")
TEXT = same(lambda value: type(value) is str, "a text")
FLAG = same(lambda value: type(value) is bool, "True or False")
NUMBER = same(is_real, "a number")
NO_WINDOW = same(lambda value: value is None, "None: a model file holds no window of a scaler")
COUNT = same(lambda value: type(value) is int and 0 <= value <= LARGEST_COUNT, "a count")
ZERO = same(lambda value: type(value) is int and value == 0, "zero")
CODE = same(lambda value: type(value) is int and abs(value) <= LARGEST, "a whole number")
# Sums that updates divide by, or take the root of. Squares may have overflowed to infinity.
WEIGHT = same(lambda value: is_real(value) and 0 <= value < math.inf, "a sum of weights")
SPREAD = same(lambda value: is_real(value) and not value < 0, "a number that is not negative")
KINDS = by_name(same(is_kind, "the kind of a column"), sort=True)
SET = Codec(write_set, read_set)
REPLACEMENTS = by_name(Codec(write_replacement, read_replacement))

STATISTICS = {
    form.kind.__name__: form
    for form in (
        Form(stats.Mean, state={"n": WEIGHT, "_mean": NUMBER}),
        Form(stats.Min, state={"min": NUMBER}),
        Form(stats.Max, state={"max": NUMBER}),
        Form(stats.AbsMax, state={"abs_max": NUMBER}),
        Form(stats.Sum, state={"sum": NUMBER}),
        Form(stats.Count, state={"n": COUNT}),
        Form(stats.Mode, {"k": CODE}, {"counts": by_name(COUNT)}),
    )
}
OURS = Form(
    ColumnKinds,
    {"kinds": or_none(KINDS)},
    {
        "_columns": KINDS,
        "_present": by_name(COUNT, sort=True),
        "_n_samples": COUNT,
        "_n_complete": COUNT,
    },
    derived=frozenset({"_layout"}),
)


@functools.cache
def river_forms() -> dict[str, Form]:
    """Return the forms of river's transformers, whose import takes a second."""
    from river import preprocessing

    return {
        form.kind.__name__: form
        for form in (
            Form(
                preprocessing.StandardScaler,
                {"with_std": FLAG, "window_size": NO_WINDOW},
                {
                    "counts": by_name(COUNT, sort=True),
                    "means": by_name(NUMBER, sort=True),
                    "vars": by_name(SPREAD, sort=True),
                },
            ),
            Form(
                preprocessing.MinMaxScaler,
                {"window_size": NO_WINDOW},
                {
                    "min": by_name(of_kind(stats.Min), sort=True),
                    "max": by_name(of_kind(stats.Max), sort=True),
                },
            ),
            Form(
                preprocessing.MaxAbsScaler,
                {"window_size": NO_WINDOW},
                {"abs_max": by_name(of_kind(stats.AbsMax), sort=True)},
            ),
            Form(
                preprocessing.OneHotEncoder,
                {"categories": or_none(by_name(SET)), "drop_zeros": FLAG, "drop_first": FLAG},
                {"values": by_name(SET, sort=True), "_zero_dict": by_name(ZERO, TEXT, sort=True)},
            ),
            Form(
                preprocessing.OrdinalEncoder,
                {
                    "categories": or_none(by_name(by_name(CODE))),
                    "unknown_value": or_none(CODE),
                    "none_value": CODE,
                },
                {"values": by_name(by_name(CODE), sort=True)},
                derived=frozenset({"_reserved_category_codes"}),
            ),
            Form(
                preprocessing.FeatureHasher,
                {
                    "n_features": same(lambda n: type(n) is int and 1 <= n <= LARGEST, "from 1 on"),
                    "seed": or_none(COUNT),
                    "alternate_sign": FLAG,
                },
                {"_seed": same(lambda n: type(n) is int and 0 <= n < 2**32, "of 32 bits")},
            ),
            Form(preprocessing.PreviousImputer, state={"_latest": by_name(VALUE)}),
            Form(
                preprocessing.StatImputer,
                {"stats": Codec(REPLACEMENTS.write, lambda code: REPLACEMENTS.read(code).items())},
                starred="stats",
                derived=frozenset({"imputers"}),
            ),
            Form(compose.Select, {"keys": SET}, starred="keys"),
            Form(compose.Discard, {"keys": SET}, starred="keys"),
            Form(compose.Prefixer, {"prefix": TEXT}),
            Form(compose.Suffixer, {"suffix": TEXT}),
        )
    }


def form_of(name: str) -> Form | None:
    """Return the form of a class of transformers; None if no model file may hold it."""
    return OURS if name == OURS.kind.__name__ else river_forms().get(name)


# --------------------------------------------------------------------------- pipelines


def is_pipeline(model: Any) -> bool:
    """Whether a model is a pipeline of river, and not of a subclass."""
    return type(model) is compose.Pipeline


def document_of(model: Any, document_of_learner: Callable[[Any], Document]) -> Document:
    """Return the content of a file for a pipeline whose last step is an estimator of this package.

    Raises
    ------
    TypeError
        If a step has a class without a form.
    StateError
        If an attribute of a step cannot be written.
    """
    *before, (name, learner) = list(model.steps.items()) or [("", None)]
    steps = [(text, document_of_step(text, step)) for text, step in before]
    return pipeline_of([*steps, (name, document_of_learner(learner))], "Pipeline")


def pipeline_of(steps: Iterable[tuple[str, Document]], kind: str) -> Document:
    return {"class": kind, "parameters": {}, "state": {"steps": list(steps)}}


def document_of_step(name: str, step: Any) -> Document:
    """Return the content of a file for a transformer, a union or a pipeline of transformers."""
    kind = type(step)
    inner = {compose.Pipeline: "steps", compose.TransformerUnion: "transformers"}.get(kind)
    if inner is not None:
        parts = [
            (text, document_of_step(text, part)) for text, part in getattr(step, inner).items()
        ]
        return pipeline_of(parts, kind.__name__)
    form = form_of(kind.__name__)
    if form is None or form.kind is not kind:
        raise TypeError(
            f"a model file cannot hold the step {name!r}, a {kind.__module__}.{kind.__qualname__}: "
            f"it holds steps of ColumnKinds, {', '.join(river_forms())}, and unions and pipelines "
            "of these. Replace the step, or save the learner alone and create the steps before it "
            "in code"
        )
    try:
        return form.write(step)
    except StateError as error:
        raise StateError(f"the step {name!r}, a {kind.__name__}: {error}") from None


def restored(document: State, restored_learner: Callable[[State], Any]) -> compose.Pipeline:
    """Make a pipeline from its document; the last step is an estimator of this package."""
    *before, (name, learner) = steps_of(document)
    pipeline = compose.Pipeline()
    for text, step in before:
        pipeline.steps[text] = restored_step(step)
    pipeline.steps[name] = restored_learner(learner)
    return pipeline


def steps_of(document: State) -> list[tuple[str, State]]:
    """Names and documents of the steps."""
    require(document.values["parameters"] == {}, "a pipeline has no parameters")
    state = State("a pipeline", document.values["state"], ("steps",))
    steps = state.items("steps")
    require(
        steps and all(type(step) is tuple and len(step) == 2 for step in steps),
        "a pipeline has no steps",
    )
    names = [name for name, _ in steps]
    require(all(type(name) is str for name in names), "the name of a step is no text")
    require(len(set(names)) == len(names), "two steps have the same name")
    return [(name, State(f"the step {name!a}", code, FIELDS)) for name, code in steps]


def restored_step(document: State) -> Any:
    """Make a transformer from its document."""
    kind = document.values["class"]
    require(isinstance(kind, str), "a step has no class")
    if kind in ("Pipeline", "TransformerUnion"):
        parts = [(name, restored_step(step)) for name, step in steps_of(document)]
        group = getattr(compose, kind)()
        (group.steps if kind == "Pipeline" else group.transformers).update(parts)
        return group
    form = form_of(kind)
    if form is None:
        raise StateError("a step has a class that no model file may hold")
    return form.read(document)
