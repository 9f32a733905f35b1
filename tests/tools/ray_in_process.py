"""What Ray offers to this package, without processes: for tests of all that is not Ray itself.

Arguments and results go through a pickle, as they do between processes. An actor may be killed, or
be out of reach: then it lives, and nobody knows. One that Ray is told to restart begins anew after
a crash; the message that finds it dead is lost.
"""

from __future__ import annotations

import gc
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest


class RayTaskError(Exception):
    def __init__(self, cause: Exception) -> None:
        self.cause = cause


class RayActorError(Exception):
    pass


class ObjectLostError(Exception):
    pass


class Reference:
    """To a value, or to an error that takes its place."""

    def __init__(self, value: Any, error: Exception | None = None) -> None:
        self.message, self.error = pickle.dumps(value, 5), error


class Method:
    def __init__(self, actor: Actor, name: str) -> None:
        self.actor, self.name = actor, name

    def remote(self, *arguments: Any) -> Reference:
        actor = self.actor
        if actor.has_crashed and actor.options.get("max_restarts"):
            actor.begin()
            return Reference(None, RayActorError())
        if actor.is_dead or actor.has_crashed or actor.is_out_of_reach:
            return Reference(None, RayActorError())
        given = [get(each if isinstance(each, Reference) else put(each)) for each in arguments]
        try:
            return put(getattr(actor.held, self.name)(*given))
        except RayActorError as error:  # a test lets the actor die
            return Reference(None, error)
        except Exception as error:
            error.__traceback__ = error.__context__ = None  # they hold on to what has crashed
            return Reference(None, RayTaskError(error))


class Actor:
    def __init__(self, make: Callable[[], Any], options: dict[str, Any]) -> None:
        self.make, self.options = make, options
        self.is_dead = self.is_out_of_reach = False
        self.begin()
        if "name" in options:
            NAMED[options["namespace"], options["name"]] = self

    def begin(self) -> None:
        self.held = self.make()
        self.has_crashed = False

    def crash(self) -> None:
        """End as a process does that is killed: nothing is saved, and its files are closed."""
        self.held = None
        gc.collect()
        self.has_crashed = True

    def __getattr__(self, name: str) -> Method:
        return Method(self, name)


NAMED: dict[tuple[str, str], Actor] = {}


class Kind:
    """A class whose objects become actors."""

    def __init__(self, kind: Any, options: dict[str, Any]) -> None:
        self.kind, self.options = kind, options

    def remote(self, *arguments: Any) -> Actor:
        given = [each if isinstance(each, Reference) else put(each) for each in arguments]
        return Actor(lambda: self.kind(*map(get, given)), self.options)


def put(value: Any) -> Reference:
    return Reference(value)


def get(reference: Any) -> Any:
    if isinstance(reference, list):
        return [get(each) for each in reference]
    if reference.error is not None:
        raise reference.error
    return pickle.loads(reference.message)


def get_actor(name: str, namespace: str) -> Actor:
    actor = NAMED.get((namespace, name))
    if actor is None or actor.is_dead:
        raise ValueError(f"no actor {name}")
    return actor


def kill(actor: Actor) -> None:
    actor.is_dead = True
    actor.held = None


def take_the_place_of_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `import ray` find this until the test is over."""
    ray: Any = types.ModuleType("ray")
    ray.put, ray.get, ray.kill, ray.get_actor = put, get, kill, get_actor
    ray.is_initialized = lambda: True
    ray.remote = lambda **options: lambda kind: Kind(kind, options)
    ray.exceptions = types.SimpleNamespace(
        ObjectLostError=ObjectLostError, RayActorError=RayActorError, RayTaskError=RayTaskError
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
