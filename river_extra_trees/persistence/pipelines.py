"""Pipelines of river in model files: steps of known classes, written as plain values.

A step is written as the parameters of its constructor and its other attributes, with the names that
they have in river. Loading calls the constructor of a known class and sets the attributes that the
new step has; no name in a file is imported or called.
"""

from __future__ import annotations

import functools
import inspect
import json
import numbers
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from river import compose, stats

from .._core.state import State, StateError, require
from .._estimator.kinds import is_kind
from .._estimator.parameters import LARGEST
from ..column_kinds import ColumnKinds
from .encoding import Encoder, is_plain

__all__ = ["document_of", "is_pipeline", "restored"]

FIELDS = ("class", "parameters", "state")
Document = dict[str, Any]

STATISTICS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(stats.Mean, stats.Min, stats.Max, stats.AbsMax),
        *(stats.Sum, stats.Count, stats.Mode),
    )
}
GROUPS = {"Pipeline": "steps", "TransformerUnion": "transformers"}
# The attributes whose items are the positional arguments of a constructor.
POSITIONAL = {"StatImputer": "stats", "Select": "keys", "Discard": "keys"}
# Attributes that a constructor computes, and that are not written.
DERIVED = {
    "ColumnKinds": {"_has_numbers", "_layout", "_words"},
    "OrdinalEncoder": {"_reserved_category_codes"},
    "StatImputer": {"imputers"},
}
# Limits of whole numbers that compiled code of river reads. It panics beyond some of them.
LIMITS = {"n_features": (1, LARGEST), "_seed": (0, 2**32 - 1)}


@functools.cache
def transformers() -> dict[str, type]:
    """Return the classes of steps by name; importing those of river takes a second."""
    from river import preprocessing

    kinds: list[type] = [
        *(preprocessing.StandardScaler, preprocessing.MinMaxScaler, preprocessing.MaxAbsScaler),
        *(preprocessing.OneHotEncoder, preprocessing.OrdinalEncoder, preprocessing.FeatureHasher),
        *(preprocessing.PreviousImputer, preprocessing.StatImputer),
        *(compose.Select, compose.Discard, compose.Prefixer, compose.Suffixer),
    ]
    return {kind.__name__: kind for kind in kinds}


def kind_of(name: str) -> type | None:
    """Return the class of a step or a statistic; None if model files do not support it."""
    if name == "ColumnKinds":  # alone, it needs no import that takes long
        return ColumnKinds
    return STATISTICS.get(name) or transformers().get(name)


# --------------------------------------------------------------------------- objects


def written_object(thing: Any) -> Document:
    """Return the class, the parameters and the other attributes of a step or a statistic."""
    name = type(thing).__name__
    first = POSITIONAL.get(name)
    names = parameters_of(type(thing)) | ({first} if first else set())
    others = vars(thing).keys() - names - DERIVED.get(name, set())
    if vars(thing).get("window_size") is not None:
        raise StateError("window_size must be None: model files do not support windows of a scaler")
    return {
        "class": name,
        "parameters": {each: written(getattr(thing, each), each) for each in sorted(names)},
        # Keys are sorted, because `compose.Select` gives features the order of a set, which
        # differs between processes. The order of the values of a statistic has a meaning.
        "state": {
            each.strip("_"): written(getattr(thing, each), each, name not in STATISTICS)
            for each in sorted(others)
        },
    }


def parameters_of(kind: type) -> set[str]:
    """Return the parameters of a constructor that are passed by name."""
    parameters = inspect.signature(kind).parameters.values()
    return {each.name for each in parameters if each.kind is not each.VAR_POSITIONAL}


def written(value: Any, name: str, sort: bool = False) -> Any:
    """Return an attribute as plain values."""
    if f"{type(value).__module__}.{type(value).__name__}" == "river.preprocessing.impute.Constant":
        value = value.value
    if is_plain(value):
        return value
    if isinstance(value, set | frozenset):
        return {"members": in_order(value)}
    if type(value) in (dict, defaultdict, Counter):
        keys = in_order(value) if sort else list(value)
        return {"names": keys, "values": [written(value[key], name) for key in keys]}
    if STATISTICS.get(type(value).__name__) is type(value):
        return written_object(value)
    raise StateError(
        f"{name} must hold plain values and statistics of the classes {', '.join(STATISTICS)}, "
        f"not {type(value).__module__}.{type(value).__qualname__}"
    )


def in_order(names: Iterable[Any]) -> list[Any]:
    return sorted(names, key=lambda name: json.dumps(Encoder().encode(name)))


def restored_object(document: State, kinds: Callable[[str], type | None]) -> Any:
    """Make a step or a statistic from its document."""
    name, parameters, state = (document.values[field] for field in FIELDS)
    require(isinstance(name, str), "a step has no class")
    kind = kinds(name)
    if kind is None:
        raise StateError("a step has a class that model files do not support")
    first = POSITIONAL.get(name)
    names = parameters_of(kind) | ({first} if first else set())
    found = {key: read(value) for key, value in State(name, parameters, names).values.items()}
    arguments = found.pop(first, ()) if first else ()
    require(isinstance(arguments, dict | set | tuple), f"{first} is not a collection")
    require(found.get("window_size") is None, "window_size must be None")
    try:
        thing = kind(*(arguments.items() if isinstance(arguments, dict) else arguments), **found)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise StateError(f"the parameters of {name} are invalid: {error}") from None
    set_state(thing, state, vars(thing).keys() - names - DERIVED.get(name, set()))
    for attribute, (least, most) in LIMITS.items():
        value = vars(thing).get(attribute, least)
        require(type(value) is int and least <= value <= most, f"{attribute} is out of range")
    return thing


