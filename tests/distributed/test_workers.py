"""Forests in workers, without processes: all that is not Ray itself."""

from __future__ import annotations

import doctest
import os
import pickle
import random
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from river import base, checks

import river_extra_trees as ret
from river_extra_trees._core.packing import SMALL
from river_extra_trees.distributed import (
    DistributedClassifier,
    DistributedKeyedModels,
    DistributedRegressor,
    split,
)
from river_extra_trees.distributed.ray import workers
from river_extra_trees.distributed.ray.workers import Holder
from river_extra_trees.distributed.splitting import is_splittable
from tests.tools import ray_in_process
from tests.tools.estimators import (
    CASES,
    SPLITTABLE,
    answers,
    begun_anew,
    broken_stream,
    is_classifier,
    learn,
    make,
    stream,
)
from tests.tools.ray_in_process import take_the_place_of_ray
from tests.tools.river_checks import run_check

Case = tuple[str, int]


@pytest.fixture(autouse=True)
def _engine(monkeypatch: pytest.MonkeyPatch) -> None:
    take_the_place_of_ray(monkeypatch)


def spread(forest: Any, **options: Any) -> Any:
    is_one = isinstance(forest, base.Classifier)
    return (DistributedClassifier if is_one else DistributedRegressor)(forest, **options)


def stop_answering(model: Any, number: int) -> None:
    """A worker dies, as its process might."""
    model._workers[number]._actor.is_dead = True


@pytest.mark.parametrize(
    "kind", [DistributedClassifier, DistributedRegressor, DistributedKeyedModels]
)
def test_examples(kind: Any) -> None:
    """The examples of the docstrings, which are not run where there is no Ray, hold."""
    (test,) = doctest.DocTestFinder(recurse=False).find(kind, globs={})
    for example in test.examples:
        example.options.pop(doctest.SKIP, None)
    found = doctest.DocTestRunner().run(test)
    assert found.attempted > 2
    assert found.failed == 0


# --- The start of Ray


