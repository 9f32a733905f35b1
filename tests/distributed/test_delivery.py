"""Every sample counts once and in order, at whatever message workers die or change in number.

Ray's place is taken by a stand-in without processes, which disturbs a run at a chosen message.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest
from river import base

from river_extra_trees.distributed import DistributedKeyedModels, Feeder
from tests.tools import ray_in_process
from tests.tools.ray_in_process import take_the_place_of_ray

N = 60  # samples of a run
N_KEYS = 9


class Diary(base.Regressor):
    """A model that keeps the targets it has learned, in their order."""

    def __init__(self) -> None:
        self.learned: list[float] = []

    def learn_one(self, x: dict[str, float], y: float) -> None:
        self.learned.append(y)

    def predict_one(self, x: dict[str, float]) -> float:
        return float(len(self.learned))


class Drawer:
    """A store in memory: what is committed outlives it, as a file does, and takes no time.

    Parameters
    ----------
    path
        Name of the file.
    """

    committed: ClassVar[dict[Path, tuple[dict[bytes, tuple[int, bytes]], bytes]]] = {}

    def __init__(self, path: Path) -> None:
        self.path = path
        models, self.note = self.committed.get(path, ({}, pickle.dumps(None)))
        self.models = dict(models)

    def __len__(self) -> int:
        return len(self.models)

    def rows(self) -> list[tuple[int, bytes, bytes]]:
        return sorted((last, name, model) for name, (last, model) in self.models.items())

    def write(self, rows: Any) -> None:
        self.models.update({name: (last, model) for last, name, model in rows})

    def state(self) -> Any:
        return pickle.loads(self.note)

    def commit(self, state: Any) -> None:
        self.committed[self.path] = dict(self.models), pickle.dumps(state)

    def close(self) -> None:
        pass


class Disturbed:
    """Disturbs the keyed models before or after the message with a given number.

    Parameters
    ----------
    monkeypatch
        Ends the disturbance with the test.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n_messages = 0
        self.events: dict[int, Callable[[], None]] = {}
        remote = ray_in_process.Method.remote

        def counted(method: Any, *arguments: Any) -> Any:
            self.n_messages += 1
            number = self.n_messages
            self.happens(2 * number)
            reference = remote(method, *arguments)
            self.happens(2 * number + 1)
            return reference

        monkeypatch.setattr(ray_in_process.Method, "remote", counted)

    def happens(self, moment: int) -> None:
        """Let happen what is planned for a moment."""
        if moment in self.events:
            self.events.pop(moment)()


@pytest.fixture
def disturbed(monkeypatch: pytest.MonkeyPatch) -> Disturbed:
    take_the_place_of_ray(monkeypatch)
    monkeypatch.setattr("river_extra_trees.keyed.models.Store", Drawer)
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr(Drawer, "committed", {})
    return Disturbed(monkeypatch)


def feed_one_by_one(feeder: Feeder, rng: random.Random) -> None:
    """Only `learn_one`."""
    for i in range(N):
        feeder.learn_one(i * i % N_KEYS, {"x": 0.0}, float(i))


def feed_mixed(feeder: Feeder, rng: random.Random) -> None:
    """Some samples alone, some in frames, and questions between them."""
    while (at := feeder.position) < N:
        numbers = range(at, min(N, at + rng.randrange(1, 9)))
        keys, y = [i * i % N_KEYS for i in numbers], [float(i) for i in numbers]
        kind = rng.choice(["one", "one", "many", "asked", "question"])
        if kind == "one":
            for key, target in zip(keys, y, strict=True):
                feeder.learn_one(key, {"x": 0.0}, target)
        elif kind == "many":
            feeder.learn_many(keys, pd.DataFrame({"x": [0.0] * len(y)}), y)
        elif kind == "asked":
            feeder.predict_learn_many(keys, pd.DataFrame({"x": [0.0] * len(y)}), y)
        else:
            n_before = sum(i * i % N_KEYS == keys[0] for i in range(at))
            assert (feeder.predict_one(keys[0], {"x": 0.0}) or 0.0) == n_before
            before = [sum(i * i % N_KEYS == key for i in range(at)) for key in range(N_KEYS)]
            frame = pd.DataFrame({"x": [0.0] * N_KEYS})
            answers = feeder.predict_many(list(range(N_KEYS)), frame).fillna(0.0)
            assert answers.tolist() == before


