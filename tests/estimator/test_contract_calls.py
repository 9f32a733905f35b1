"""Public methods with arguments that make no sense, and calls that come while another one runs."""

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


def public_methods(model: Any) -> Iterator[str]:
    for name, member in inspect.getmembers(type(model), callable):
        if not name.startswith("_") and not inspect.isclass(member):
            yield name


def good(method: Any, case: Case) -> dict[str, Any]:
    """A good value for every argument of a public method."""
    rows = list(stream(case, 6))
    values = {
        **{"x": rows[0][0], "y": rows[0][1], "w": 1.0, "tree": 0, "max_depth": None},
        **{"with_dist": False, "new_params": {}, "include_attributes": False, "new_attrs": {}},
    }
    names = inspect.signature(method).parameters
    if "X" in names:
        values["X"] = pd.DataFrame([x for x, _ in rows]).rename(columns=str)
        values["y"] = [y for _, y in rows]
    return {name: values[name] for name in names if name in values}


@pytest.mark.parametrize("case", CORES, ids=str)
def test_odd_arguments(case: Case) -> None:
    """Each is taken or refused; the model answers as before, unless it was taught."""
    rows = list(stream(case, 60))
    content = frozen(learn(make(case), rows))
    model = learn(make(case), rows)
    wanted = answers(model, rows)
    for name in public_methods(model):
        method = getattr(model, name)
        arguments = good(method, case)
        ours = "river_extra_trees" in str(inspect.getmodule(method))
        step = 7 if name == "draw" or not case[0].startswith("Dynamic") else 1
        if name == "draw" and case != CORES[0]:
            continue  # pictures take long
        for argument in inspect.signature(method).parameters:
            for odd in ODD[::step]:
                try:
                    method(**{**arguments, argument: odd})
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
        for value in (0.0, "0", [0], float("nan")):
            with pytest.raises(TypeError, match="tree must be a whole number"):
                look(value)
        pyplot.close("all")
    with pytest.raises(TypeError, match="tree must be a whole number"):
        model.to_text(None)


# -------------------------------------------------------------------- calls within calls


class Caller:
    """Calls a model from places of a sample; in some, that was refused as the model was in use."""

    def __init__(self) -> None:
        self.acts: list[Callable[[], Any]] = []
        self.refused: set[str] = set()

    def call_from(self, place: str) -> None:
        for act in self.acts:
            try:
                act()
            except RuntimeError as error:
                assert IN_USE in str(error)
                self.refused.add(place)

    def value(self, place: str, value: Any) -> Any:
        """A value that is equal to another one, whose own code calls the model."""

        class Calling(type(value)):  # type: ignore[misc]
            def __hash__(self) -> int:
                caller.call_from(place)
                return hash(value)

            def __eq__(self, other: object) -> bool:
                caller.call_from(place)
                return bool(value == other)

            def __float__(self) -> float:
                caller.call_from(place)
                return float(value)

            def __str__(self) -> str:
                caller.call_from(place)
                return str(value)

        caller = self
        return Calling(value)

    def items(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """A sample that calls the model when it is asked for its items."""

        class Items(dict[Any, Any]):
            def items(self) -> Any:
                caller.call_from("items")
                return super().items()

        caller = self
        return Items(x)


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


@pytest.mark.parametrize("case", CORES, ids=str)
def test_calls_within_a_call_are_refused(case: Case) -> None:
    """A model that its own sample calls goes on as if nothing had called it."""
    rows = list(stream(case, 70))
    model, twin = (learn(make(case), rows[:37]) for _ in range(2))
    caller = Caller()
    for text, (x, y) in zip(("red", "violet", "red"), stream(case, 3, seed=5), strict=True):
        others = {name: value for name, value in x.items() if name not in ("a", "c")}
        twin.learn_one({**others, "a": 0.25, "c": text, f"new {text}": 1.0}, y, w=2.0)
        name, new = caller.value("name", "a"), caller.value("new name", f"new {text}")
        loud = {name: caller.value("number", 0.25), "c": caller.value(text, text), new: 1.0}
        sample = caller.items({**others, **loud})
        target, weight = caller.value("target", y), caller.value("weight", 2.0)
        caller.acts = acts_of(model, case)
        model.learn_one(sample, target, w=weight)
        model.predict_one(sample)
        caller.acts = []
        model._core.check()
    places = {"name", "new name", "red", "violet", "number", "items", "target", "weight"}
    assert caller.refused == places
    assert answers(learn(model, rows[37:]), rows) == answers(learn(twin, rows[37:]), rows)


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
            except ValueError as error:  # of `to_shap`, once a tree splits nominal values
                assert "shap cannot read" in str(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # Python passes its lock on as often as it can
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, [learning, learning, looking, acts_of(model, case)]))
    finally:
        sys.setswitchinterval(interval)
    model._core.check()
    learn(model, rows)
    persistence.load_bytes(persistence.save_bytes(model))
