"""The run that `ratios.py` times: a process of its own, which takes turns with one of another tree.

It needs the package and pandas alone, so it also runs with another source tree. Each line of its
input lets it take a turn. After the last one, what was found is in the file that the job names.
"""

import gc
import pickle
import sys
import time
from pathlib import Path

import pandas as pd

import river_extra_trees

TURN = 500  # samples
FRAME = 10_000  # rows that `predict_many` reads
FRAMES = 5


def turns(model, rows, found):
    """Predict and learn the rows, then predict a frame of them; stop after each turn."""
    clock = time.thread_time_ns
    for first in range(0, len(rows), TURN):
        for x, y in rows[first : first + TURN]:
            start = clock()
            model.predict_one(x)
            middle = clock()
            model.learn_one(x, y)
            found["learn_one"].append(clock() - middle)
            found["predict_one"].append(middle - start)
        found["memory"].append(model._raw_memory_usage)
        yield
    frame = pd.DataFrame([rows[i % len(rows)][0] for i in range(FRAME)])
    for _ in range(FRAMES):
        start = clock()
        model.predict_many(frame)
        found["predict_many"].append((clock() - start) / FRAME)
        yield


def main() -> None:
    """Run what the pickled file names."""
    name, settings, rows, answer = pickle.loads(Path(sys.argv[1]).read_bytes())
    found = {name: [] for name in ("learn_one", "predict_one", "predict_many", "memory")}
    run = turns(getattr(river_extra_trees, name)(seed=1, **settings), rows, found)
    gc.disable()
    for _ in sys.stdin:
        more = next(run, "end") is None
        if not more:
            Path(answer).write_bytes(pickle.dumps(found))
        print("more" if more else "end", flush=True)


if __name__ == "__main__":
    main()
