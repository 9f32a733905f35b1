"""The job that every engine does: one model per key learns the stream of its key.

40,000 events over 2,000 keys: five features, a key, a target. The models are this package's single
trees, in the folder of the environment variable CHECKOUT.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
import threading
import time

EVENTS, KEYS = 40_000, 2_000
NAMES = [f"x{i}" for i in range(5)]
TICKS = os.sysconf("SC_CLK_TCK")
sys.path.insert(0, os.environ.get("CHECKOUT", "."))


def events(n: int = EVENTS, n_keys: int = KEYS) -> list[tuple[str, list[float], float]]:
    """The events: key, features, target."""
    rng, found = random.Random(1), []
    for i in range(n):
        x = [rng.random() for _ in NAMES]
        found.append((f"key {i % n_keys}", x, 3 * x[0] + i % n_keys % 7 * x[1]))
    return found


def new_model():
    """The model of a new key."""
    import river_extra_trees as ret

    return ret.StreamDecisionTreeRegressor(seed=1)


def learn(model, rows) -> int:
    """Predict each row of a key, and learn it."""
    for *x, y in rows:
        sample = dict(zip(NAMES, x, strict=True))
        model.predict_one(sample)
        model.learn_one(sample, y)
    return model.n_samples_seen


def learn_state(state: bytes | None, rows) -> tuple[bytes, int]:
    """Do the same with a model that an engine keeps as bytes."""
    model = new_model() if state is None else pickle.loads(state)
    n = learn(model, rows)
    return pickle.dumps(model, 5), n


class Meter(threading.Thread):
    """Processor time of this process and all that it begins, those that have ended among them.

    It looks every 50 ms, so what a process does after the last look before its end is lost.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: dict[int, float] = {}
        self.clock = time.perf_counter()
        self.start()

    def run(self) -> None:
        while True:
            self.look()
            time.sleep(0.05)

    def look(self) -> None:
        new = [os.getpid()]
        while new:
            process = new.pop()
            try:
                with open(f"/proc/{process}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                self.seen[process] = (int(fields[11]) + int(fields[12])) / TICKS
                for task in os.listdir(f"/proc/{process}/task"):
                    with open(f"/proc/{process}/task/{task}/children") as file:
                        new += map(int, file.read().split())
            except OSError:
                pass

    def mark(self, what: str) -> None:
        """Print the time since the last mark."""
        self.look()
        used, now = sum(self.seen.values()), time.perf_counter()
        before = getattr(self, "used", 0.0)
        print(f"{what}: {used - before:.1f} s CPU, {now - self.clock:.1f} s wall", flush=True)
        self.used, self.clock = used, time.perf_counter()
