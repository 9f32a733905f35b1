"""Kill a process while it saves, again and again: the file is whole every time.

python -m tests.killing --kills 1000
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from river_extra_trees import persistence
from tests.estimators import learn, make, stream

CASE = ("StreamDecisionForestClassifier", 0)
WRITER = """
import sys
from river_extra_trees import persistence
model = persistence.load(sys.argv[1])
content = persistence.save_bytes(model)
print("ready", flush=True)
from river_extra_trees._atomic import replace_file
while True:
    replace_file(sys.argv[1], content)
"""


def kill_often(folder: Path, kills: int, seed: int = 0) -> Counter[str]:
    """Kill writers of one file; count what they leave behind.

    Returns the number of kills, of files that could not be loaded then, of temporary files left by
    the killed process, and of those that were still there after the next save.
    """
    rng = random.Random(seed)
    path = folder / "killed.model"
    model = learn(make(CASE), stream(CASE, 150))
    persistence.save(model, path)
    expected = path.read_bytes()
    counts = Counter(kills=0, unreadable=0, left_behind=0, left_after_next_save=0)
    for _ in range(kills):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(rng.random() * 0.02)
            writer.kill()
        counts["kills"] += 1
        counts["unreadable"] += path.read_bytes() != expected
        persistence.load(path)
        counts["left_behind"] += len(list(folder.iterdir())) - 1
        persistence.save(model, path)
        counts["left_after_next_save"] += len(list(folder.iterdir())) - 1
    return counts


def main() -> None:
    """Kill as often as asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(dict(kill_often(Path(folder), arguments.kills)))


if __name__ == "__main__":
    main()
