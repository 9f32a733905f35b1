"""No memory: whichever allocation fails, nothing crashes or leaks.

A model is as it was, or has learned the sample, or refuses every call.

The allocations of every thread fail, pytest's own among them: `test_no_memory.py` runs these tests
in interpreters that have no other thread.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import itertools
import pickle
import tracemalloc
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from river_extra_trees import persistence
from tests.estimator.test_faults import fuller_stream, state
from tests.tools.damage import SMALL
from tests.tools.estimators import (
    CASES,
    CLASSES,
    PARAMETERS,
    answers,
    frozen,
    learn,
    make,
)

Case = tuple[str, int]
FIRST = [case for case in CASES if case[1] == 0]
THREADED = [case for case in CASES if PARAMETERS[case[0]][case[1]].get("n_jobs", 1) > 1]
FORESTS = [case for case in FIRST if not case[0].startswith("Dynamic")] + THREADED
FAMILIES = [
    *("DynamicTreeRegressor", "ForgetfulRandomForestClassifier"),
    *("ShrubEnsembleRegressor", "StreamDecisionForestClassifier", "ExtraTreesClassifier"),
]
# Frames are read and answers made by what all classes of a family share.
ONE_OF_EACH = [(name, 0) for name in FAMILIES]
TINY = {"n_particles": 6, "window": 10, "seed": 1}
DYNAMIC = [
    ("DynamicTreeRegressor", TINY),
    ("DynamicTreeRegressor", {**TINY, "leaf": "constant", "discard": "alm"}),
    ("DynamicTreeRegressor", {**TINY, "discard": "alc", "forgetting_factor": 0.97}),
    ("DynamicTreeRegressor", {**TINY, "forgetting_factor": 0.9, "published": True}),
    ("DynamicTreeRegressor", {**TINY, "rejuvenate_every": 3}),
    ("DynamicTreeClassifier", {**TINY, "discard": "random"}),
    ("DynamicTreeClassifier", {**TINY, "discard": "entropy", "rejuvenate_every": 3}),
]
# What others make of a lack of memory: numpy, paths, imports, pickle, and what is written in Rust.
DISGUISES = {
    *("MemoryError", "SystemError", "TypeError", "ImportError", "PicklingError", "PanicException")
}


@contextlib.contextmanager
def without_memory(k: int) -> Iterator[None]:
    """Let the k-th allocation of the interpreter, of numpy's objects or of the core fail."""
    testcapi = pytest.importorskip("_testcapi", reason="this Python was built without its tests")
    testcapi.set_nomemory(k - 1, k)
    try:
        yield
    finally:
        testcapi.remove_mem_hooks()


def failures(
    act: Callable[[Any], Any],
    begin: Callable[[], Any] = lambda: None,
    errors: Collection[str] = ("MemoryError",),
    step: int = 1,
) -> Iterator[Any]:
    """Act again and again, each `step`-th allocation failing once; yield what each has left behind.

    The first act has all memory: what it imports does not depend on the tests that ran before.
    """
    act(begin())
    passed, k = 0, 0
    while passed < 10:  # a thread that cannot be started, for instance, is no error
        k += step
        subject = begin()
        error = None
        try:
            with without_memory(k):
                act(subject)
        except BaseException as raised:
            if type(raised).__name__ not in errors:
                raise
            error = raised
        passed = passed + 1 if error is None else 0
        if error is not None:
            yield subject


def step_of(name: str) -> int:
    """Of the code that is the same for all estimators, one meets every failure, the others some."""
    return 1 if name == FAMILIES[0] else 17


def refuses(model: Any, x: Any, y: Any) -> bool:
    """Whether a step of a model failed: then every call says so and what to do."""
    if not model._core.is_broken:
        return False
    for call in (
        lambda: model.learn_one(x, y),
        lambda: model.learn_many(np.ones((1, 2)), [y]),
        lambda: model.predict_many(np.ones((1, 2))),
        lambda: model.predict_one(x),
        lambda: model.n_nodes,
        lambda: pickle.dumps(model),
        lambda: copy.deepcopy(model),
        lambda: persistence.save_bytes(model),
        model._core.check,
    ):
        with pytest.raises(RuntimeError, match=r"memory ran out .* load the last saved file"):
            call()
    assert model.clone().n_samples_seen == 0
    return True


