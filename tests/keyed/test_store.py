"""The file of keyed models: what a commit keeps, what a crash leaves, and what is refused."""

from __future__ import annotations

import math
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees.keyed import KeyedModels

MODEL = ret.StreamDecisionTreeRegressor(batch_size=4, seed=1)


def stream(start: int, stop: int) -> Iterator[tuple[int, dict[str, Any], float]]:
    """Samples of nine keys."""
    for i in range(start, stop):
        yield i * i % 31 % 9, {"a": float(i % 7), "b": "xyz"[i % 3]}, float(i % 5)


def learn(models: KeyedModels, start: int, stop: int) -> KeyedModels:
    for key, x, y in stream(start, stop):
        models.learn_one(key, x, y)
    return models


def contents(models: KeyedModels) -> dict[int, bytes]:
    """The states of all models."""
    return {key: persistence.save_bytes(models.model_of(key)) for key in range(9) if key in models}


BOUNDS: list[dict[str, Any]] = [
    {},
    {"max_models": 3},
    {"time_to_live": 20},
    {"max_models": 3, "time_to_live": 12},
]


@pytest.mark.parametrize("bounds", BOUNDS)
def test_continues_from_the_last_commit(tmp_path: Path, bounds: dict[str, Any]) -> None:
    """What was learned after the last commit is gone; from there the stream goes on as without."""
    path = tmp_path / "models.db"
    with KeyedModels(MODEL, store=path, **bounds) as models:
        assert models.note == {}
        for stop in (1, 30, 61):
            learn(models, len_of(models), stop)
            models.commit({"position": stop})
        learn(models, 61, 90)
    with KeyedModels(MODEL, store=path, **bounds) as models:
        assert models.note == {"position": 61}
        counts = models.counts()
        assert counts.n_samples_seen == 61
        plain = {**bounds, "max_models": None}
        assert contents(models) == contents(learn(KeyedModels(MODEL, **plain), 0, 61))
        learn(models, 61, 120)
        models.commit()
        assert models.note == {"position": 61}
        assert contents(models) == contents(learn(KeyedModels(MODEL, **plain), 0, 120))


def len_of(models: KeyedModels) -> int:
    return int(models.note.get("position", 0))


WRITER = """
import sys
from tests.keyed.test_store import MODEL, learn
from river_extra_trees.keyed import KeyedModels
models = KeyedModels(MODEL, max_models=3, store=sys.argv[1])
at = models.note.get("position", 0)
while True:
    learn(models, at, at + 20)
    at += 20
    models.commit({"position": at})
    print(at, flush=True)
"""


@pytest.mark.slow
def test_killed_process(tmp_path: Path) -> None:
    """A process that is killed at any moment leaves the last commit, complete."""
    path = tmp_path / "models.db"
    before = 0
    for _ in range(2):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout is not None
        for _ in range(5):
            said = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        with KeyedModels(MODEL, store=path, max_models=3) as models:
            position = models.note["position"]
            assert position >= said > before
            assert models.counts().n_samples_seen == position
            alone = learn(KeyedModels(MODEL), 0, position)
            assert contents(models) == contents(alone)
        before = position


def test_commits_are_incremental(tmp_path: Path) -> None:
    """A commit writes the models that have changed since the last one, and no others."""
    written: list[Any] = []
    with KeyedModels(MODEL, store=tmp_path / "models.db") as models:
        store = models._store
        assert store is not None
        write = store.write

        def noted(key: Any, entry: Any) -> None:
            written.append(key)
            write(key, entry)

        store.write = noted  # type: ignore[method-assign]
        for key in ("a", "b", "c"):
            models.learn_one(key, {"x": 1.0}, 1.0)
        models.commit()
        assert written == ["a", "b", "c"]
        models.learn_one("b", {"x": 1.0}, 2.0)
        models.predict_one("c", {"x": 1.0})
        models.commit()
        assert written[3:] == ["b"]
        models.commit({})
        assert len(written) == 4


