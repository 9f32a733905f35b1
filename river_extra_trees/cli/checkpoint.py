"""Checkpoints of a race: everything that is needed to go on with it, in one file.

The models of this package are in it as model files, which anybody may read. What belongs to river,
its models and metrics, is pickled: going on with a race runs code from the file, so that only
checkpoints of one's own may be resumed, by the versions that wrote them. The file is replaced as a
whole, and a hash finds accidents.
"""

from __future__ import annotations

import io
import pickle
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from river_extra_trees import persistence
from river_extra_trees._estimator.learner import TreeLearner
from river_extra_trees.cli import UserError
from river_extra_trees.cli.race import Race
from river_extra_trees.persistence.atomic import open_regular, replace_file
from river_extra_trees.persistence.container import DamagedError, pack, unpack

MAGIC = b"\x93RXRACE\n"
VERSION = 1
PACKAGES = ("river-extra-trees", "river", "numpy", "scipy")  # of whose objects there are pickles

Plan = dict[str, Any]


class Pickler(pickle.Pickler):
    """A pickler that leaves the models of this package aside, as model files."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.models: dict[int, bytes] = {}
        self.numbers: dict[int, int] = {}

    def persistent_id(self, value: object) -> int | None:
        """The number of the model file of a model; None for everything else."""
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
    """Raise a UserError unless a pickle holds what a model file does not, such as its labels."""
    try:
        pickle.loads(pickle.dumps(model))
    except Exception as error:  # labels of any origin may raise anything
        name = type(model).__name__
        raise UserError(f"no checkpoint can hold this {name}: {error}") from error


class Unpickler(pickle.Unpickler):
    """The way back."""

    def __init__(self, file: io.BytesIO, models: list[bytes]) -> None:
        super().__init__(file)
        self.models = [persistence.load_bytes(content) for content in models]

    def persistent_load(self, number: Any) -> Any:
        """The model of a model file."""
        return self.models[number]


def save(path: Path, race: Race, plan: Plan) -> None:
    """Write a checkpoint.

    Parameters
    ----------
    path
        Where to.
    race
        A race between two items.
    plan
        What was typed to start it, as far as it decides the results.
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
    """The versions of Python and of the packages whose objects a checkpoint holds."""
    return {"Python": platform.python_version()} | {name: version_of(name) for name in PACKAGES}


def version_of(package: str) -> str:
    """The version of a package; of one that runs from its sources, that it does."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def is_checkpoint(path: Path) -> bool:
    """Whether a file begins as a checkpoint does."""
    with open_regular(path) as file:
        return file.read(len(MAGIC)) == MAGIC


def read(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The description of a checkpoint and its contents; nothing of it is run.

    Raises
    ------
    UserError
        If it cannot be read, is damaged, or is not what `save` writes.
    """
    try:
        with open_regular(path) as file:
            content = file.read()
        _, document, arrays = unpack(content, MAGIC, range(1, VERSION + 1))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except DamagedError as error:
        raise UserError(f"{path} is not a valid checkpoint: {error}") from error
    if not is_description(document) or set(arrays) != {"race", *parts_of(document)}:
        raise UserError(f"{path} is not a valid checkpoint: it is not what a race has written")
    return document, {name: array.tobytes() for name, array in arrays.items()}


def is_description(document: Any) -> bool:
    """Whether a description has the fields of one, and each what it should have."""
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
    """The names of the contents that are model files."""
    return [f"model {i}" for i in range(len(document["models"]))]


def models(path: Path) -> dict[str, bytes]:
    """The model files in a checkpoint, by the names of the learners."""
    document, contents = read(path)
    parts = (contents[part] for part in parts_of(document))
    return dict(zip(document["models"], parts, strict=True))


def resume(path: Path, plan: Plan) -> Race:
    """Go on with a race.

    Raises
    ------
    UserError
        If the file is no checkpoint, or one of another race or of other versions.
    """
    document, contents = read(path)
    for name, value in plan.items():
        if (kept := document["plan"].get(name)) != value:
            raise UserError(f"{path} is of a race with another {name}: {kept!r}, not {value!r}")
    if document["packages"] != versions():
        raise UserError(f"{path} was written by {document['packages']}, not {versions()}")
    parts = [contents[part] for part in parts_of(document)]
    race: Race = Unpickler(io.BytesIO(contents["race"]), parts).load()
    for entrant in race.entrants:
        entrant.next_look = 0.0  # the clock of the process that wrote it
    return race