def set_state(thing: Any, state: Any, names: Iterable[str]) -> None:
    """Set the attributes of a new object; each must have the type that it has in the new object."""
    attributes = {name.strip("_"): name for name in names}
    values = State(type(thing).__name__, state, attributes).values
    for key, name in attributes.items():
        value, present = read(values[key]), getattr(thing, name)
        if isinstance(present, dict):
            example = getattr(present, "default_factory", None)
            require(isinstance(value, dict), f"{name} is not a table")
            require(
                example is None or fits(value.values(), example()),
                f"a value of {name} has another type",
            )
            present.clear()
            present.update(value)  # a defaultdict keeps its factory
        else:
            require(fits([value], present), f"{name} has another type")
            setattr(thing, name, value)
    if isinstance(thing, ColumnKinds):
        require(all(map(is_kind, thing._columns.values())), "a column has an unknown kind")
        require(thing._present.keys() == thing._columns.keys(), "a column has no count")
        n, counts = thing._n_samples, [thing._n_complete, *thing._present.values()]
        require(
            type(n) is int and all(type(each) is int and 0 <= each <= n for each in counts),
            "a count is no number of samples",
        )


def fits(values: Iterable[Any], example: Any) -> bool:
    """Return whether values have the type of an example; all real numbers have one type."""
    kind = numbers.Real if isinstance(example, numbers.Real) else type(example)
    return all(isinstance(value, kind) for value in values)


def read(value: Any) -> Any:
    """Return an attribute from its plain values."""
    if is_plain(value):
        return value
    if isinstance(value, dict) and value.keys() == {"members"}:
        members = State("a set", value, ("members",)).items("members")
        require(all(map(is_plain, members)), "a member of a set is not a plain value")
        require(len(set(members)) == len(members), "a member of a set occurs twice")
        return set(members)
    if isinstance(value, dict) and value.keys() == {"names", "values"}:
        table = State("a table", value, ("names", "values"))
        names = table.items("names")
        require(all(map(is_plain, names)), "a name is not a plain value")
        require(len(set(names)) == len(names), "a name occurs twice")
        return dict(zip(names, map(read, table.items("values", len(names))), strict=True))
    return restored_object(State("a statistic", value, FIELDS), STATISTICS.get)


# --------------------------------------------------------------------------- pipelines


def is_pipeline(model: Any) -> bool:
    """Return whether a model is a pipeline of river, and not of a subclass."""
    return type(model) is compose.Pipeline


def document_of(model: Any, document_of_learner: Callable[[Any], Document]) -> Document:
    """Return the content of a file for a pipeline whose last step is an estimator of this package.

    Raises
    ------
    TypeError
        If a step has a class that model files do not support.
    StateError
        If an attribute of a step cannot be written.
    """
    *before, (name, learner) = list(model.steps.items()) or [("", None)]
    steps = [(text, document_of_step(text, step)) for text, step in before]
    return group_of("Pipeline", [*steps, (name, document_of_learner(learner))])


def group_of(kind: str, steps: list[tuple[str, Document]]) -> Document:
    return {"class": kind, "parameters": {}, "state": {"steps": steps}}


def document_of_step(name: str, step: Any) -> Document:
    """Return the content of a file for a transformer, a union or a pipeline of transformers."""
    kind = type(step)
    text = kind.__name__
    if kind in (compose.Pipeline, compose.TransformerUnion):
        parts = getattr(step, GROUPS[text]).items()
        return group_of(text, [(each, document_of_step(each, part)) for each, part in parts])
    if kind_of(text) is not kind or text in STATISTICS:
        raise TypeError(
            f"a model file cannot hold the step {name!r}, a {kind.__module__}.{kind.__qualname__}: "
            f"it can hold ColumnKinds, {', '.join(transformers())}, and unions and pipelines of "
            "these. Replace the step, or save the learner alone and create the steps before it in "
            "code"
        )
    try:
        return written_object(step)
    except StateError as error:
        raise StateError(f"the step {name!r}, a {text}: {error}") from None


def restored(document: State, restored_learner: Callable[[State], Any]) -> compose.Pipeline:
    """Make a pipeline from its document; the last step is an estimator of this package."""
    *before, (name, learner) = steps_of(document)
    pipeline = compose.Pipeline()
    pipeline.steps.update((text, restored_step(step)) for text, step in before)
    pipeline.steps[name] = restored_learner(learner)
    return pipeline


def steps_of(document: State) -> list[tuple[str, State]]:
    """Return the names and the documents of the steps."""
    parameters = document.values["parameters"]
    require(type(parameters) is dict and not parameters, "a pipeline has no parameters")
    steps = State("a pipeline", document.values["state"], ("steps",)).items("steps")
    require(
        steps and all(type(step) is tuple and len(step) == 2 for step in steps),
        "a pipeline has no steps",
    )
    names = [name for name, _ in steps]
    require(all(type(name) is str for name in names), "the name of a step is not a text")
    require(len(set(names)) == len(names), "two steps have the same name")
    return [(name, State(f"the step {name!a}", code, FIELDS)) for name, code in steps]


def restored_step(document: State) -> Any:
    """Make a transformer, a union or a pipeline of transformers from its document."""
    kind = document.values["class"]
    if isinstance(kind, str) and kind in GROUPS:
        group = getattr(compose, kind)()
        parts = ((name, restored_step(step)) for name, step in steps_of(document))
        getattr(group, GROUPS[kind]).update(parts)
        return group
    return restored_object(document, kind_of)