def end_of_run(
    feed: Callable[[Feeder, random.Random], None],
    block_size: int,
    checkpoint_every: int,
    folder: Path,
    disturbed: Disturbed,
    events: dict[int, str],
) -> int:
    """Feed a stream while events happen; check what was learned; return the number of messages."""
    options = {"block_size": block_size, "checkpoint_every": checkpoint_every, "n_groups": 3}
    with DistributedKeyedModels(Diary(), 2, folder=folder, **options) as models:

        def crash(which: slice) -> None:
            for actor in models._actors[which]:
                actor.held, actor.has_crashed = None, True

        happenings = {
            "one dies": lambda: crash(slice(1)),
            "all die": lambda: crash(slice(None)),
            "rescale": lambda: models.rescale(models.n_workers % 3 + 1),
        }
        feeder = models.feeder("p")
        disturbed.n_messages = 0
        disturbed.events = {moment: happenings[what] for moment, what in events.items()}
        feed(feeder, random.Random(0))
        feeder.save()
        n_messages = disturbed.n_messages
        disturbed.events = {}
        assert feeder.position == N
        for key in range(N_KEYS):
            wanted = [float(i) for i in range(N) if i * i % N_KEYS == key]
            found = feeder.model_of(key)
            assert (found.learned if found else []) == wanted
        assert models.counts().n_samples_seen == N
    return n_messages


@pytest.mark.parametrize("feed", [feed_one_by_one, feed_mixed])
@pytest.mark.parametrize(("block_size", "checkpoint_every"), [(4, 5), (7, 5), (3, 20), (100, 13)])
def test_disturbed_at_any_message(
    feed: Callable[[Feeder, random.Random], None],
    block_size: int,
    checkpoint_every: int,
    disturbed: Disturbed,
    tmp_path: Path,
) -> None:
    """Deaths and other numbers of workers lose nothing and repeat nothing."""
    n_messages = end_of_run(feed, block_size, checkpoint_every, tmp_path / "calm", disturbed, {})
    rng = random.Random(block_size)
    for number in range(5):
        moments = rng.sample(range(2, 2 * n_messages), 3)
        events = {moment: rng.choice(["one dies", "all die", "rescale"]) for moment in moments}
        folder = tmp_path / str(number)
        end_of_run(feed, block_size, checkpoint_every, folder, disturbed, events)


class Asking(dict[str, float]):
    """A sample that, while it is read, calls the feeder."""

    calls: ClassVar[list[Callable[[], object]]] = []

    def items(self) -> Any:
        for call in self.calls:
            with pytest.raises(RuntimeError, match="the feeder is in use"):
                call()
        return super().items()


def test_a_second_call_gets_an_error_and_changes_nothing(
    disturbed: Disturbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every method raises the error, and the first call completes."""
    X = pd.DataFrame({"x": [0.0]})
    with DistributedKeyedModels(Diary(), n_groups=4) as models:
        calls = [
            lambda: models.learn_one("b", {}, 1.0),
            lambda: models.learn_many(["b"], X, [1.0]),
            lambda: models.predict_one("a", {}),
            lambda: models.predict_many(["a"], X),
            lambda: models.predict_learn_many(["b"], X, [1.0]),
            lambda: models.model_of("a"),
            lambda: models.forget("a"),
            lambda: models.position,
            *(models.counts, models.wait, models.save),
        ]
        monkeypatch.setattr(Asking, "calls", calls)
        models.learn_one("a", Asking(x=0.0), 1.0)
        assert models.position == 1
        assert models.predict_one("a", {}) == 1.0
        assert models.counts().n_samples_seen == 1
