"""Instructions per sample of each learner, to predict and to learn it, in thousands.

Callgrind counts the instructions of a process, so other processes do not change the result.
`--against` names another source tree, built in place. Both trees then learn the same samples.

    python -m examples.benchmarks.costs instructions
    python -m examples.benchmarks.costs instructions --against ../before ExtraTreesClassifier

`--ways loop late` shows what late labels cost: the same samples, each learned after 100 others were
predicted and learned, so that each label looks for its question.

    python -m examples.benchmarks.costs instructions --ways loop late -- ExtraTreesClassifier

`--guard` counts a learner of each family on a made stream, and fails if one takes more than 5 %
more than in the other tree. Counts depend on Python and on the compiler, so both are built and run
on one machine: `make speed` builds an earlier revision and calls this.

    python -m examples.benchmarks.costs instructions --guard --against ../before
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import river_extra_trees
from examples.benchmarks.common import streams, tables
from river_extra_trees.cli import UserError

HERE = Path(__file__).parents[3]
STREAMS: dict[streams.Task, list[str]] = {
    "classification": ["covtype", "elec"],
    "regression": ["abalone"],
}
WAYS = ("loop", "frames", "late")
MOST = 1.05  # of the instructions of the other tree
GUARDED = [
    *("ExtraTreesClassifier", "ExtraTreesRegressor", "StreamDecisionForestClassifier"),
    *("ForgetfulRandomForestRegressor", "ShrubEnsembleClassifier", "DynamicTreeRegressor"),
]
MADE = 600  # samples of the made stream


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("learners", nargs="*", help="all if none is named")
    parser.add_argument("--against", type=Path, help="folder of another source tree")
    parser.add_argument("--streams", nargs="+", help="instead of those of the task")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS[:2])
    parser.add_argument("--samples", type=int, default=1000, help="half of them are counted")
    parser.add_argument("--guard", action="store_true", help="fail if one takes 5 %% more")


def other_tree(folder: Path) -> Path:
    """Return the folder of a source tree that is compared with this one."""
    # Without the package there, Python would import that of this tree.
    if not (folder / "river_extra_trees" / "__init__.py").exists():
        raise UserError(f"{folder} is not a source tree of river_extra_trees")
    return folder.resolve()


def settled(tree: Path) -> dict[str, str]:
    """Return the environment in which a source tree is measured."""
    fixed = {"PYTHONPATH": str(tree), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    return os.environ | fixed


def made(task: streams.Task) -> list[Any]:
    """Return a stream that is the same everywhere: numbers, a nominal value, gaps, noise."""
    rng = random.Random(1)
    rows: list[Any] = []
    for _ in range(MADE):
        x: dict[str, Any] = {f"x{i}": rng.random() for i in range(8)}
        x["color"] = rng.choice(["red", "green", "blue"])
        score = 2.0 * x["x0"] - x["x1"] * (x["color"] == "red") + 0.3 * rng.random()
        if rng.random() < 0.1:
            del x["x2"]
        rows.append((x, score if task == "regression" else f"level {int(2 * score)}"))
    return rows


def check_guarded(options: argparse.Namespace) -> int:
    """Count the learners of the guard in both trees; return how many take too much."""
    lines, n_slow = [], 0
    for name in options.learners or GUARDED:
        task: streams.Task = "classification" if name.endswith("Classifier") else "regression"
        for way in options.ways:
            now, before = (
                instructions(tree, name, way, made(task)) / 1e3
                for tree in (HERE, options.against.resolve())
            )
            n_slow += now > MOST * before
            lines.append([name, way, f"{now:,.1f}", f"{before:,.1f}", f"{now / before:.3f}"])
    tables.show(["learner", "way", "thousands", "before", "ratio"], lines)
    return n_slow


class Counted(NamedTuple):
    """What callgrind found."""

    text: str  # its file
    n: int  # number of samples
    n_trees: int


def counted(tree: Path, name: str, way: str, rows: list[Any]) -> Counted:
    """Count the instructions of a learner with the package of a source tree."""
    with tempfile.TemporaryDirectory() as folder:
        job, found = Path(folder, "job"), Path(folder, "found")
        job.write_bytes(pickle.dumps((name, way, rows)))
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--quiet"]
        command += [f"--callgrind-out-file={found}", sys.executable]
        command += [str(Path(__file__).with_name("counted.py")), str(job)]
        done = subprocess.run(command, cwd=tree, env=settled(tree), capture_output=True, text=True)
        if done.returncode:
            raise UserError(f"{name} with {tree} failed: {done.stderr[-1000:]}")
        return Counted(found.read_text(), len(rows) - len(rows) // 2, int(done.stdout))


def instructions(tree: Path, name: str, way: str, rows: list[Any]) -> float:
    """Return the instructions per sample, with the package of a source tree."""
    found = counted(tree, name, way, rows)
    return int(re.findall(r"^totals: (\d+)", found.text, re.M)[0]) / found.n


def run(options: argparse.Namespace) -> int:
    """Print a line for each learner, stream and way; return how many the guard refuses."""
    if shutil.which("valgrind") is None:
        raise UserError("valgrind is not installed; run: sudo apt-get install valgrind")
    trees = [HERE, *([other_tree(options.against)] if options.against else [])]
    if options.guard and not options.against:
        raise UserError("--guard needs another tree; name it with --against, or run: make speed")
    if options.guard:
        return check_guarded(options)
    heads = ["learner", "stream", "way", "thousands", *(["before", "ratio"] if trees[1:] else [])]
    lines = []
    learners = [name for name in river_extra_trees.__all__ if name.endswith(("ifier", "ressor"))]
    for name in options.learners or learners:
        task: streams.Task = "classification" if name.endswith("Classifier") else "regression"
        for stream in options.streams or STREAMS[task]:
            rows = streams.load(stream, task, options.samples)
            for way in options.ways:
                counts = [instructions(tree, name, way, rows) / 1e3 for tree in trees]
                cells = [f"{count:,.1f}" for count in counts]
                if trees[1:]:
                    cells.append(f"{counts[0] / counts[1]:.3f}")
                lines.append([name, stream, way, *cells])
    tables.show(heads, lines)
    return 0