def test_spilled_models_that_did_not_change_are_not_written_again(tmp_path: Path) -> None:
    """A model that the last commit wrote leaves the memory without a write."""
    with KeyedModels(MODEL, 2, store=tmp_path / "models.db") as models:
        learn(models, 0, 40)
        models.commit()
        store = models._store
        assert store is not None
        changes = store._connection.total_changes
        for key in ("new", "newer"):
            models.learn_one(key, {"a": 1.0}, 1.0)
        assert store._connection.total_changes == changes
        assert models.counts().n_in_memory == 2


def test_memory_and_file_stay_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a time to live, keys that never come again leave the memory and the file."""
    monkeypatch.setattr("river_extra_trees.keyed.store.LOG", 10)
    path = tmp_path / "models.db"
    sizes = []
    with KeyedModels(MODEL, 20, 100, path) as models:
        for i in range(1_500):
            models.learn_one(f"key {i}", {"a": float(i)}, 1.0)
            if i % 250 == 249:
                models.commit({"position": i})
                sizes.append(sum(each.stat().st_size for each in tmp_path.iterdir()))
                counts = models.counts()
                assert (counts.n_models, counts.n_in_memory) == (100, 20)
    assert sizes[-1] <= 1.1 * sizes[1]


def test_one_process_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("river_extra_trees.keyed.store.PATIENCE", 0.0)
    path = tmp_path / "models.db"
    with (
        KeyedModels(MODEL, store=path),
        pytest.raises(sqlite3.OperationalError, match="another process has this file open"),
    ):
        KeyedModels(MODEL, store=path)
    KeyedModels(MODEL, store=path).close()


def test_other_files(tmp_path: Path) -> None:
    """Other parameters, other databases and files that are none are refused, and stay as is."""
    path = tmp_path / "models.db"
    with KeyedModels(MODEL, store=path) as models:
        learn(models, 0, 10)
        models.commit()
    with pytest.raises(ValueError, match=r"the model of .*batch_size=4.*, not .*batch_size=5"):
        KeyedModels(MODEL.clone({"batch_size": 5}), store=path)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE models (x)")
    database.close()
    with pytest.raises(ValueError, match="none of KeyedModels"):
        KeyedModels(MODEL, store=other)
    with pytest.raises(sqlite3.OperationalError, match=r"nowhere.models\.db: unable to open"):
        KeyedModels(MODEL, store=tmp_path / "nowhere" / "models.db")
    text = tmp_path / "text.db"
    text.write_text("no database at all, " * 99)
    with pytest.raises(sqlite3.DatabaseError, match=r"text\.db: file is not a database"):
        KeyedModels(MODEL, store=text)
    assert text.read_text() == "no database at all, " * 99
    with KeyedModels(MODEL, store=path) as models:
        assert models.counts().n_samples_seen == 10


def test_a_full_disk(tmp_path: Path) -> None:
    """A write that fails is raised, nothing more is written, and the last commit is kept."""
    path = tmp_path / "models.db"
    models = KeyedModels(MODEL, 2, store=path)
    learn(models, 0, 20)
    models.commit({"position": 20})
    store = models._store
    assert store is not None
    store._connection.execute("PRAGMA max_page_count = 30")
    for _ in range(2):
        with pytest.raises((sqlite3.OperationalError, RuntimeError)):
            learn_new_keys(models, 2_000)
    with pytest.raises((sqlite3.OperationalError, RuntimeError)):
        models.commit({"position": -1})
    models.close()
    with KeyedModels(MODEL, 2, store=path) as models:
        assert models.note == {"position": 20}
        assert contents(models) == contents(learn(KeyedModels(MODEL), 0, 20))


def learn_new_keys(models: KeyedModels, n: int) -> None:
    for i in range(n):
        models.learn_one(i, {"a": 1.0}, 1.0)


def test_nothing_to_commit_to() -> None:
    with pytest.raises(RuntimeError, match="give KeyedModels a store"):
        KeyedModels(MODEL).commit({})


def test_expired_after_an_answer(tmp_path: Path) -> None:
    """A spilled model that has answered and then expired takes no other one with it."""
    with KeyedModels(MODEL, 1, 5, tmp_path / "models.db") as models:
        for key in "acb":
            models.learn_one(key, {"a": 0.0}, 1.0)
        models.predict_one("a", {"a": 0.0})
        for key in "bbba":
            models.learn_one(key, {"a": 0.0}, 1.0)
        assert (len(models), "b" in models) == (2, True)
        assert models.predict_one("b", {"a": 0.0}) == 1.0


def test_a_commit_that_fails(tmp_path: Path) -> None:
    """What a failed commit has written can still be forgotten."""
    path = tmp_path / "models.db"
    with KeyedModels(MODEL, store=path) as models:
        for key in "ab":
            models.learn_one(key, {"a": 0.0}, 1.0)
        with pytest.raises((AttributeError, pickle.PicklingError)):
            models.commit({"cannot be pickled": lambda: None})
        assert models.note == {}
        models.forget("a")
        models.commit({"position": 2})
    with KeyedModels(MODEL, store=path) as models:
        assert (models.note, "a" in models, "b" in models) == ({"position": 2}, False, True)


def test_numbers_of_samples_go_on(tmp_path: Path) -> None:
    """Rows have the number of a sample: a key that comes after a restart replaces no other."""
    path = tmp_path / "models.db"
    for key in "abc":
        with KeyedModels(MODEL, store=path) as models:
            models.learn_one(key, {"a": 1.0}, 1.0)
            models.learn_one(key, {"a": 1.0}, math.inf)
            models.commit()
    with KeyedModels(MODEL, store=path) as models:
        counts = models.counts()
        assert all(key in models for key in "abc")
    assert (counts.n_models, counts.n_samples_seen, counts.n_refused) == (3, 3, 3)
    assert counts.refusal.startswith("sample 6 of 'c': ")


FORKED = """
import os, sys
import river_extra_trees as ret
from river_extra_trees.keyed import KeyedModels

