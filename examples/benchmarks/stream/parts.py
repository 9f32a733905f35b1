"""The extra trees without a part that no parameter switches off.

    python -m examples.benchmarks.stream.parts                      the classifier
    python -m examples.benchmarks.stream.parts --task regression

`parts.toml` says what is replaced in the source for each variant. The package is copied to
build/parts, changed and compiled there, and run on the streams of `ablation`, which shows the
results.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from examples.benchmarks.common import results, streams

REPOSITORY = Path(__file__).parents[3]
PACKAGE = "river_extra_trees"
COPY = REPOSITORY / "build" / "parts"
PARTS: list[dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["part"]


def refresh() -> None:
    """Copy what a build and a run need; compiled modules keep their time stamps."""
    shutil.rmtree(COPY, ignore_errors=True)
    made = shutil.ignore_patterns("__pycache__", "*.ipynb")
    for name in (PACKAGE, "examples"):
        shutil.copytree(REPOSITORY / name, COPY / name, ignore=made)
    for name in ("setup.py", "pyproject.toml", "README.md"):
        shutil.copy2(REPOSITORY / name, COPY)


def without(part: dict[str, str]) -> Path:
    """Replace what the part consists of, compile, and return the file that was changed."""
    path = COPY / PACKAGE / part["path"]
    text = path.read_text(encoding="utf-8")
    if text.count(part["before"]) != 1:
        raise SystemExit(f"{part['path']} does not have the text of {part['variant']!r} once")
    path.write_text(text.replace(part["before"], part["after"]), encoding="utf-8")
    build()
    return path


def build() -> None:
    """Compile what has changed in the copy."""
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=COPY, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)


def measure(part: dict[str, str], options: Any) -> None:
    """Run the changed forest over the streams of the ablation, under the variant's name."""
    command = [sys.executable, "-m", "examples.benchmarks.stream.ablation", "--task", options.task]
    command += ["--variant", part["variant"], "--results", str(options.results.resolve())]
    command += ["--limit", str(options.limit)]
    command += ["--streams", *options.streams] if options.streams else []
    subprocess.run(command, cwd=COPY, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=results.OWN / "ablation.csv")
    parser.add_argument("--task", choices=streams.SEEN, default="classification")
    parser.add_argument("--streams", nargs="+", help="by default all of the ablation")
    parser.add_argument("--limit", type=int, default=5_000, help="samples per stream")
    parser.add_argument("--variants", nargs="+", help="by default all")
    options = parser.parse_args()
    refresh()
    for part in PARTS:
        if part["task"] != options.task:
            continue
        if options.variants and part["variant"] not in options.variants:
            continue
        changed = without(part)
        measure(part, options)
        shutil.copy2(REPOSITORY / changed.relative_to(COPY), changed)
        changed.touch()  # newer than what was compiled


if __name__ == "__main__":
    main()
