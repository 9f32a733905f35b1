"""The build: nothing stale is ever imported, and what is missing is named in one sentence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
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
            "from river_extra_trees._core.shared cimport offset\n"
            "def answer():\n    return offset() + 1\n"
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


@pytest.mark.slow
def test_no_stale_build(tmp_path: Path) -> None:
    """Editing a .pyx or .pxd file, removing one, or changing the mode changes what is imported."""
    tree = Checkout(tmp_path / "tree")
    tree.build()
    assert tree.evaluate("answer()") == "11"
    path = tmp_path / "tree" / CORE / "answer.pyx"
    tree.write("answer.pyx", path.read_text().replace("+ 1", "+ 2"))
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
    assert (tmp_path / "tree" / "build" / "in_place").read_text().startswith("release")


@pytest.mark.slow
def test_a_wheel_leaves_the_build_in_place_alone(tmp_path: Path) -> None:
    """After `pip install .`, whose own Cython generates all C again, nothing is compiled."""
    tree = Checkout(tmp_path / "tree")
    tree.write("root.pyx", "from libc.math cimport sqrt\ndef root(x):\n    return sqrt(x)\n")
    tree.build()
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


COUNT_REFERENCES = """
import sys, _testcapi
from river_extra_trees._core.answer import called
kept = object()
def give(i):
    return kept
before = sys.getrefcount(kept)
for k in range(100):
    _testcapi.set_nomemory(k, k + 1)
    try:
        called(give, 40)
    except MemoryError:
        pass
    finally:
        _testcapi.remove_mem_hooks()
print(sys.getrefcount(kept) - before)
"""


@pytest.mark.slow
def test_list_comprehensions_without_memory(tmp_path: Path) -> None:
    """A comprehension that finds no memory for its list gives its item back once, not twice."""
    pytest.importorskip("_testcapi", reason="this Python was built without its tests")
    tree = Checkout(tmp_path / "tree")
    tree.write("answer.pyx", "def called(give, int n):\n    return [give(i) for i in range(n)]\n")
    tree.build()
    command = [sys.executable, "-c", COUNT_REFERENCES]
    env = {**os.environ, "PYTHONPATH": str(tree.folder)}
    done = subprocess.run(command, cwd=tree.folder, env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


# --- What the machine must have


@pytest.fixture
def command(tmp_path: Path) -> Callable[[str], Path]:
    """Make a command of a few lines of shell."""

    def make(text: str) -> Path:
        path = tmp_path / f"command{len(list(tmp_path.iterdir()))}"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    return make


def require(python: object, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "tools" / "require.sh", str(python)],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
    )


def assert_one_sentence(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


def test_complete_machine() -> None:
    """On a machine that has everything nothing is said."""
    done = require(sys.executable)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_missing_python() -> None:
    """A missing Python is named."""
    assert_one_sentence(require("python-that-is-not-there"), "python-that-is-not-there")


def test_old_python(command: Callable[[str], Path]) -> None:
    """A Python that is too old is named, with the way to name another."""
    assert_one_sentence(require(command("exit 1")), "older than Python 3.11", "make PYTHON=")


def test_missing_compiler() -> None:
    """A missing compiler is named, with what to install."""
    assert_one_sentence(require(sys.executable, CC="no-such-cc"), "no C compiler (no-such-cc)")


def test_missing_library_headers(command: Callable[[str], Path]) -> None:
    """A compiler that finds no headers of the C library is named."""
    assert_one_sentence(require(sys.executable, CC=str(command("exit 1"))), "library headers")


def test_missing_venv(command: Callable[[str], Path]) -> None:
    """A Python without the venv module is named."""
    python = command(f'case "$*" in *ensurepip*) exit 1;; esac; exec {sys.executable} "$@"')
    assert_one_sentence(require(python, CC="cc"), "venv module")


def test_missing_python_headers(command: Callable[[str], Path]) -> None:
    """A Python without its C headers is named, and where they should be."""
    python = command(
        f'case "$*" in *include*) echo /nowhere;; *) exec {sys.executable} "$@";; esac'
    )
    assert_one_sentence(require(python, CC="cc"), "Python.h", "/nowhere")