@pytest.mark.parametrize(
    ("environment", "is_imported", "options", "variable"),
    [
        ({}, False, {"address": "local", "include_dashboard": False}, "0"),
        ({"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1"}, False, None, "1"),
        ({}, True, {"address": "local", "include_dashboard": False}, None),
        ({"RAY_ADDRESS": "10.0.0.1:6379"}, False, {}, None),
    ],
)
def test_start(
    environment: dict[str, str],
    is_imported: bool,
    options: dict[str, Any] | None,
    variable: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ray starts once, on loopback, unless the user has decided otherwise."""
    name = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
    for each in (name, "RAY_ADDRESS"):
        monkeypatch.setenv(each, "")  # so that it is restored, whatever is done to it
        monkeypatch.delenv(each)
    for each, value in environment.items():
        monkeypatch.setenv(each, value)
    ray, started = sys.modules["ray"], []
    monkeypatch.setattr(ray, "is_initialized", lambda: bool(started))
    monkeypatch.setattr(ray, "init", lambda **given: started.append(given), raising=False)
    if not is_imported:
        monkeypatch.delitem(sys.modules, "ray")
        monkeypatch.setattr(workers, "import_extra", lambda module, extra: ray)
    assert workers.connected() is workers.connected() is ray
    assert len(started) == 1
    assert options is None or started == [options]
    assert os.environ.get(name) == variable


# --- Forests


# How many there are makes a difference to the division of the trees, not to a class of forests.
SPREAD = [
    (case, n_workers) for case in SPLITTABLE for n_workers in ((2, 3, 5) if case[1] == 1 else (3,))
]


@pytest.mark.parametrize(("case", "n_workers"), SPREAD, ids=str)
def test_forests(case: Case, n_workers: int, tmp_path: Path) -> None:
    """They answer as in one process: with weights, new labels, deaths, and after gather."""
    weights, deaths = random.Random(5), random.Random(6)
    asked = list(stream(case, 5, seed=2))
    forest, gathered = make(case, n_models=5), None
    planted = list(forest._core.trees)
    options = {"n_workers": n_workers, "block_size": 37, "folder": tmp_path}
    model = spread(forest.clone(), checkpoint_every=100, **options)
    for i, (x, y) in enumerate(broken_stream(case, 600)):
        label = "new" if is_classifier(case) and i == 300 else y
        weight = weights.choice([0.0, 1.0, 2.5])
        for each in (model, forest, gathered):
            if each is not None:
                each.learn_one(x, label, weight)
        if i % 97 == 50:
            expected = answers(forest, asked)
            assert answers(model, asked) == expected
            assert gathered is None or answers(gathered, asked) == expected
        if i % 97 == 51:
            stop_answering(model, deaths.randrange(n_workers))
        if i == 250:
            gathered = model.gather()
    assert answers(model, asked) == answers(forest, asked) == answers(gathered, asked)
    assert model.n_samples_seen == forest.n_samples_seen
    assert model.n_restarts > 5
    if getattr(forest, "n_swaps", None) != 0:
        assert begun_anew(forest, planted) > 0


def test_refused_questions() -> None:
    """What the forest would not answer is refused in its words, before anything is sent."""
    forest = ret.StreamDecisionForestClassifier(n_models=2, window_size=(20, 50), seed=1)
    model = spread(forest)
    for x in ({"a": float("inf")}, {"a": [1]}, None, 5):
        for method in ("predict_one", "predict_proba_one"):
            with pytest.raises((TypeError, ValueError)) as expected:
                getattr(forest, method)(x)
            with pytest.raises(type(expected.value)) as found:
                getattr(model, method)(x)
            assert type(found.value) is type(expected.value)
            assert str(found.value) == str(expected.value)
    with pytest.raises(ValueError, match="feature 'a': the value must be finite"):
        model.predict_many(pd.DataFrame({"a": [float("inf")]}))
    assert not model._workers


def test_death_is_noticed() -> None:
    """Without a folder, learning raises after two blocks at most, and an answer at once."""
    forest = ret.StreamDecisionForestClassifier(n_models=2, window_size=(20, 50), seed=1)
    rows = [({"a": float(i)}, i % 2) for i in range(20)]
    for is_asked in (False, True):
        model = spread(forest, block_size=20)
        learn(model, rows).predict_one({"a": 1.0})
        stop_answering(model, 0)
        with pytest.raises(RuntimeError, match="no folder for checkpoints"):
            model.predict_one({"a": 1.0}) if is_asked else learn(model, rows * 2)
        model.close()


def test_checkpoints_without_weight(tmp_path: Path) -> None:
    """Samples of weight zero make checkpoints due as others do, so that the log stays short."""
    forest = ret.StreamDecisionForestClassifier(n_models=2, window_size=(20, 50), seed=1)
    with spread(forest, block_size=10, folder=tmp_path, checkpoint_every=20) as model:
        for i in range(200):
            model.learn_one({"a": float(i)}, i % 2, 0.0)
        assert model.counters() == [(0, 0), (0, 0)]
        assert max(len(worker._log) for worker in model._workers) <= 4


def checks_of(model: Any) -> list[Any]:
    skipped = model._unit_test_skips()
    return [
        check
        for check in checks.yield_checks(model)
        if getattr(check, "__name__", "") not in skipped
    ]


@pytest.mark.parametrize("kind", [DistributedClassifier, DistributedRegressor])
def test_river_checks(kind: Any) -> None:
    """Spread forests pass the checks of river, but for those that pickle the model.

    Each on the last of its data sets: the forest itself passes all of them on every one.
    """

    def new() -> Any:
        return kind(**next(iter(kind._unit_test_params())))

    for check in {check.__name__: check for check in checks_of(new())}.values():
        run_check(check, new())


def test_skipped_checks() -> None:
    """The checks that are skipped are those that pickle the model, which is refused."""
    forest = ret.StreamDecisionForestClassifier(n_models=2, window_size=(20, 50), seed=1)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(spread(forest))
    for check in checks.yield_checks(spread(forest)):
        if check.__name__ in spread(forest)._unit_test_skips():
            with pytest.raises(TypeError, match="cannot be pickled"):
                check(spread(forest))


# --- Workers


def test_worker_out_of_reach(tmp_path: Path) -> None:
    """A worker that may live though it cannot be reached is ended, and another one begun."""
    case = ("StreamDecisionForestRegressor", 1)
    forest, asked = make(case), list(stream(case, 5, seed=2))
    with spread(forest.clone(), block_size=20, folder=tmp_path, checkpoint_every=50) as model:
        for i, (x, y) in enumerate(stream(case, 100)):
            model.learn_one(x, y)
            forest.learn_one(x, y)
            if i == 70:
                lost = model._workers[0]._actor
                lost.is_out_of_reach = True
        assert answers(model, asked) == answers(forest, asked)
        assert lost.is_dead
        assert model.n_restarts == 1


class Counter:
    """What a worker may hold, in its simplest form."""

    n_sent = n_samples_seen = 0

    def learn(self, n: int) -> None:
        self.n_sent += n
        self.n_samples_seen += n


def test_missing_call() -> None:
    """A worker that was not told everything says so, rather than go on with a part of it."""
    holder = Holder(Counter(), None, 10)
    for number in (1, 1, 2):  # told twice is learned once
        holder.apply(number, "learn", 1)
    with pytest.raises(RuntimeError, match="call 5 after call 2"):
        holder.apply(5, "learn", 1)
    assert holder.counters() == (2, 0)


def test_all_machines() -> None:
    """Workers ask to be spread over the machines of a cluster."""
    with DistributedKeyedModels(ret.StreamDecisionTreeRegressor(seed=1)) as keyed:
        actors = keyed._actors
    assert [actor.options["scheduling_strategy"] for actor in actors] == ["SPREAD"] * 2


@pytest.mark.parametrize("labels", [("x", "y"), (1, "1"), (0.5, 2.5)], ids=repr)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_answers_in_frames(kind: Any, labels: tuple[Any, Any]) -> None:
    """Of any kind, as the model itself gives them."""
    rows = [({"a": float(i % 2)}, labels[i % 2]) for i in range(60)]
    given = {"n_models": 2, "window_size": (20, 50), "seed": 1}
    models = [learn(ret.StreamDecisionForestClassifier(**given), rows)]
    if labels == (0.5, 2.5):
        models.append(learn(ret.StreamDecisionForestRegressor(**given), rows))
    for model in models:
        for n in (0, 3):
            asked = kind({"a": [1.0, 0.0, 1.0][:n]})
            with spread(model) as parts:
                for other in (model.snapshot(), parts):
                    found, expected = (each.predict_many(asked) for each in (other, model))
                    assert (found.dtype, list(found)) == (expected.dtype, list(expected))
                    if isinstance(model, base.Classifier):
                        found = other.predict_proba_many(asked)
                        assert found.equals(model.predict_proba_many(asked))


# --- What travels


@pytest.mark.parametrize("case", CASES, ids=str)
def test_flat_pickles(case: Case) -> None:
    """Large arrays travel beside the message, which stays small however much was learned."""
    model = learn(make(case), stream(case, 300))
    parts = [model, model.snapshot(), *(split(model, 2) if is_splittable(model) else ())]
    for part in parts:
        buffers: list[pickle.PickleBuffer] = []
        message = pickle.dumps(part, 5, buffer_callback=buffers.append)
        assert len(message) < 2000 + 1000 * model._n_trees
        pickle.loads(message, buffers=[bytes(buffer.raw()) for buffer in buffers])  # read-only
        assert all(buffer.raw().nbytes > SMALL for buffer in buffers)
        assert buffers or model._n_trees == 1 or len(message) < 3000


def test_what_is_large_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large blocks and combined reports go to shared memory once, and not once for each worker."""
    rows = list(stream(("StreamDecisionForestClassifier", 0), 1500))
    frame, targets = pd.DataFrame([x for x, _ in rows]), [y for _, y in rows]
    forest = ret.StreamDecisionForestClassifier(n_models=10, seed=1)
    ray, shared = sys.modules["ray"], []

    def put(value: Any) -> Any:
        shared.append(type(value).__name__)
        return ray_in_process.put(value)

    with spread(forest, n_workers=3) as model:
        model.processes()
        monkeypatch.setattr(ray, "put", put)
        for part in (slice(0, 750), slice(750, 1500)):
            model.learn_many(frame[part], targets[part])
            forest.learn_many(frame[part], targets[part])
        assert answers(model, rows[:20]) == answers(forest, rows[:20])
    assert shared.count("tuple") == 2
    assert shared.count("Block") <= 2
