"""Public methods with arguments that make no sense, and calls that come while another one runs."""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pandas as pd
import pytest
from matplotlib import pyplot

from river_extra_trees import persistence, plotting
from tests.tools.contract import CORES, Case
from tests.tools.estimators import answers, frozen, learn, make, stream

IN_USE = "the model is in use"  # by another thread, or by a call that this one is part of

# -------------------------------------------------------------------- arguments

ODD: list[Any] = [
    *(-(2**63), -(2**31) - 1, -(10**6), -2, -1, 1, 2, 3, 7, 99, 100, 1000, 10**6),
    *(2**31 - 1, 2**31, 2**32, 2**63, 10**30, True, 0.5, -1.0, 1e300, float("nan")),
    *(float("inf"), "0", "x", "", b"0", None, (), [], [0], {}, {"a": 1.0}, object(), 1j),
]
# What is raised for an argument; river's own methods raise what they like.
REFUSALS = (TypeError, ValueError, IndexError)


@functools.cache
def arguments(case: Case) -> dict[str, Any]:
    """A good value for every argument that a public method may have."""
    rows = list(stream(case, 6))
    frame = pd.DataFrame([x for x, _ in rows])
    frame.columns = frame.columns.map(str)
    return {
        **{"x": rows[0][0], "y": rows[0][1], "w": 1.0, "X": frame, "tree": 0, "max_depth": None},
        **{"with_dist": False, "new_params": {}, "include_attributes": False, "new_attrs": {}},
    }


def public_methods(model: Any) -> Iterator[str]:
    for name, member in inspect.getmembers(type(model), callable):
        if not name.startswith("_") and not inspect.isclass(member):
            yield name


def good(method: Any, case: Case, **odd: Any) -> dict[str, Any]:
    """Arguments for a call, some of them given; those of a frame fit its length."""
    values = arguments(case).copy()
    if "X" in inspect.signature(method).parameters:
        values["y"] = [y for _, y in stream(case, 6)]
    names = inspect.signature(method).parameters
    return {name: values[name] for name in names if name in values} | odd


@pytest.mark.parametrize("case", [*CORES, ("ExtraTreesClassifier", 0)], ids=str)
def test_odd_arguments(case: Case) -> None:
    """Each is taken or refused; the model answers as before, unless it was taught."""
    rows = list(stream(case, 60))
    content = frozen(learn(make(case), rows))
    model = learn(make(case), rows)
    wanted = answers(model, rows)
    for name in public_methods(model):
        method = getattr(model, name)
        ours = "river_extra_trees" in str(inspect.getmodule(method))
        step = 7 if name == "draw" or not case[0].startswith("Dynamic") else 1
        if name == "draw" and case != CORES[0]:
            continue  # pictures take long
        for argument in inspect.signature(method).parameters:
            for odd in ODD[::step]:
                try:
                    method(**good(method, case, **{argument: odd}))
                except REFUSALS as error:
                    assert str(error), (name, argument, odd)
                except Exception as error:
                    assert not ours, (name, argument, odd, error)
        pyplot.close("all")
        if "learn" in name:
            model._core.check()
            model = learn(make(case), rows)
        else:
            assert answers(model, rows) == wanted, name
    assert frozen(model) == content


@pytest.mark.parametrize("case", CORES, ids=str)
def test_tree_numbers(case: Case) -> None:
    """A wrong number of a tree is an IndexError that says which there are; no number, an error."""
    model = learn(make(case), stream(case, 60))
    n = model._n_trees
    x = next(stream(case, 1))[0]
    points = [({"a": 0.1, "b": 1.0}, 0), ({"a": 0.2, "b": 2.0}, 1)]
    looks: list[Callable[[Any], Any]] = [
        lambda tree: model.to_text(tree),
        lambda tree: model.draw(tree),
        lambda tree: model.debug_one(x, tree),
        lambda tree: model._core.nodes(tree),
        lambda tree: plotting.TreeDisplay.from_estimator(model, tree=tree),
        lambda tree: plotting.LeafMapDisplay.from_estimator(
            model, points, features=("a", "b"), tree=tree
        ),
    ]
    have = f"trees 0 to {n - 1}" if n > 1 else "one tree, number 0"
    for look in looks:
        look(n - 1)
        look(n > 1)  # as a list takes it
        for number in (-1, n, 2**31, 2**63, -(10**30)):
            with pytest.raises(IndexError, match=f"there is no tree {number}: .*{have}"):
                look(number)
        for value in (0.0, "0", None, [0], float("nan")):
            with pytest.raises(TypeError, match="tree must be a whole number"):
                look(value)
        pyplot.close("all")


# -------------------------------------------------------------------- calls within calls


