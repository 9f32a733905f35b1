"""Model files: what they hold, and how they are written and read."""

from __future__ import annotations

import inspect
import os
from typing import Any

import river_extra_trees

from .._core.state import State, StateError, require
from .._estimator.learner import TreeLearner
from .atomic import open_regular, replace_file
from .container import DamagedError, pack, unpack
from .values import Decoder, Encoder, is_plain

__all__ = ["ModelFileError", "load", "load_bytes", "save", "save_bytes"]

MAGIC = b"\x93RXTREE\n"
VERSION = 1  # of the format; a later version of the package reads all earlier ones
FIELDS = ("class", "parameters", "state")


class ModelFileError(ValueError):
    """A file that holds no model, or a model that no file can hold."""


def save(model: TreeLearner, path: str | os.PathLike[str]) -> None:
    """Save a model to a file.

    The file is replaced as a whole: when the process is killed or the disk is full, the old file
    stays. Equal models give equal files.

    Parameters
    ----------
    model
        An estimator of this package. Of a pipeline or an ensemble of river save the part that is
        one, or pickle the whole.
    path
        Where to.

    Raises
    ------
    TypeError
        If the model is no estimator of this package.
    ModelFileError
        If a label, a feature name or a nominal value is of a type that a file cannot hold. The
        message names it.
    OSError
        If the file cannot be written.
    """
    replace_file(path, save_bytes(model))


def load(path: str | os.PathLike[str]) -> Any:
    """Load the model of a file.

    It answers and goes on learning as the saved one would, bit for bit.

    Parameters
    ----------
    path
        A file that `save` wrote.

    Raises
    ------
    ModelFileError
        If the file holds no model, is damaged, or was written by a later version of the format.
    OSError
        If the file cannot be read, or is a folder, a pipe or a device: the bytes that come from a
        pipe are for `load_bytes`.
    """
    with open_regular(path) as file:
        content = file.read()
    try:
        return load_bytes(content)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def save_bytes(model: TreeLearner) -> bytes:
    """The bytes of a model file.

    Parameters
    ----------
    model
        An estimator of this package.

    Raises
    ------
    TypeError, ModelFileError
        As `save` does.
    """
    name = type(model).__name__
    if not isinstance(model, TreeLearner) or class_of(name) is not type(model):
        raise TypeError(
            "only the estimators that river_extra_trees exports can be saved, not "
            f"{type(model).__module__}.{type(model).__qualname__}; save the one inside, or pickle "
            "the whole"
        )
    encoder = Encoder()
    document = {"class": name, "parameters": model._get_params(), "state": model._state()}
    try:
        content = pack(MAGIC, VERSION, encoder.encode(document), encoder.arrays)
    except StateError as error:
        raise ModelFileError(f"this {name} cannot be saved: {error}") from None
    try:
        load_bytes(content)  # what cannot be loaded must not replace what can
    except ModelFileError as error:
        raise ModelFileError(f"this {name} cannot be saved, its file would be {error}") from None
    return content


def load_bytes(content: bytes | bytearray | memoryview) -> Any:
    """The model of the bytes of a model file.

    Parameters
    ----------
    content
        What `save_bytes` returned, or `save` wrote.

    Raises
    ------
    TypeError
        If the content is no bytes.
    ModelFileError
        As `load` does.
    """
    if not isinstance(content, bytes | bytearray | memoryview):
        raise TypeError(
            f"content must be bytes, a bytearray or a memoryview, not {type(content).__name__!r}"
        )
    try:
        _, code, arrays = unpack(bytes(content), MAGIC, range(1, VERSION + 1))
        decoder = Decoder(arrays)
        file = State("the file", decoder.decode(code), FIELDS)
        require(not decoder.arrays, "there are arrays that belong to nothing")
        return restored(file)
    except (DamagedError, StateError) as error:
        raise ModelFileError(f"not a sound model file: {error}") from None


def class_of(name: Any) -> type[TreeLearner] | None:
    """The estimator of this name."""
    found = getattr(river_extra_trees, name) if name in river_extra_trees.__all__ else None
    return found if inspect.isclass(found) and issubclass(found, TreeLearner) else None


def restored(file: State) -> TreeLearner:
    """The estimator of a class, its parameters and its state."""
    kind, parameters, state = (file.values[name] for name in FIELDS)
    require(isinstance(kind, str) and isinstance(parameters, dict), "it names no class")
    found = class_of(kind)
    if found is None:
        raise StateError("it names no class of this package")
    known = inspect.signature(found).parameters
    require(all(name in known for name in parameters), f"{kind} has no such parameters")
    # Others, such as arrays, have comparisons of their own.
    require(all(map(is_plain, parameters.values())), "a parameter is neither a number nor a text")
    require(isinstance(state, dict) and hasattr(state.get("core"), "settings"), "it has no state")
    settings = state["core"].settings()
    for name, setting in found._sizes.items():  # before memory is taken for them
        require(
            name not in known or parameters.get(name) == settings.get(setting),
            f"{name} is not that of the trees",
        )
    try:
        model = found(**parameters)
    except (TypeError, ValueError, OverflowError) as error:
        raise StateError(f"{kind} refuses its parameters: {error}") from None
    check_settings(model, settings)
    model._restore(State(kind, state, model._state()))
    return model


def check_settings(model: TreeLearner, settings: dict[str, Any]) -> None:
    """Refuse a core object that the parameters do not make; a drawn seed may be any."""
    expected = model._state()["core"].settings()
    require(settings.keys() == expected.keys(), "the state is of another family")
    for name, value in expected.items():
        drawn = name == "seed" and getattr(model, "seed", None) is None
        require(drawn or settings[name] == value, f"{name} is not that of the parameters")
