"""Model files: their content, writing and reading."""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Any

import river_extra_trees

from .._core.state import LARGEST_COUNT, State, StateError, require
from .._estimator.learner import TreeLearner
from ..watch import Watch
from .atomic import open_regular, replace_file
from .container import DamagedError, pack, unpack
from .encoding import Decoder, Encoder, is_plain

if TYPE_CHECKING:
    from river.compose import Pipeline

__all__ = ["ModelFileError", "load", "load_bytes", "save", "save_bytes"]

VERSION = 2  # of the format; version 1 was never released
FIELDS = ("class", "parameters", "state")
WATCHED = ("false_alarms_per", "seed")  # parameters of a watch in a file
WATCHES = ("WatchedClassifier", "WatchedRegressor")


class ModelFileError(ValueError):
    """A model cannot be read or written."""


def save(model: TreeLearner | Pipeline, path: str | os.PathLike[str]) -> None:
    """Save a model to a file.

    The file is replaced atomically: if the process is killed or the disk is full, the old file
    remains. Equal models give equal files.

    Parameters
    ----------
    model
        An estimator of this package, or a pipeline of river that ends with one, with transformers
        listed in `docs/model_files.md`; each may be watched (`Watch`). For other models, save the
        estimator inside, or use pickle.
    path
        Path of the file.

    Raises
    ------
    TypeError
        If the model is of another class, or if a step of the pipeline is not supported.
    ModelFileError
        If a label, a feature name or a nominal value has a type that a model file cannot contain.
        The message names the value.
    OSError
        If the file cannot be written.
    """
    replace_file(path, save_bytes(model))


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model from a file.

    It predicts and continues learning as the saved model would, bit for bit.

    Parameters
    ----------
    path
        Path of a file written by `save`.

    Returns
    -------
    The model.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, or has a later version of the format.
    OSError
        If the file cannot be read, or is a folder, a pipe or a device. (Pass the bytes of a pipe to
        `load_bytes`.)
    """
    with open_regular(path) as file:
        content = file.read()
    try:
        return load_bytes(content)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def save_bytes(model: TreeLearner | Pipeline) -> bytes:
    """Return the bytes of a model file.

    Parameters
    ----------
    model
        An estimator of this package, or a pipeline that ends with one.

    Returns
    -------
    The bytes that `save` would write.

    Raises
    ------
    TypeError, ModelFileError
        As `save`.
    """
    name = type(model).__name__
    encoder = Encoder()
    try:
        content = pack(VERSION, encoder.encode(document_of(model)), encoder.arrays)
    except StateError as error:
        raise ModelFileError(f"this {name} cannot be saved: {error}") from None
    try:
        # Check that the file can be loaded before it replaces one that can.
        model_from(content, LARGEST_COUNT)
    except (DamagedError, StateError) as error:
        raise ModelFileError(
            f"this {name} cannot be saved: its file could not be loaded again, because {error}"
        ) from None
    return content


def load_bytes(content: bytes | bytearray | memoryview) -> Any:
    """Load a model from the bytes of a model file.

    Parameters
    ----------
    content
        The bytes returned by `save_bytes` or written by `save`.

    Returns
    -------
    The model.

    Raises
    ------
    TypeError
        If the content is not bytes.
    ModelFileError
        As `load`.
    """
    if not isinstance(content, bytes | bytearray | memoryview):
        raise TypeError(
            f"content must be bytes, a bytearray or a memoryview, not {type(content).__name__!r}"
        )
    try:
        # Half of the limit, so that the model can learn more samples and be saved again.
        return model_from(bytes(content), LARGEST_COUNT // 2)
    except (DamagedError, StateError) as error:
        raise ModelFileError(f"not a valid model file: {error}") from None


def model_from(content: bytes, largest_count: int) -> Any:
    """Load a model; raise DamagedError or StateError with the reason if that fails."""
    code, arrays = unpack(content, VERSION)
    decoder = Decoder(arrays, largest_count)
    file = State("the file", decoder.decode(code), FIELDS)
    require(not decoder.arrays, "it has arrays that nothing refers to")
    return restored(file)


def document_of(model: Any) -> dict[str, Any]:
    """Return the content of a file for a model: its class, its parameters and its state."""
    name = type(model).__name__
    if is_ours(model):
        return {"class": name, "parameters": model._get_params(), "state": model._state()}
    if isinstance(model, Watch) and name in WATCHES:
        return document_of_watch(model)
    if name == "Pipeline":
        from . import pipelines  # river's transformers take long to import

        if pipelines.is_pipeline(model):
            return pipelines.document_of(model, document_of_learner)
    raise TypeError(
        "only the estimators that river_extra_trees exports can be saved, alone or as the last "
        f"step of a pipeline, not {type(model).__module__}.{type(model).__qualname__}: save the "
        "estimator inside, or pickle the whole"
    )


def document_of_watch(watch: Watch) -> dict[str, Any]:
    """Return the content of a file for a watched model; the function `on_alarm` is left out."""
    if isinstance(watch.model, Watch):
        raise TypeError("a model file cannot hold a watch of a watch: save the inner one")
    parameters = {name: getattr(watch, name) for name in WATCHED}
    state = {"model": document_of(watch.model), "watch": watch._state()}
    return {"class": "Watch", "parameters": parameters, "state": state}


def document_of_learner(model: Any) -> dict[str, Any]:
    """Return the content of a file for the last step of a pipeline: an estimator, or a watch."""
    if not is_ours(model) and type(model).__name__ not in WATCHES:
        raise TypeError(
            "the last step of a pipeline in a model file must be an estimator of "
            f"river_extra_trees, not {type(model).__module__}.{type(model).__qualname__}"
        )
    return document_of(model)


def is_ours(model: Any) -> bool:
    """Return whether a model is an estimator of this package.

    `isinstance` is not enough: river makes a pipeline an instance of the class of its last step.
    """
    return class_of(type(model).__name__) is type(model)


def class_of(name: Any) -> type[TreeLearner] | None:
    """Return the estimator class with a name; None for an unknown name."""
    found = getattr(river_extra_trees, name) if name in river_extra_trees.__all__ else None
    return found if inspect.isclass(found) and issubclass(found, TreeLearner) else None


def restored(file: State) -> Any:
    """Make a model from the content of a file."""
    kind = file.values["class"]
    if isinstance(kind, str) and kind == "Pipeline":
        from . import pipelines  # river's transformers take long to import

        return pipelines.restored(file, restored_last)
    return restored_last(file)


def restored_last(file: State) -> Any:
    """Make the last step of a pipeline, or a model that is no pipeline."""
    kind = file.values["class"]
    if not isinstance(kind, str) or kind != "Watch":
        return restored_learner(file)
    parameters = State("a watch", file.values["parameters"], WATCHED)
    state = State("a watch", file.values["state"], ("model", "watch"))
    model = restored(State("the watched model", state.value("model"), FIELDS))
    require(not isinstance(model, Watch), "a watch is watched")
    try:
        watch = Watch(model, **parameters.values)
    except (TypeError, ValueError, OverflowError) as error:
        raise StateError(f"its parameters are invalid: {error}") from None
    watch._restore(state.value("watch"))
    return watch


def restored_learner(file: State) -> TreeLearner:
    """Make an estimator from its class, its parameters and its state."""
    kind, parameters, state = (file.values[name] for name in FIELDS)
    require(
        isinstance(kind, str) and isinstance(parameters, dict),
        "its class or parameters are missing",
    )
    found = class_of(kind)
    if found is None:
        raise StateError("its class is not an estimator of this package")
    known = inspect.signature(found).parameters
    require(all(name in known for name in parameters), f"a parameter is not one of {kind}")
    # Plain values only, because == below would be elementwise for arrays, for example.
    require(all(map(is_plain, parameters.values())), "a parameter is neither a number nor a text")
    require(isinstance(state, dict) and hasattr(state.get("core"), "settings"), "it has no state")
    settings = state["core"].settings()
    for name, setting in found._sizes.items():  # before the constructor allocates memory by them
        require(
            name not in known or parameters.get(name) == settings.get(setting),
            f"the parameter {name} differs from the {setting} of its state",
        )
    try:
        model = found(**parameters)
    except (TypeError, ValueError, OverflowError) as error:
        raise StateError(f"its parameters are invalid: {error}") from None
    check_settings(model, settings)
    model._restore(State(kind, state, model._state()))
    return model


def check_settings(model: TreeLearner, settings: dict[str, Any]) -> None:
    """Raise unless a core object fits the parameters; without a seed parameter, any seed fits."""
    expected = model._state()["core"].settings()
    require(settings.keys() == expected.keys(), "its state belongs to another family of learners")
    for name, value in expected.items():
        drawn = name == "seed" and getattr(model, "seed", None) is None
        require(
            drawn or settings[name] == value, f"{name} in its state differs from the parameters"
        )
