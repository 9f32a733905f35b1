"""Watched models in model files: they go on as before, and damage is refused or harmless."""

import random
from collections.abc import Callable
from typing import Any

import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees._core.state import StateError
from river_extra_trees.watch import Alarm
from tests.test_watch import fed, stream, tree
from tests.tools import damage

MODELS: dict[str, Callable[[], Any]] = {
    "alone": lambda: ret.Watch(tree(batch_size=8), 5_000, seed=3),
    "around a pipeline": lambda: ret.Watch(ret.ColumnKinds() | tree(batch_size=50)),
    "in a pipeline": lambda: ret.ColumnKinds() | ret.Watch(ret.ExtraTreesClassifier(6, seed=1)),
}


def watch_in(model: Any) -> Any:
    return model if isinstance(model, ret.Watch) and not hasattr(model, "steps") else model[-1]


@pytest.mark.parametrize("n", [0, 5, 700, 3_200])
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_watch_goes_on_alike(name: str, n: int) -> None:
    """The same answers, the same alarms, the same bytes."""
    broken = stream(n, change=lambda x, y: ({**x, "b": 1e3}, not y), at=3_000)
    model = fed(MODELS[name](), broken)
    content = persistence.save_bytes(model)
    other = persistence.load_bytes(content)
    assert persistence.save_bytes(other) == content
    for x, y in stream(2_500, seed=2, change=lambda x, y: ({**x, "d": "?"}, y), at=100):
        assert other.predict_proba_one(x) == model.predict_proba_one(x)
        model.learn_one(x, y)
        other.learn_one(x, y)
    assert list(watch_in(other).alarms) == list(watch_in(model).alarms)
    assert persistence.save_bytes(other) == persistence.save_bytes(model)


def test_what_a_file_cannot_hold() -> None:
    """The function is left out; of other models, the error is that of the model."""
    watch = fed(ret.Watch(tree(), on_alarm=print), stream(20))
    assert persistence.load_bytes(persistence.save_bytes(watch)).on_alarm is None
    watch.alarms.append(Alarm(3, "inputs", ("a", 1), 0.5, "words"))
    assert persistence.load_bytes(persistence.save_bytes(watch)).alarms == watch.alarms
    with pytest.raises(TypeError, match="watch of a watch"):
        persistence.save_bytes(ret.Watch(watch))


def use(model: Any) -> None:
    """Ask and teach a watched model."""
    fed(model, stream(300, seed=3))
    assert isinstance(model.unwatched, list)
    persistence.save_bytes(model)


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        ("/watch/n_samples", ["int", hex(2**62)], "n_samples is too large"),
        ("/watch/total", ["float", "inf"], "total must be"),
        ("/watch/n", ["int", hex(2**20)], "n must be a whole"),
    ],
)
def test_forged_counts_and_sums_are_refused(place: str, value: Any, problem: str) -> None:
    """The watch would go on, and could not be saved."""
    content = persistence.save_bytes(fed(MODELS["alone"](), stream(20)))
    with pytest.raises(persistence.ModelFileError, match=problem):
        persistence.load_bytes(damage.with_value(content, place, value))


@pytest.mark.parametrize("name", ["counts", "usual", "recent"])
def test_counts_that_floats_do_not_hold_are_refused(name: str) -> None:
    restored, (*fixed, state) = fed(MODELS["alone"](), stream(1_000))._inputs.__reduce__()
    state["arrays"][name][1, 1] = 2.0**24
    restored(*fixed, state).count()
    state["arrays"][name][1, 1] += 1.0
    with pytest.raises(StateError, match=name):
        restored(*fixed, state)


@pytest.mark.slow
def test_damage_of_the_right_hash_does_no_harm() -> None:
    """A forger's file is refused, or is a watch that goes on."""
    content, rng = persistence.save_bytes(fed(MODELS["alone"](), stream(2_500))), random.Random(1)
    said = {damage.outcome(damage.scrambled(content, rng), use) for _ in range(200)}
    assert said == {"refused", "sound"}
    assert damage.nasty_outcomes(content, 401, use).keys() == {"refused", "sound"}
