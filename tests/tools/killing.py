"""Kill a process while it saves, again and again: the file is whole every time.

python -m tests.tools.killing --kills 1000
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

from river_extra_trees import persistence
from river_extra_trees.persistence.atomic import replace_file
from tests.tools.estimators import learn, make, stream

CASE = ("ExtraTreesClassifier", 0)
LONGEST = 0.02  # seconds until a writer is killed: some saves


def start_writer(path: Path, contents: tuple[bytes, ...]) -> int:
    """A process that saves one content after the other without end."""
    writer = os.fork()
    if writer == 0:
        for content in itertools.cycle(contents):
            replace_file(path, content)
    return writer


def kill_often(folder: Path, kills: int, seed: int = 0) -> Counter[str]:
    """Kill writers of one file; count what they leave behind.

    Returns the number of kills, of files that could not be loaded then, and of temporary files that
    the killed processes have left.
    """
    rng = random.Random(seed)
    path = folder / "killed.model"
    models = [learn(make(CASE), stream(CASE, n)) for n in (150, 20)]
    contents = tuple(map(persistence.save_bytes, models))
    persistence.save(models[0], path)
    counts = Counter(kills=0, unreadable=0, left_behind=0)
    for _ in range(kills):
        writer = start_writer(path, contents)
        time.sleep(rng.random() * LONGEST)
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        counts["kills"] += 1
        counts["unreadable"] += path.read_bytes() not in contents
        persistence.load(path)
        for left in folder.glob(".*.saving"):
            counts["left_behind"] += 1
            left.unlink()
        if counts["kills"] % 100 == 0:
            print(dict(counts), flush=True)
    return counts


def main() -> None:
    """Kill as often as asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kill_often(Path(folder), arguments.kills)


if __name__ == "__main__":
    main()
