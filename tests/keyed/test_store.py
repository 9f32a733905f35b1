"""The file of keyed models: what a commit keeps, what a crash leaves, and what is refused."""

import contextlib
import math
import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
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


def test_only_what_has_changed_is_written(tmp_path: Path) -> None:
    """By a commit, which writes a state besides, and by a model that leaves the memory."""
    with KeyedModels(MODEL, 3, store=tmp_path / "models.db") as models:
        assert models._store is not None
        connection = models._store._connection
        written = [connection.total_changes]
        for learned in ("abc", "b", "", "de", "f"):
            for key in learned:
                models.learn_one(key, {"x": 1.0}, 1.0)
            models.predict_one("a", {"x": 1.0})
            if learned != "de":  # by which "a" and "c" leave, which are in the file
                models.commit()
            written.append(connection.total_changes)
        assert np.diff(written).tolist() == [4, 2, 1, 0, 4]
        assert models.counts().n_in_memory == 3


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


def test_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in use, of other parameters, another database or none is refused, and stays as is."""
    monkeypatch.setattr("river_extra_trees.keyed.store.PATIENCE", 0.0)
    path, other, text = (tmp_path / name for name in ("models.db", "other.db", "text.db"))
    with KeyedModels(MODEL, store=path) as models:
        learn(models, 0, 10)
        models.commit()
        with pytest.raises(sqlite3.OperationalError, match="another process has this file open"):
            KeyedModels(MODEL, store=path)
    with contextlib.closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE models (x)")
    text.write_text("no database at all, " * 99)
    for model, file, message in (
        (
            MODEL.clone({"batch_size": 5}),
            path,
            r"the model of .*batch_size=4.*, not .*batch_size=5",
        ),
        (MODEL, other, "none of KeyedModels"),
        (MODEL, tmp_path / "nowhere" / "models.db", r"nowhere.models\.db: unable to open"),
        (MODEL, text, r"text\.db: file is not a database"),
    ):
        with pytest.raises((ValueError, sqlite3.DatabaseError), match=message):
            KeyedModels(model, store=file)
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
            models.learn_many(range(2_000), np.zeros((2_000, 1)), [1.0] * 2_000)
    with pytest.raises((sqlite3.OperationalError, RuntimeError)):
        models.commit({"position": -1})
    models.close()
    with KeyedModels(MODEL, 2, store=path) as models:
        assert models.note == {"position": 20}
        assert contents(models) == contents(learn(KeyedModels(MODEL), 0, 20))


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
    """Rows have the number of a sample: a key that comes after a restart replaces no other.

    Nor does a number that is too long for Python to write it in decimal digits.
    """
    path, keys = tmp_path / "models.db", ("a", "b", 10**5000)
    for key in keys:
        with KeyedModels(MODEL, store=path) as models:
            models.learn_one(key, {"a": 1.0}, 1.0)
            models.learn_one(key, {"a": 1.0}, math.inf)
            models.commit()
    with KeyedModels(MODEL, store=path) as models:
        counts = models.counts()
        assert all(key in models for key in keys)
    assert (counts.n_models, counts.n_samples_seen, counts.n_refused) == (3, 3, 3)
    assert counts.refusal.startswith("sample 6 of <int that cannot be written>: ")


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
for key in "ab":
    models.learn_one(key, {"x": 1}, 9.0)
os._exit(0)  # as if killed: nothing is closed
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_forked_process_is_refused(tmp_path: Path) -> None:
    """It inherits the open file past its lock; the other process loses nothing.

    As that one is killed, it leaves the last commit, complete.
    """
    path = tmp_path / "models.db"
    command = [sys.executable, "-W", "error", "-c", FORKED, str(path)]
    subprocess.run(command, check=True, timeout=120)
    model = ret.StreamDecisionTreeRegressor(leaf_memory=None, seed=1)
    with KeyedModels(model, store=path) as models:
        assert models.note == {"position": 3}
        assert models.predict_one("a", {"x": 1}) == 2.0
        assert models.predict_one("b", {"x": 1}) == 1.0
