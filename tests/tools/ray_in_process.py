"""What Ray offers to this package, without processes: for tests of all that is not Ray itself.

Arguments and results go through a pickle, as they do between processes. An actor may crash.
"""

from __future__ import annotations

import gc
import pickle
import sys
import types
from typing import Any

import pytest

from river_extra_trees.distributed import Answer


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        self.cause = cause


class Reference:
    """To a value, or to an error that takes its place."""

    def __init__(self, value: Any, error: Exception | None = None) -> None:
        self.message, self.error = pickle.dumps(value, 5), error


class Actor:
    def __init__(self, held: Any) -> None:
        self.held = held

    def crash(self) -> None:
        """End as a process does that is killed: nothing is saved, and its files are closed."""
        self.held = None
        gc.collect()

    def __getattr__(self, name: str) -> Any:
        def remote(*arguments: Any) -> Reference:
            if self.held is None:
                return Reference(None, RayError())
            given = [get(each if isinstance(each, Reference) else put(each)) for each in arguments]
            try:
                return put(getattr(self.held, name)(*given))
            except Exception as error:
                error.__traceback__ = error.__context__ = None  # they hold on to what has crashed
                return Reference(None, RayTaskError(error))

        return types.SimpleNamespace(remote=remote)


def put(value: Any) -> Reference:
    return Reference(value)


def get(reference: Any) -> Any:
    if isinstance(reference, list):
        return [get(each) for each in reference]
    if reference.error is not None:
        raise reference.error
    return pickle.loads(reference.message)


def take_the_place_of_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `import ray` find this until the test is over."""
    ray: Any = types.ModuleType("ray")
    ray.put, ray.get, ray.kill = put, get, Actor.crash
    ray.is_initialized = lambda: True
    ray.remote = lambda **_: lambda kind: types.SimpleNamespace(remote=lambda: Actor(kind()))
    ray.exceptions = types.SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
    monkeypatch.setitem(sys.modules, "ray", ray)


class ServedHere:
    """Answers as a `SnapshotServer`, without processes; `test_serving.py` tests the real one."""

    def __init__(self, snapshot: Any, **_: Any) -> None:
        self.publish(snapshot)

    def publish(self, snapshot: Any) -> None:
        self.snapshot = snapshot

    def ask(self, method: str, x: Any) -> Answer:
        return Answer(getattr(self.snapshot, method)(x), self.snapshot.n_samples_seen)

    def __enter__(self) -> ServedHere:
        return self

    def __exit__(self, *_: object) -> None:
        pass