# --- Learning


def failures_to_learn(before: bytes, x: Any, y: Any, step: int = 1) -> Iterator[Any]:
    """Let copies of a model learn a sample."""
    return failures(lambda model: model.learn_one(x, y), lambda: pickle.loads(before), step=step)


@pytest.mark.parametrize("case", FORESTS, ids=str)
def test_no_memory_to_learn(case: Case) -> None:
    """Whichever allocation of learn_one fails: nothing was learned, or all, or the model refuses.

    Of a sample that completes a batch the growth may be missing: the next call makes up for it.
    """
    rows = fuller_stream(case, 70, 0)
    model = make(case)
    step = 1 if case in (*ONE_OF_EACH, THREADED[0]) else 3  # the others are of the same core
    hit = n_broken = 0
    for i, (x, y) in enumerate(rows[:-1]):
        if i in (0, 3, 16, 59):
            before = frozen(model)
            after = state(learn(pickle.loads(before), rows[i : i + 2]))
            for broken in failures_to_learn(before, x, y, step):
                hit += 1
                if refuses(broken, x, y):
                    n_broken += 1
                    continue
                broken._core.check()
                if broken.n_samples_seen == i:
                    assert answers(broken, rows[:3]) == answers(model, rows[:3])
                assert state(learn(broken, rows[broken.n_samples_seen : i + 2])) == after
        model.learn_one(x, y)
    assert hit > 20
    assert n_broken > 0


@pytest.mark.parametrize(("name", "parameters"), DYNAMIC, ids=str)
def test_no_memory_to_learn_for_dynamic_trees(name: str, parameters: dict[str, Any]) -> None:
    """Nothing was learned, or the sample was, or the model refuses every call."""
    rows = fuller_stream((name, 0), 34, 0)
    model = CLASSES[name](**parameters)
    n_untouched = n_broken = 0
    for i, (x, y) in enumerate(rows[:30]):
        if i in (0, 3, 16, 17, 26, 29):
            before = frozen(model)
            for broken in failures_to_learn(before, x, y):
                if refuses(broken, x, y):
                    n_broken += 1
                    continue
                broken._core.check()
                if broken.n_samples_seen == i:
                    n_untouched += 1
                    assert state(broken) == state(pickle.loads(before))
                else:
                    assert broken.n_samples_seen == i + 1
                    learn(broken, rows[i + 1 : i + 4])._core.check()
                broken.predict_one(x)
        model.learn_one(x, y)
    assert n_untouched > 20
    assert n_broken > 20


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_no_memory_again_and_again(case: Case) -> None:
    """Each allocation for each sample fails once; a model that refuses is loaded again."""
    rows = fuller_stream(case, 70, 0)
    model, whole = make(case), make(case)
    for i, (x, y) in enumerate(rows):
        k, saved = 0, frozen(model)
        while model.n_samples_seen == i:
            k += 1
            with contextlib.suppress(MemoryError), without_memory(k):
                model.learn_one(x, y)
            if refuses(model, x, y):
                model = pickle.loads(saved)
        model._core.check()
    assert state(learn(model, rows[:1])) == state(learn(learn(whole, rows), rows[:1]))


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_no_memory_to_learn_a_frame(case: Case) -> None:
    """The rows of a frame before some row are learned, and no row in part, or the model refuses."""
    rows = fuller_stream(case, 24, 0)
    model = learn(make(case), rows[:17])
    before = frozen(model)
    columns = {name: [x.get(name) for x, _ in rows[17:]] for name in ("a", "b", "c")}
    targets = [y for _, y in rows[17:]]
    for frame in (objects(columns), np.random.default_rng(1).random((len(targets), 2))):
        learned = {17 + i: 0 for i in range(len(targets) + 1)}
        for broken in failures(
            partial(learn_frame, frame, targets),
            lambda: pickle.loads(before),
            DISGUISES,
            step_of(case[0]),
        ):
            if refuses(broken, *rows[17]):
                continue
            learned[broken.n_samples_seen] += 1
            learn(broken, rows[:1])._core.check()  # which makes up for the growth of a batch
        assert learned[17] > 0


