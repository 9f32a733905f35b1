"""What Ray offers to this package, without processes: for tests of all that is not Ray itself.

Arguments and results go through a pickle, as they do between processes. An actor may be killed, or
be out of reach: then it lives, and nobody knows.
"""

from __future__ import annotations

import pickle
import sys
import types
from typing import Any

import pytest


class RayTaskError(Exception):
    def __init__(self, cause: Exception) -> None:
        self.cause = cause


class RayActorError(Exception):
    pass


class Reference:
    """To a value, or to an error that takes its place."""

    def __init__(self, value: Any, error: Exception | None = None) -> None:
        self.message, self.error = pickle.dumps(value, 5), error


class Method:
    def __init__(self, actor: Actor, name: str) -> None:
        self.actor, self.name = actor, name

    def remote(self, *arguments: Any) -> Reference:
        if self.actor.is_dead or self.actor.is_out_of_reach:
            return Reference(None, RayActorError())
        given = [get(each if isinstance(each, Reference) else put(each)) for each in arguments]
        try:
            return put(getattr(self.actor.held, self.name)(*given))
        except Exception as error:
            return Reference(None, RayTaskError(error))


class Actor:
    def __init__(self, held: Any, options: dict[str, Any]) -> None:
        self.held, self.options = held, options
        self.is_dead = self.is_out_of_reach = False

    def __getattr__(self, name: str) -> Method:
        return Method(self, name)


class Kind:
    """A class whose objects become actors."""

    def __init__(self, kind: Any, options: dict[str, Any]) -> None:
        self.kind, self.options = kind, options

    def remote(self, *arguments: Any) -> Actor:
        given = [get(each) if isinstance(each, Reference) else each for each in arguments]
        return Actor(self.kind(*given), self.options)


def put(value: Any) -> Reference:
    return Reference(value)


def get(reference: Reference) -> Any:
    if reference.error is not None:
        raise reference.error
    return pickle.loads(reference.message)


def kill(actor: Actor) -> None:
    actor.is_dead = True


def take_the_place_of_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `import ray` find this until the test is over."""
    ray: Any = types.ModuleType("ray")
    ray.put, ray.get, ray.kill = put, get, kill
    ray.is_initialized = lambda: True
    ray.remote = lambda **options: lambda kind: Kind(kind, options)
    ray.exceptions = types.SimpleNamespace(RayActorError=RayActorError, RayTaskError=RayTaskError)
    monkeypatch.setitem(sys.modules, "ray", ray)
