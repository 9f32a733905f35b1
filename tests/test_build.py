"""The build: nothing stale is ever imported, and what is missing is named in one sentence."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import Cython
import pytest

ROOT = Path(__file__).parents[1]
CORE = Path("river_extra_trees/_core")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the commands are for POSIX shells")


class Checkout:
    """A source tree with a small core of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / CORE).mkdir(parents=True)
        # It does not optimise, which would take most of the time: the last option wins.
        self.compiler = folder / "cc"
        self.compiler.write_text(f'#!/bin/sh\nexec {os.environ.get("CC", "cc")} "$@" -O0 -g0\n')
        self.compiler.chmod(0o755)
        for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, folder / name)
        for name in ("river_extra_trees/__init__.py", CORE / "__init__.py", CORE / "__init__.pxd"):
            (folder / name).touch()
        self.write("shared.pxd", "cdef inline int offset() noexcept nogil:\n    return 10\n")
        self.write(
            "answer.pyx",
            "from libc.math cimport sqrt\n"
            "from river_extra_trees._core.shared cimport offset\n"
            "def answer():\n    return <int>sqrt(1.0) + offset()\n"
            "def item(list values, int i):\n    return values[i]\n",
        )

    def write(self, name: str, text: str) -> None:
        (self.folder / CORE / name).write_text(text)

    def build(self, mode: str = "release") -> None:
        command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
        env = {**os.environ, "RIVER_EXTRA_TREES_BUILD": mode, "CC": str(self.compiler)}
        subprocess.run(command, cwd=self.folder, env=env, check=True, capture_output=True)

    def evaluate(self, expression: str) -> str:
        program = f"from river_extra_trees._core.answer import *; print({expression})"
        command = [sys.executable, "-c", program]
        env = {**os.environ, "PYTHONPATH": str(self.folder)}
        done = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True)
        return done.stdout.strip() or done.stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A tree that is built."""
    tree = Checkout(tmp_path_factory.mktemp("checkout") / "tree")
    tree.build()
    return tree


@pytest.mark.slow
def test_no_stale_build(tree: Checkout) -> None:
    """Editing a .pyx or .pxd file, removing one, or changing the mode changes what is imported."""
    assert tree.evaluate("answer()") == "11"
    path = tree.folder / CORE / "answer.pyx"
    tree.write("answer.pyx", path.read_text().replace("sqrt(1.0)", "sqrt(4.0)"))
    tree.build()
    assert tree.evaluate("answer()") == "12"
    tree.write("shared.pxd", "cdef inline int offset() noexcept nogil:\n    return 20\n")
    tree.build()
    assert tree.evaluate("answer()") == "22"
    tree.build("checked")
    assert tree.evaluate("item([1.0], 1)").startswith("IndexError")
    path.rename(path.with_name("other.pyx"))
    tree.build()
    assert not list(path.parent.glob("answer.*"))
    assert (tree.folder / "build" / "in_place").read_text().startswith("release")


@pytest.mark.slow
def test_a_wheel_leaves_the_build_in_place_alone(tree: Checkout, tmp_path: Path) -> None:
    """After `pip install .`, whose own Cython generates all C again, nothing is compiled."""
    newer = tmp_path / "newer"
    shutil.copytree(Path(Cython.__file__).parent, newer / "Cython", copy_function=shutil.copyfile)
    built = {path: path.stat().st_mtime_ns for path in (tree.folder / "build").rglob("*.so")}
    assert built
    command = [sys.executable, "setup.py", "--quiet", "build", "--build-lib", "wheel"]
    env = {**os.environ, "CC": str(tree.compiler), "PYTHONPATH": str(newer)}
    subprocess.run(command, cwd=tree.folder, env=env, check=True, capture_output=True)
    tree.build()
    assert {path: path.stat().st_mtime_ns for path in built} == built


def test_unknown_mode(tmp_path: Path) -> None:
    """A misspelt mode is refused, not built as something else."""
    with pytest.raises(subprocess.CalledProcessError) as error:
        Checkout(tmp_path / "tree").build("chekced")
    assert b"checked" in error.value.stderr


# --- What the machine must have


def command(folder: Path, text: str) -> str:
    """Make a command of a few lines of shell."""
    path = folder / "command"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


EXECUTE = f'exec {sys.executable} "$@"'
# What is missing: the Python, the C compiler, and words of the sentence that names it. A text with
# a space is a script.
MISSING = {
    "Python": ("python-that-is-not-there", "cc", "python-that-is-not-there"),
    "a new Python": ("exit 1", "cc", "older than Python 3.11"),
    "a compiler": (sys.executable, "no-such-cc", r"no C compiler \(no-such-cc\)"),
    "headers of C": (sys.executable, "exit 1", "library headers"),
    "venv": (f'case "$*" in *ensurepip*) exit 1;; esac; {EXECUTE}', "cc", "venv module"),
    "headers of Python": (
        f'case "$*" in *include*) echo /nowhere;; *) {EXECUTE};; esac', "cc", "Python.h.*/nowhere"
    ),
}  # fmt: skip


def require(python: str, compiler: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "tools" / "require.sh", python],
        env={**os.environ, "CC": compiler},
        capture_output=True,
        text=True,
    )


def test_complete_machine() -> None:
    """On a machine that has everything nothing is said."""
    done = require(sys.executable, "cc")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("what", MISSING)
def test_what_is_missing_is_named(tmp_path: Path, what: str) -> None:
    """In one sentence."""
    python, compiler, words = MISSING[what]
    done = require(
        *(command(tmp_path, each) if " " in each else each for each in (python, compiler))
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert re.search(words, done.stderr)