class Hook:
    """Calls a model, and counts how often that was refused because the model was in use."""

    def __init__(self) -> None:
        self.acts: list[Callable[[], Any]] = []
        self.refused = 0

    def __call__(self) -> None:
        for act in self.acts:
            try:
                act()
            except RuntimeError as error:
                assert IN_USE in str(error)
                self.refused += 1


def acts_of(model: Any, case: Case) -> list[Callable[[], Any]]:
    """Every public method and property of a model, and what copies, saves and checks it."""
    acts: list[Callable[[], Any]] = [
        lambda: model._core.check(),
        lambda: frozen(model),
        lambda: persistence.save_bytes(model),
    ]
    for name, member in inspect.getmembers(type(model)):
        if isinstance(member, property) and not name.startswith("_") and hasattr(model, name):
            acts.append(functools.partial(getattr, model, name))
    for name in public_methods(model):
        method = getattr(model, name)
        acts.append(functools.partial(method, **good(method, case)))
    return acts


def calling(hook: Hook, kind: type, value: Any) -> Any:
    """A value that is equal to another one, whose own code calls the hook."""

    class Calling(kind):  # type: ignore[misc, valid-type]
        def __hash__(self) -> int:
            hook()
            return hash(value)

        def __eq__(self, other: object) -> bool:
            hook()
            return bool(value == other)

        def __float__(self) -> float:
            hook()
            return float(value)

        def __str__(self) -> str:
            hook()
            return str(value)

    return Calling(value)


def items(x: dict[Any, Any], hook: Hook) -> dict[Any, Any]:
    """A sample whose items call the hook."""

    class Items(dict[Any, Any]):
        def items(self) -> Any:
            hook()
            return super().items()

    return Items(x)


Sample = tuple[Any, Any, Any]
# Samples whose own code calls a hook, from one place in them.
PLACES: dict[str, Callable[[dict[Any, Any], Any, Hook], Sample]] = {
    "name": lambda x, y, hook: ({calling(hook, str, "a"): 0.25, "c": "red"}, y, 2.0),
    "new name": lambda x, y, hook: ({**x, calling(hook, str, "new"): 1.0}, y, 2.0),
    "value": lambda x, y, hook: ({**x, "c": calling(hook, str, "red")}, y, 2.0),
    "new value": lambda x, y, hook: ({**x, "c": calling(hook, str, "violet")}, y, 2.0),
    "number": lambda x, y, hook: ({**x, "a": calling(hook, float, 0.25)}, y, 2.0),
    "target": lambda x, y, hook: (x, calling(hook, type(y), y), 2.0),
    "weight": lambda x, y, hook: (x, y, calling(hook, float, 2.0)),
    "items": lambda x, y, hook: (items(x, hook), y, 2.0),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", CORES, ids=str)
def test_calls_within_a_call_are_refused(case: Case, place: str) -> None:
    """A model that its own sample calls goes on as if nothing had called it."""
    rows = list(stream(case, 70))
    model, twin = (learn(make(case), rows[:37]) for _ in range(2))
    quiet, hook = Hook(), Hook()
    for x, target in stream(case, 3, seed=5):
        x = {**x, "a": 0.25, "c": "red"}
        asked, y, w = PLACES[place](x, target, quiet)
        twin.learn_one(asked, y, w=w)
        x, y, w = PLACES[place](x, target, hook)
        hook.acts = acts_of(model, case)
        model.learn_one(x, y, w=w)
        model.predict_one(x)
        hook.acts = []
        model._core.check()
    assert hook.refused > 0
    assert answers(learn(model, rows[37:]), rows) == answers(learn(twin, rows[37:]), rows)


@pytest.fixture
def _hasty_threads() -> Iterator[None]:
    """Python passes its lock on as often as it can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("_hasty_threads")
@pytest.mark.parametrize("case", CORES, ids=str)
def test_calls_of_threads_are_refused_while_another_runs(case: Case) -> None:
    """Without a lock there is an error now and then, and the structures stay sound."""
    model = make(case)
    rows = list(stream(case, 200))
    samples = itertools.cycle(rows)
    learning = [lambda: model.learn_one(*next(samples))]
    looking = [lambda: model.predict_one(rows[7][0])]
    until = time.monotonic() + 0.2

    def work(acts: list[Callable[[], Any]]) -> None:
        for act in itertools.cycle(acts):
            if time.monotonic() > until:
                return
            try:
                act()
            except RuntimeError as error:
                assert IN_USE in str(error)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, [learning, learning, looking, acts_of(model, case)]))
    model._core.check()
    learn(model, rows)
    persistence.load_bytes(persistence.save_bytes(model))
