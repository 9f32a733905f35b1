"""What an import of the package brings along: little, and nothing that only some users need."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import river_extra_trees
from river_extra_trees import persistence

# Optional packages; what only distributions, frames, files and pictures need; river's collections.
FORBIDDEN = (
    *("matplotlib", "narwhals", "pandas", "polars", "pyarrow", "ray", "rich", "typer"),
    *("safetensors", "scipy", "river.proba", "river.utils", "river.stats", "river.metrics"),
    *("river_extra_trees.cli", "river_extra_trees.distributed", "river_extra_trees.plotting"),
    *("river_extra_trees.persistence", "river_extra_trees.serving"),
)
MOST_MODULES = 400  # 330 when this was written; 1,400 with scipy.stats


def imported_by(statement: str) -> list[str]:
    """The modules of a new process after a statement."""
    command = f"{statement}; import sys; print(*sys.modules)"
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-c", command],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()


def test_import_is_light() -> None:
    """No module is imported before it is used."""
    modules = imported_by("import river_extra_trees")
    assert [name for name in FORBIDDEN if name in modules] == []
    assert len(modules) < MOST_MODULES


@pytest.mark.slow
def test_submodules_are_attributes() -> None:
    """Each is imported when it is first used; completion offers them and nothing that is ours."""
    rooms = ("active", "cli", "keyed", "persistence", "plotting", "serving", "streams")
    used = "; ".join(f"ret.{room}.__name__" for room in rooms)
    modules = imported_by(f"import river_extra_trees as ret; {used}")
    assert {f"river_extra_trees.{room}" for room in rooms} <= set(modules)
    offered = dir(river_extra_trees)
    assert set(river_extra_trees.__all__) < set(offered)
    assert {"plotting", "keyed", "__version__"} < set(offered)
    assert not {"annotations", "metadata", "util", "importlib", "dynamic_learner"} & set(offered)
    with pytest.raises(AttributeError, match="has no attribute 'plotted'"):
        river_extra_trees.plotted  # noqa: B018


@pytest.mark.parametrize(
    "model",
    [
        "ForgetfulRandomForestClassifier(n_models=2, batch_size=10)",
        "ExtraTreesRegressor(n_models=4)",
        "ShrubEnsembleClassifier(n_models=4)",
        "DynamicTreeClassifier(n_particles=10)",
    ],
)
@pytest.mark.slow
def test_a_stream_imports_nothing(model: str) -> None:
    """What a learner needs is there once it is made: no item of the stream waits for an import."""
    program = (
        f"import sys, river_extra_trees as ret; model = ret.{model}; before = set(sys.modules)\n"
        "for i in range(60):\n"
        "    model.predict_one({'a': i % 7}); model.learn_one({'a': i % 7}, i % 7 > i % 5)\n"
        "[sys.modules.pop(name) for name in before]"
    )
    assert set(imported_by(program)) <= {"sys"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "--help"],
        ["predict", "old.model", "table.csv", "--output", "answers.csv"],
    ],
    ids=" ".join,
)
@pytest.mark.slow
def test_commands_start_fast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    """What does not race waits neither for river's metrics and data sets nor for pictures."""
    monkeypatch.chdir(tmp_path)
    model = river_extra_trees.StreamDecisionTreeClassifier(seed=1)
    model.learn_one({"a": 1}, "x")
    persistence.save(model, tmp_path / "old.model")
    (tmp_path / "table.csv").write_text("a\n1\n2\n")
    modules = imported_by(
        "import contextlib, io; from river_extra_trees.cli.app import app\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    app({arguments!r}, standalone_mode=False)\n"
        "pass"
    )
    slow = {"river.metrics", "river.datasets", "river.stream", "river.proba", "river.evaluate"}
    assert slow.isdisjoint(modules)
    assert {"matplotlib", "scipy.stats", "sklearn"}.isdisjoint(modules)
    if arguments[0] != "predict":  # which reads a table with pyarrow, and pyarrow imports pandas
        assert {"pandas", "pyarrow"}.isdisjoint(modules)
    assert ("answers.csv" in arguments) == (tmp_path / "answers.csv").exists()


def test_tree_that_is_not_compiled(tmp_path: Path) -> None:
    """It says what to do, also where it stands before an installed package."""
    package = Path(river_extra_trees.__file__).parent
    for name in ("__init__.py", "_core/__init__.py"):
        path = tmp_path / "river_extra_trees" / name
        path.parent.mkdir(exist_ok=True)
        shutil.copy(package / name, path)
    command = [sys.executable, "-c", "import river_extra_trees"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "is a source tree that is not compiled for this Python" in done.stderr
    assert "make build" in done.stderr
