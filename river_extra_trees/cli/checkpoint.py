"""Checkpoints of a race: everything that is needed to resume it, in one file.

The models of this package are stored as model files, which are safe to read. River's models and
metrics are pickled, so resuming a race runs code from the file: resume only your own checkpoints,
with the versions that wrote them. The file is replaced as a whole, and a hash detects corruption.
"""

from __future__ import annotations

import io
import pickle
import platform
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from river_extra_trees import persistence
from river_extra_trees._estimator.learner import TreeLearner
from river_extra_trees.cli import UserError
from river_extra_trees.persistence.atomic import open_regular, replace_file
from river_extra_trees.persistence.container import DamagedError, pack, unpack

if TYPE_CHECKING:
    from river_extra_trees.cli.race import Race

MAGIC = b"\x93RXRACE\n"
VERSION = 2
PACKAGES = ("river-extra-trees", "river", "numpy", "scipy")  # a checkpoint pickles their objects

Plan = dict[str, Any]


class Pickler(pickle.Pickler):
    """A pickler that stores the models of this package separately, as model files."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.models: dict[int, bytes] = {}
        self.numbers: dict[int, int] = {}

    def persistent_id(self, value: object) -> int | None:
        """Return the number of the model file of a model; None for other objects."""
        if not isinstance(value, TreeLearner):
            return None
        if id(value) not in self.numbers:
            try:
                content = persistence.save_bytes(value)
            except (persistence.ModelFileError, TypeError):
                require_pickle(value)
                return None
            self.numbers[id(value)] = len(self.models)
            self.models[len(self.models)] = content
        return self.numbers[id(value)]


def require_pickle(model: TreeLearner) -> None:
    """Raise a UserError if the model cannot be pickled, for example because of its labels."""
    try:
        pickle.loads(pickle.dumps(model))
    except Exception as error:  # labels of any origin may raise anything
        name = type(model).__name__
        raise UserError(f"this {name} cannot be saved to a checkpoint: {error}") from error


class Unpickler(pickle.Unpickler):
    """The counterpart of `Pickler`."""

    def __init__(self, file: io.BytesIO, models: list[bytes]) -> None:
        super().__init__(file)
        self.models = [persistence.load_bytes(content) for content in models]

    def persistent_load(self, number: Any) -> Any:
        """Return the model of a model file."""
        return self.models[number]


def save(path: Path, race: Race, plan: Plan) -> None:
    """Write a checkpoint.

    Parameters
    ----------
    path
        The file to write.
    race
        The race, between two samples.
    plan
        The arguments of the race that determine its results.
    """
    file = io.BytesIO()
    pickler = Pickler(file)
    pickler.dump(race)
    names = {pickler.numbers.get(id(entrant.model)): entrant.name for entrant in race.entrants}
    document = {
        "plan": plan,
        "items": race.items,
        "packages": versions(),
        "models": [names.get(number, "") for number in pickler.models],
    }
    contents = {"race": file.getvalue()}
    contents |= {f"model {number}": content for number, content in pickler.models.items()}
    arrays = {name: np.frombuffer(content, np.uint8) for name, content in contents.items()}
    try:
        replace_file(path, pack(MAGIC, VERSION, document, arrays))
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages whose objects a checkpoint holds."""
    return {"Python": platform.python_version()} | {name: version_of(name) for name in PACKAGES}


def version_of(package: str) -> str:
    """Return the version of a package, or that it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def is_checkpoint(path: Path) -> bool:
    """Return whether a file begins like a checkpoint."""
    with open_regular(path) as file:
        return file.read(len(MAGIC)) == MAGIC


def read(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the description and the contents of a checkpoint without running any of its code.

    Raises
    ------
    UserError
        If the file cannot be read, is damaged, or is not a checkpoint.
    """
    try:
        with open_regular(path) as file:
            content = file.read()
        _, document, arrays = unpack(content, MAGIC, range(VERSION, VERSION + 1))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except DamagedError as error:
        raise UserError(f"{path} is not a valid checkpoint: {error}") from error
    if not is_description(document) or set(arrays) != {"race", *parts_of(document)}:
        raise UserError(f"{path} is not a valid checkpoint: its contents are not those of a race")
    return document, {name: array.tobytes() for name, array in arrays.items()}


def is_description(document: Any) -> bool:
    """Return whether a description has the right fields, of the right types."""
    return (
        isinstance(document, dict)
        and document.keys() == {"plan", "items", "packages", "models"}
        and isinstance(document["plan"], dict)
        and type(document["items"]) is int
        and isinstance(document["packages"], dict)
        and all(isinstance(version, str) for version in document["packages"].values())
        and isinstance(document["models"], list)
        and all(isinstance(name, str) for name in document["models"])
    )


def parts_of(document: dict[str, Any]) -> list[str]:
    """Return the names of the contents that are model files."""
    return [f"model {i}" for i in range(len(document["models"]))]


def models(path: Path) -> dict[str, bytes]:
    """Return the model files in a checkpoint, by the names of the learners."""
    document, contents = read(path)
    parts = (contents[part] for part in parts_of(document))
    return dict(zip(document["models"], parts, strict=True))


def resume(path: Path, plan: Plan) -> Race:
    """Resume a race.

    Raises
    ------
    UserError
        If the file is not a checkpoint, or comes from another race or from other versions.
    """
    document, contents = read(path)
    for name, value in plan.items():
        if (kept := document["plan"].get(name)) != value:
            raise UserError(
                f"{path} belongs to a race with another {name}: {kept!r}, not {value!r}"
            )
    if document["packages"] != versions():
        raise UserError(
            f"{path} was written by other versions: {document['packages']}; these are {versions()}"
        )
    parts = [contents[part] for part in parts_of(document)]
    race: Race = Unpickler(io.BytesIO(contents["race"]), parts).load()
    for entrant in race.entrants:
        entrant.next_look = 0.0  # the clock of the process that wrote it
    return race
