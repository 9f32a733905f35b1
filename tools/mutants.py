"""Plant small faults in the package, one at a time, and see whether a test fails.

Usage: tools/mutants.py [--root FOLDER] [--json FILE] [NAME ...]

The faults are in tools/mutants.toml. A mutant that no test kills is a gap in the tests, or makes no
difference. The tree at `--root` is copied and built in build/mutants, so nothing in it changes; a
mutant compiles only the modules that it changes. The whole list takes about an hour; a NAME takes
the mutants whose names contain it. The exit status is 1 if a mutant survives that is not expected
to, or cannot be planted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
WORK = REPOSITORY / "build" / "mutants"
PACKAGE = "river_extra_trees"
# Neither copied nor deleted: what is made in a tree, and what is none of its business.
MADE = re.compile(r"\..*|__pycache__|build|demo|.*\.so")
SECONDS = 600  # a fault may make a loop endless

Mutant = dict[str, Any]


def sources(root: Path) -> Iterator[Path]:
    """Yield the files in which faults are planted."""
    for suffix in ("py", "pxd", "pyx", "h"):
        yield from sorted((root / PACKAGE).rglob(f"*.{suffix}"))


def place_of(mutant: Mutant, texts: dict[Path, str]) -> tuple[Path | None, str]:
    """Return the one file with the text that a mutant replaces; otherwise None and the reason."""
    places = [path for path, text in texts.items() if mutant["before"] in text]
    count = sum(text.count(mutant["before"]) for text in texts.values())
    if count != 1:
        return None, f"its text occurs {count} times"
    return places[0], ""


def mirror(source: Path, target: Path, left_alone: re.Pattern[str]) -> None:
    """Make a folder equal to another one, copying only what differs in time or size."""
    target.mkdir(parents=True, exist_ok=True)
    wanted = {entry.name: entry for entry in entries(source, left_alone)}
    for entry in entries(target, left_alone):
        if entry.name not in wanted or wanted[entry.name].is_dir() != entry.is_dir():
            shutil.rmtree(entry.path) if entry.is_dir() else os.unlink(entry.path)
    for name, entry in wanted.items():
        copy = target / name
        if entry.is_dir():
            mirror(Path(entry.path), copy, left_alone)
        elif not copy.exists() or not same(entry.stat(), copy.stat()):
            copy.unlink(missing_ok=True)  # a library in use keeps its file
            shutil.copy2(entry.path, copy)


def entries(folder: Path, left_alone: re.Pattern[str]) -> list[os.DirEntry[str]]:
    """Return what is in a folder, but for what is left alone."""
    return [entry for entry in os.scandir(folder) if not left_alone.fullmatch(entry.name)]


def same(a: os.stat_result, b: os.stat_result) -> bool:
    """Tell whether two files look alike without reading them."""
    return (a.st_mtime_ns, a.st_size) == (b.st_mtime_ns, b.st_size)


def compiler() -> Path:
    """Write a compiler that optimises little: the last of its options wins."""
    script = WORK / "cc"
    script.write_text(f'#!/bin/sh\nexec {os.environ.get("CC", "cc")} "$@" -O1 -g0 -w\n')
    script.chmod(0o755)
    return script


def plugin() -> str:
    """Write a plugin that has Hypothesis report the first failure it finds; return its name."""
    (WORK / "first_failure.py").write_text(
        "from hypothesis import HealthCheck, Phase, settings\n"
        "settings.register_profile('first_failure', deadline=None, derandomize=True,\n"
        "    suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])\n"
    )
    return "first_failure"


def build(tree: Path) -> subprocess.CompletedProcess[str]:
    """Compile what has changed in a tree."""
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    environment = {**os.environ, "CC": str(compiler())}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)


def test(tree: Path, names: list[str], seconds: int | None) -> tuple[str, str]:
    """Run test files until a test fails; return the result and the test that failed."""
    files = [path for name in names for path in sorted((tree / "tests").rglob(name))]
    if len(files) < len(names):
        return "error", f"one of {', '.join(names)} is not below tests/"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    command += ["-p", plugin(), f"--hypothesis-profile={plugin()}"]
    command += [str(path.relative_to(tree)) for path in files]
    environment = {**os.environ, "PYTHONPATH": str(WORK)}
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return "killed", f"more than {seconds} seconds"
    if done.returncode == 0:
        return "survived", ""
    if done.returncode > 2:  # of pytest's own: wrong use, nothing collected
        return "error", (done.stdout + done.stderr)[-500:]
    if done.returncode < 0:
        return "killed", f"signal {-done.returncode}"
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return "killed", found[1] if found else "the tests could not be collected"


def prepare(root: Path, clean: Path, tests: list[str]) -> None:
    """Copy a tree, compile what has changed since the last run, and see that the tests pass."""
    mirror(root, clean, MADE)
    built = build(clean)
    if built.returncode != 0:
        raise SystemExit(built.stderr)
    result, why = test(clean, tests, None)
    if result != "survived":
        raise SystemExit(f"Without a mutant the tests fail: {why}")


def run(mutant: Mutant, tests: list[str], texts: dict[Path, str]) -> tuple[str, str]:
    """Plant a mutant in a clean tree, compile it and test it; return what came of it, and why."""
    path, reason = place_of(mutant, texts)
    if path is None:
        return "not planted", reason
    clean, tree = WORK / "clean", WORK / "tree"
    mirror(clean, tree, re.compile(""))
    fault = texts[path].replace(mutant["before"], mutant["after"])
    (tree / path.relative_to(clean)).write_text(fault, encoding="utf-8")
    built = build(tree)
    if built.returncode != 0:
        return "not planted", "it does not compile: " + built.stderr[-500:]
    return test(tree, tests, SECONDS)


def main() -> int:
    """Run the mutants and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of names; all mutants without any")
    parser.add_argument("--root", type=Path, default=REPOSITORY, help="tree to plant them in")
    parser.add_argument("--json", type=Path, help="file for the results")
    parser.add_argument("--check", action="store_true", help="only check that all can be planted")
    arguments = parser.parse_args()
    listed = tomllib.loads((REPOSITORY / "tools" / "mutants.toml").read_text(encoding="utf-8"))
    mutants = [
        mutant
        for mutant in listed["mutant"]
        if not arguments.names or any(name in mutant["name"] for name in arguments.names)
    ]
    originals = {path: path.read_text(encoding="utf-8") for path in sources(arguments.root)}
    lost = [(mutant["name"], place_of(mutant, originals)[1]) for mutant in mutants]
    lost = [(name, reason) for name, reason in lost if reason]
    for name, reason in lost:
        print(f"not planted  {name}: {reason}")
    if arguments.check:
        return bool(lost)
    clean = WORK / "clean"
    tests = [mutant.get("tests") or listed["tests"][mutant["family"]] for mutant in mutants]
    prepare(arguments.root, clean, sorted({name for names in tests for name in names}))
    texts = {path: path.read_text(encoding="utf-8") for path in sources(clean)}
    results: list[dict[str, Any]] = []
    for mutant, names in zip(mutants, tests, strict=True):
        begun = time.monotonic()
        result, why = run(mutant, names, texts)
        known = "survives" in mutant and result == "survived"
        results.append(
            {
                "name": mutant["name"],
                "result": result,
                "why": why,
                "expected": result == "killed" or known,
                "seconds": round(time.monotonic() - begun, 1),
            }
        )
        print(f"{result:12} {results[-1]['seconds']:6.1f} s  {mutant['name']}  {why}", flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    counts = Counter(each["result"] for each in results)
    print(", ".join(f"{n} {result}" for result, n in counts.most_common()))
    return any(not each["expected"] for each in results)


if __name__ == "__main__":
    raise SystemExit(main())
