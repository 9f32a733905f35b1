"""Check what the linters do not: generated C, mutants, workflows, and the paths that texts name.

Usage: tools/lint.py        # after `make build`; `make lint` does both

Each line that is printed is a finding. The exit status is 1 if there is one.
"""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Of a chained comparison of objects, `a < b < c`, Cython 3.2 releases the result of the first part
# and keeps the pointer (`generate_evaluation_code` of `CascadedCmpNode`). If the second part
# raises, the result is released again; a few such exceptions free True or numpy.True_. No issue of
# Cython records it (searched in November 2026). Write `a < b and b < c`, or compare C numbers.
RELEASED_TWICE = re.compile(
    r"if \(__Pyx_PyObject_IsTrue\((__pyx_t_\d+)\)\) \{\s*__Pyx_DECREF\(\1\);(?! \1 = 0;)"
)
SOURCE_LINE = re.compile(r'/\* "([^"]+)":(\d+)')


def chained_comparisons(root: Path) -> Iterator[str]:
    """Yield the lines of Cython whose C releases an object twice."""
    folder = root / "build" / (root / "build" / "in_place").read_text() / "cython"
    paths = sorted(folder.rglob("*.c"))
    if not paths:
        yield f"{folder}: there is no C; run make build"
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for found in RELEASED_TWICE.finditer(text):
            file, line = SOURCE_LINE.findall(text, 0, found.start())[-1]
            yield f"{file}:{line}: a chained comparison of objects: C may release its result twice"


def mutants(root: Path) -> Iterator[str]:
    """Yield mutants that cannot be planted, that share a name, or whose tests do not exist."""
    mutants = tomllib.loads((root / "tools" / "mutants.toml").read_text(encoding="utf-8"))
    tool = runpy.run_path(str(root / "tools" / "mutants.py"))
    texts = {path: path.read_text(encoding="utf-8") for path in tool["sources"](root)}
    for name, n in Counter(each["name"] for each in mutants["mutant"]).items():
        if n > 1:
            yield f"mutant {name}: {n} have this name"
    for each in mutants["mutant"]:
        place, why = tool["place_of"](each, texts)
        if place is None:
            yield f"mutant {each['name']}: {why}"
        for test in each.get("tests") or mutants["tests"][each["family"]]:
            if not list((root / "tests").rglob(test)):
                yield f"mutant {each['name']}: there is no {test}"


ACTION = re.compile(r"uses: *(.*)")
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def workflows(root: Path) -> Iterator[str]:
    """Yield actions that no commit names, rights that are too many, and what actionlint finds."""
    for path in sorted((root / ".github" / "workflows").glob("*.yml")):
        text = path.read_text(encoding="utf-8")
        for action in ACTION.findall(text):
            if not PINNED.fullmatch(action):
                yield f"{path.name}: {action}: name its commit, and the version in a comment"
        if "\npermissions:\n  contents: read\n\n" not in text:
            yield f"{path.name}: the rights of the workflow must be to read contents"
    checker = shutil.which("actionlint")  # CI installs it
    if checker is not None:
        done = subprocess.run([checker], cwd=root, capture_output=True, text=True)
        yield from done.stdout.splitlines()


PATH = re.compile(r"`((?:docs|examples|river_extra_trees|tests|tools)/[\w./-]*)`")
MODULE = re.compile(r"python -m ((?:examples|tests)[\w.]*)")


def paths_in_texts(root: Path) -> Iterator[str]:
    """Yield files and modules that texts name and the repository does not have."""
    for text in (
        *(root / "README.md", root / "CONTRIBUTING.md"),
        *(root / "docs").rglob("*.md"),
        *(root / "examples").rglob("*.md"),
        *(root / "examples").rglob("*.py"),
        *(root / "river_extra_trees").rglob("*.py"),
    ):
        content = text.read_text(encoding="utf-8")
        named = [root / path for path in PATH.findall(content)]
        for module in MODULE.findall(content):
            path = root.joinpath(*module.split("."))
            named.append(path / "__main__.py" if path.is_dir() else path.with_suffix(".py"))
        for path in named:
            if not path.exists():
                yield f"{text.relative_to(root)}: there is no {path.relative_to(root)}"


def main() -> None:
    """Print all findings."""
    checks = (chained_comparisons, mutants, workflows, paths_in_texts)
    findings = [finding for check in checks for finding in check(ROOT)]
    print(*findings, sep="\n", end="\n" if findings else "")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