def learn_frame(frame: Any, targets: Any, model: Any) -> None:
    """Learn a frame; predictions of an array, as pandas crashes as it makes a series of texts."""
    if isinstance(frame, np.ndarray):
        model.predict_learn_many(frame, targets)
    else:
        model.learn_many(frame, targets)


def objects(columns: dict[str, list[Any]]) -> pd.DataFrame:
    """A frame of Python objects; without memory polars crashes as it makes arrays."""
    return pd.DataFrame(columns, dtype=object)


# --- Answers


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
def test_no_memory_to_answer(case: Case) -> None:
    """Whichever allocation of a prediction fails, the model stays as it was."""
    model = learn(make(case), fuller_stream(case, 60, 0))
    x, _ = fuller_stream(case, 4, 1)[3]
    frame = objects({"a": [0.5, 0.1], "c": ["red", "new"]})
    before = state(model)
    step = step_of(case[0])
    asked = [(lambda _: model.predict_one(x), 1), (lambda _: model.predict_many(frame), step)]
    if hasattr(model, "predict_proba_one"):
        asked += [
            (lambda _: model.predict_proba_one(x), 1),
            (lambda _: model.predict_proba_many(frame), step),
        ]
    for ask, step_of_failures in asked:
        hit = 0
        for _ in failures(ask, errors=DISGUISES, step=step_of_failures):
            hit += 1
            assert state(model) == before
        assert hit > 0


# --- Copies and files


def small(name: str) -> Any:
    return learn(CLASSES[name](**SMALL[name]), fuller_stream((name, 0), 19, 0))


# How a file is written is the same for all, so that one family tells it all.
@pytest.mark.parametrize(
    ("name", "way"),
    [*itertools.product(FAMILIES, ["pickle", "copy"]), ("ShrubEnsembleRegressor", "save")],
)
def test_no_memory_to_write(name: str, way: str, tmp_path: Path) -> None:
    """A model that cannot be pickled, copied or saved stays as it was, and so does the file."""
    model = small(name)
    path = str(tmp_path / "model")
    persistence.save(model, path)
    old = persistence.save_bytes(model)
    model.learn_one({"a": 1.0}, "low" if hasattr(model, "predict_proba_one") else 0.5)
    before, new = state(model), persistence.save_bytes(model)
    write = {
        "pickle": lambda _: pickle.dumps(model),
        "copy": lambda _: copy.deepcopy(model),
        "save": lambda _: persistence.save(model, path),
    }[way]
    step = {"pickle": 1, "copy": 3, "save": 3}[way] * (1 if name == FAMILIES[0] else 2)
    hit = 0
    for _ in failures(write, errors=DISGUISES, step=step):
        hit += step
        assert state(model) == before
        assert Path(path).read_bytes() in (old, new)
    assert hit > 100


@pytest.mark.parametrize("way", ["pickle", "file"])
@pytest.mark.parametrize("name", FAMILIES)
def test_no_memory_to_read(name: str, way: str) -> None:
    """A model is read whole or not at all, and no good file is called a damaged one."""
    model = small(name)
    read, content = {
        "pickle": (pickle.loads, frozen(model)),
        "file": (persistence.load_bytes, persistence.save_bytes(model)),
    }[way]
    found: list[Any] = []
    step = step_of(name)
    read_again = failures(lambda _: found.append(read(content)), errors=DISGUISES, step=step)
    assert sum(step for _ in read_again) > 100
    expected = state(read(content))
    assert all(state(other) == expected for other in found)


# --- Leaks


@pytest.mark.parametrize("name", FAMILIES)
def test_no_memory_leaks_none(name: str) -> None:
    """What a failure has taken it gives back.

    A leak makes every round hold more. Python's own caches do so only until they are full, which
    takes more than 20 rounds in some processes.
    """
    rows = fuller_stream((name, 0), 20, 0)
    before = frozen(learn(CLASSES[name](**SMALL[name]), rows[:16]))
    x, y = rows[17]

    def fail_everywhere() -> int:
        for _ in failures_to_learn(before, x, y):
            pass
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        held = (fail_everywhere() for _ in range(200))
        assert any(later - earlier < 100 for earlier, later in itertools.pairwise(held))
    finally:
        tracemalloc.stop()
