"""What an import of the package brings along: little, and nothing that only some users need."""

from __future__ import annotations

import importlib.metadata
import inspect
import subprocess
import sys

import pytest

import river_extra_trees
from tests.tools.estimators import CLASSES

# Optional packages; what only distributions, frames, files and pictures need; river's collections.
FORBIDDEN = (
    *("matplotlib", "narwhals", "pandas", "polars", "pyarrow", "ray", "rich", "typer"),
    *("safetensors", "scipy", "river.proba", "river.utils", "river.stats", "river.metrics"),
    *("river_extra_trees.cli", "river_extra_trees.distributed", "river_extra_trees.plotting"),
    "river_extra_trees.persistence",
)
MOST_MODULES = 400  # 330 when this was written; 1,400 with scipy.stats


def imported_by(statement: str) -> list[str]:
    """The modules of a new process after a statement."""
    command = f"{statement}; import sys; print(*sys.modules)"
    path = ":".join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-c", command],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()


def test_import_is_light() -> None:
    """No module is imported before it is used."""
    modules = imported_by("import river_extra_trees")
    assert [name for name in FORBIDDEN if name in modules] == []
    assert len(modules) < MOST_MODULES


def test_optional_packages_are_optional() -> None:
    """The subpackages can be imported without the extras."""
    modules = imported_by(
        "import river_extra_trees.distributed, river_extra_trees.plotting,"
        " river_extra_trees.persistence, river_extra_trees.active"
    )
    assert {"matplotlib", "ray", "typer"}.isdisjoint(modules)


@pytest.mark.parametrize("name", CLASSES)
def test_ancestors_are_few(name: str) -> None:
    """A learner has at most five ancestors in this package, and none in the distribution layer."""
    ours = [
        kind
        for kind in inspect.getmro(CLASSES[name])[1:]
        if kind.__module__.startswith("river_extra_trees")
    ]
    assert len(ours) <= 5
    assert not any("distributed" in kind.__module__ for kind in ours)


def test_version() -> None:
    """It is that of the installed package, or says that there is none."""
    try:
        expected = importlib.metadata.version("river-extra-trees")
    except importlib.metadata.PackageNotFoundError:
        expected = "0+unknown"
    assert river_extra_trees.__version__ == expected
