"""The run whose instructions `instructions.py` counts: a process of its own, under callgrind.

It needs the package, river and callgrind alone, so it also runs with another source tree. Only the
work on the second half of the samples is counted: the caches are warm, and windows fill up.
"""

import collections
import functools
import os
import pickle
import subprocess
import sys
from pathlib import Path

import river_extra_trees

FRAME = 100  # rows
DELAY = 100  # samples that are learned between a late label and its question


def count(on: bool) -> None:
    """Let callgrind begin to count, or end."""
    command = ["callgrind_control", f"--instr={'on' if on else 'off'}", str(os.getpid())]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def by_loop(model, rows):
    """Predict and learn sample by sample."""
    for x, y in rows:
        model.predict_one(x)
        model.learn_one(x, y)


def by_late_labels(waiting, model, rows):
    """Predict sample by sample, and learn each after `DELAY` others; the last ones wait."""
    for row in rows:
        model.predict_one(row[0])
        waiting.append(row)
        if len(waiting) > DELAY:
            model.learn_one(*waiting.popleft())


def by_frames(model, frames):
    """Predict and learn frame by frame."""
    for x, y in frames:
        model.predict_many(x)
        model.learn_many(x, y)


def frames_of(rows):
    """Return the rows as frames and series."""
    import pandas as pd

    parts = [rows[first : first + FRAME] for first in range(0, len(rows), FRAME)]
    return [(pd.DataFrame([x for x, _ in part]), pd.Series([y for _, y in part])) for part in parts]


def main() -> None:
    """Run what the pickled file names."""
    name, way, rows = pickle.loads(Path(sys.argv[1]).read_bytes())
    model = getattr(river_extra_trees, name)(seed=1)
    run, prepare = {
        "loop": (by_loop, list),
        "late": (functools.partial(by_late_labels, collections.deque()), list),
        "frames": (by_frames, frames_of),
    }[way]
    middle = len(rows) // 2
    first, second = prepare(rows[:middle]), prepare(rows[middle:])
    run(model, first)
    count(True)
    run(model, second)
    count(False)
    print(getattr(model, "n_models", 1))


if __name__ == "__main__":
    main()
