"""What the default forest spends its instructions on, beside another source tree.

Growth and walks are given per tree: a window of m samples has its trees regrown once per m samples,
so each tree is grown on one sample of its window per sample of the stream, whatever the windows.
Members are what the pool or the mixture combines and learns beside the trees; the rest is Python,
the schema and the C library. Callgrind counts the second half of the samples.

    python -m examples.benchmarks.costs parts --against ../before
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

from examples.benchmarks.common import streams, tables
from examples.benchmarks.costs.instructions import HERE, counted, other_tree
from examples.benchmarks.costs.ratios import LEARNERS, STREAMS

MODULES = {
    "growth": "growth lane_rows candidates column_lists node_values pairs model_trees rotation"
    " buckets linalg moments",
    "walks": "tree_pass extra_trees tree trees compact_trees row_pass ensemble leaps",
    "members": "logistic mixtures naive_bayes noise fading_ridge members questions running shares",
}
PER_TREE = ("growth", "walks")
PART_OF = {module: part for part, modules in MODULES.items() for module in modules.split()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--against", type=Path, required=True, help="folder of another source tree")
    parser.add_argument("--streams", nargs="+", default=STREAMS)
    parser.add_argument("--samples", type=int, default=4000)


def by_part(found: str) -> Counter[str]:
    """Return the instructions of each part, from a file of callgrind."""
    parts: Counter[str] = Counter()
    names: dict[str, str] = {}
    part, is_call = "rest", False
    for line in found.splitlines():
        if named := re.match(r"(c?)ob=\((\d+)\)(?: .*/(\w+))?", line):
            names.setdefault(named[2], PART_OF.get(named[3], "rest"))
            part = part if named[1] else names[named[2]]
        elif cost := re.match(r"[-+*\d]\S* (\d+)$", line):
            parts[part] += 0 if is_call else int(cost[1])
        is_call = line.startswith("calls=")
    return parts


def run(options: argparse.Namespace) -> None:
    """Print a line for each stream and part."""
    lines = []
    for stream in options.streams:
        is_regression = stream in streams.SEEN["regression"] + streams.UNSEEN["regression"]
        task: streams.Task = "regression" if is_regression else "classification"
        rows = streams.load(stream, task, options.samples)
        found = [
            counted(tree, LEARNERS[task], "loop", rows)
            for tree in (HERE, other_tree(options.against))
        ]
        for part in (*MODULES, "rest"):
            now, before = (
                by_part(each.text)[part] / each.n / (each.n_trees if part in PER_TREE else 1)
                for each in found
            )
            lines.append([stream, part, f"{now:,.0f}", f"{before:,.0f}", f"{now / before:.2f}"])
    tables.show(["stream", "part", "instructions", "before", "ratio"], lines)