def use(models, **calls):
    for name, call in calls.items():
        try:
            call()
        except RuntimeError as error:
            assert "was opened before this process was forked" in str(error), error
        else:
            sys.exit(f"{name} is not refused")
    models.close()

model = ret.StreamDecisionTreeRegressor(leaf_memory=None, seed=1)
models = KeyedModels(model, store=sys.argv[1], max_models=1)
for key in "ab":
    models.learn_one(key, {"x": 1}, 1.0)
models.commit({"position": 2})
child = os.fork()
if not child:
    use(
        models,
        learn=lambda: models.learn_one("a", {"x": 1}, 9.0),
        predict=lambda: models.predict_one("a", {"x": 1}),
        forget=lambda: models.forget("b"),
        commit=lambda: models.commit({"position": 99}),
    )
    del models
    sys.exit()  # Python deletes all objects
assert os.waitpid(child, 0)[1] == 0
models.learn_one("a", {"x": 1}, 3.0)
models.commit({"position": 3})
os._exit(0)  # as if killed: nothing is closed
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_forked_process_is_refused(tmp_path: Path) -> None:
    """It inherits the open file past its lock; the other process loses nothing."""
    path = tmp_path / "models.db"
    command = [sys.executable, "-W", "error", "-c", FORKED, str(path)]
    subprocess.run(command, check=True, timeout=120)
    model = ret.StreamDecisionTreeRegressor(leaf_memory=None, seed=1)
    with KeyedModels(model, store=path) as models:
        assert models.note == {"position": 3}
        assert models.predict_one("a", {"x": 1}) == 2.0
        assert models.predict_one("b", {"x": 1}) == 1.0
