"""Talk to a process that runs CapyMOA's learners in an interpreter of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from examples.benchmarks.common.prequential import CHECKPOINTS, Run
from examples.benchmarks.common.scores import Scores
from examples.benchmarks.common.streams import Rows
from examples.benchmarks.peers import arff
from river_extra_trees.cli import UserError
from river_extra_trees.cli.streams import Task


@cache
def process(python: str) -> subprocess.Popen[str]:
    """Return the process that all runs share; Java takes long to start."""
    script = Path(__file__).with_name("capymoa_run.py")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    # Java's usual collector of garbage works beside the learner; this one takes less CPU in all.
    env["JAVA_TOOL_OPTIONS"] = "-XX:+UseSerialGC"
    pipe = subprocess.PIPE
    return subprocess.Popen([python, str(script)], stdin=pipe, stdout=pipe, text=True, env=env)


def checkpoints(
    learner: str, rows: Rows, task: Task, most_seconds: float, python: str
) -> Iterator[Run]:
    """Run a learner over rows and yield what is known at each checkpoint, and at the end."""
    for *_, run in parts(learner, rows, task, most_seconds, python):
        yield run


def parts(
    learner: str, rows: Rows, task: Task, most_seconds: float, python: str
) -> Iterator[tuple[Rows, list[Any], Run]]:
    """Yield the rows between two checkpoints with the answers to them, and the run so far."""
    scores = Scores(task, rows)
    own = process(python)
    assert own.stdin is not None
    assert own.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.arff"
        labels = arff.write(path, rows, task)
        job = {"learner": learner, "task": task, "path": str(path), "checkpoints": CHECKPOINTS}
        own.stdin.write(json.dumps({**job, "seconds": most_seconds}) + "\n")
        own.stdin.flush()
        seen = 0
        for line in own.stdout:
            if not line.startswith("{"):  # what a library prints
                continue
            found = json.loads(line)
            answers = found["answers"]
            if task == "classification":
                answers = [dict(zip(labels, a, strict=True)) if a else {} for a in answers]
            part = rows[seen : seen + len(answers)]
            seen += len(answers)
            scores.update(part, answers)
            figures = found["seconds"], found["memory"], found["error"]
            yield part, answers, Run(found["samples"], scores.get(), *figures)
            if found["ended"]:
                return
    raise UserError(f"{learner} of CapyMOA ended the process with code {own.wait()}")
