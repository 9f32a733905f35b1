r"""The default forest beside that of another source tree: time of a sample and of a frame, memory.

Each tree runs in a process of its own. They take turns of 500 samples, so that a busy machine slows
both alike; the whole is repeated, and of each sample the shortest time counts. Times are CPU time
in microseconds: medians, the mean of a sample that is predicted and learned, the tail of
`learn_one`, and per row of a frame of 10,000 rows. Memory is the mean after each turn of the second
half, since it falls and rises with the growth of trees. The other tree has to be built in place;
`make ratios BEFORE=9bb06b75` builds a revision and calls this.

    python -m examples.benchmarks.costs ratios --against ../before
    python -m examples.benchmarks.costs ratios --against ../before --streams bike_sharing_hourly \
        --settings n_models=75 max_features=0.7 "window_sizes=(15, 60, 250, 1000, 16000)"
"""

from __future__ import annotations

import argparse
import ast
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np

from examples.benchmarks.common import streams, tables
from examples.benchmarks.costs.instructions import HERE, other_tree, settled
from river_extra_trees.cli import UserError

STREAMS = ["elec", "letter", "covtype", "pendigits", "magic", "bike_sharing_hourly", "cal_housing"]
LEARNERS: dict[streams.Task, str] = {
    "classification": "ExtraTreesClassifier",
    "regression": "ExtraTreesRegressor",
}
HEADS = ["stream", "", "predict_one", "learn_one", "both, mean", "p99.9", "longest"]
HEADS += ["predict_many", "memory, MB"]
Found = dict[str, list[int]]  # per method its times in nanoseconds; the bytes after each turn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--against", type=Path, required=True, help="folder of another source tree")
    parser.add_argument("--streams", nargs="+", default=STREAMS)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--settings", nargs="+", default=[], help="of the learner of this tree")


def run_in_turns(trees: list[Path], jobs: list[tuple[Any, ...]]) -> list[Found]:
    """Run a job with the package of each tree, turn by turn; return what they found."""
    script = Path(__file__).with_name("timed.py")
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, str(i)) for i in range(len(trees))]
        processes = []
        for tree, job, path in zip(trees, jobs, paths, strict=True):
            path.write_bytes(pickle.dumps((*job, str(path))))
            command = [sys.executable, str(script), str(path)]
            processes.append(
                subprocess.Popen(command, cwd=tree, env=settled(tree), stdin=PIPE, stdout=PIPE)
            )
        while sum(takes_turn(process) for process in processes):
            pass
        for process in processes:
            process.communicate()
        return [pickle.loads(path.read_bytes()) for path in paths]


def takes_turn(process: subprocess.Popen[bytes]) -> bool:
    """Let a process take a turn; return False if it was the last one."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"turn\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        raise UserError("a process failed; see above")
    return answer == b"more\n"


def figures(runs: list[Found]) -> list[float]:
    """Return the figures of a line, from all repeats."""
    predicting, learning = (
        np.min([run[name] for run in runs], axis=0) / 1e3 for name in ("predict_one", "learn_one")
    )
    memory = runs[0]["memory"]
    return [
        float(np.median(predicting)),
        float(np.median(learning)),
        float(np.mean(predicting) + np.mean(learning)),
        float(np.percentile(learning, 99.9)),
        float(learning.max()),
        min(min(run["predict_many"]) for run in runs) / 1e3,
        float(np.mean(memory[len(memory) // 2 :])) / 1e6,
    ]


def run(options: argparse.Namespace) -> None:
    """Print three lines for each stream: this tree, the other one, and the ratio."""
    trees = [HERE, other_tree(options.against)]
    settings = {
        name: ast.literal_eval(value)
        for name, _, value in (each.partition("=") for each in options.settings)
    }
    lines = []
    for stream in options.streams:
        is_regression = stream in streams.SEEN["regression"] + streams.UNSEEN["regression"]
        task: streams.Task = "regression" if is_regression else "classification"
        rows = streams.load(stream, task, options.samples)
        jobs = [(LEARNERS[task], given, rows) for given in (settings, {})]
        repeats = [run_in_turns(trees, jobs) for _ in range(options.repeats)]
        now, before = (figures(list(runs)) for runs in zip(*repeats, strict=True))
        for name, values in (("now", now), ("before", before)):
            lines.append([stream, name, *(f"{value:,.4g}" for value in values)])
        shares = (f"{a / b:.2f}" for a, b in zip(now, before, strict=True))
        lines.append([stream, "ratio", *shares])
    tables.show(HEADS, lines)
