"""Instructions per sample of each learner, to predict and to learn it, in thousands.

Callgrind counts the instructions of a process, so other processes do not change the result.
`--against` names another source tree, built in place. Both trees then learn the same samples.

    python -m examples.benchmarks.costs instructions
    python -m examples.benchmarks.costs instructions --against ../before ExtraTreesClassifier
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import river_extra_trees
from examples.benchmarks.common import streams, tables
from river_extra_trees.cli import UserError

HERE = Path(__file__).parents[3]
STREAMS: dict[streams.Task, list[str]] = {
    "classification": ["covtype", "elec"],
    "regression": ["abalone"],
}
WAYS = ("loop", "frames")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    learners = [name for name in river_extra_trees.__all__ if name.endswith(("ifier", "ressor"))]
    parser.add_argument("learners", nargs="*", default=learners)
    parser.add_argument("--against", type=Path, help="folder of another source tree")
    parser.add_argument("--streams", nargs="+", help="instead of those of the task")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--samples", type=int, default=1000, help="half of them are counted")


def instructions(tree: Path, name: str, way: str, rows: list[Any]) -> float:
    """Return the instructions per sample, with the package of a source tree."""
    with tempfile.TemporaryDirectory() as folder:
        job, found = Path(folder, "job"), Path(folder, "found")
        job.write_bytes(pickle.dumps((name, way, rows)))
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--quiet"]
        command += [f"--callgrind-out-file={found}", sys.executable]
        command += [str(Path(__file__).with_name("counted.py")), str(job)]
        settled = {"PYTHONPATH": str(tree), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            command, cwd=tree, env=os.environ | settled, capture_output=True, text=True
        )
        if done.returncode:
            raise UserError(f"{name} with {tree} failed: {done.stderr[-1000:]}")
        totals = re.findall(r"^totals: (\d+)", found.read_text(), re.M)
    return int(totals[0]) / (len(rows) - len(rows) // 2)


def run(options: argparse.Namespace) -> None:
    """Print a line for each learner, stream and way."""
    if shutil.which("valgrind") is None:
        raise UserError("valgrind is not installed; run: sudo apt-get install valgrind")
    # Without the package there, Python would import that of this tree.
    if options.against and not (options.against / "river_extra_trees" / "__init__.py").exists():
        raise UserError(f"{options.against} is not a source tree of river_extra_trees")
    trees = [HERE, *([options.against.resolve()] if options.against else [])]
    heads = ["learner", "stream", "way", "thousands", *(["before", "ratio"] if trees[1:] else [])]
    lines = []
    for name in options.learners:
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
