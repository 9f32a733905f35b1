"""Faults: signals at any instant, threads, other processes, and no memory.

After any of them a model is as it was before the sample, or as it is after it; one whose step ran
out of memory refuses every further call.
"""

import _thread
import copy
import itertools
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from river_extra_trees import persistence
from tests.tools.contract import CORES, FIRST
from tests.tools.damage import small
from tests.tools.estimators import CASES, CLASSES, PARAMETERS, answers, frozen, learn, make, stream
from tests.tools.systems import Alarm, needs_timers

Case = tuple[str, int]
GROWING = [case for case in FIRST if case[0].startswith(("Stream", "Forgetful"))]
THREADED = [case for case in CASES if PARAMETERS[case[0]][case[1]].get("n_jobs", 1) > 1]


def fuller_stream(case: Case, n: int = 120) -> list[Any]:
    """A stream in which new features, values and labels come all the time."""
    rows = []
    for i, (x, y) in enumerate(stream(case, n, seed=2)):
        if i % 7 == 3:
            x = {**x, f"feature {i}": i / 7, "c": f"value {i}"}
        rows.append((x, f"label {i}" if isinstance(y, str) and i % 11 == 5 else y))
    return rows


# --- Signals


@pytest.fixture
def alarm() -> Iterator[Callable[[float], None]]:
    """Let a signal raise after some seconds; 0 stops it.

    While the main thread starts others, it takes no signals, and the system gives them to a thread
    that does, such as one of BLAS. If that waits for a processor, it comes after the call.
    """
    is_set = False

    def raise_alarm(*_: Any) -> None:
        if is_set:
            raise Alarm

    def raise_after(seconds: float) -> None:
        nonlocal is_set
        is_set = seconds > 0.0
        signal.setitimer(signal.ITIMER_REAL, seconds)

    previous = signal.signal(signal.SIGALRM, raise_alarm)
    yield raise_after
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, previous)


@pytest.mark.slow
@needs_timers
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of a callback
@pytest.mark.parametrize("in_frames", [False, True])
@pytest.mark.parametrize("case", FIRST + THREADED, ids=str)
def test_interrupted_anywhere(case: Case, in_frames: bool, alarm: Callable[[float], None]) -> None:
    """A signal that raises at any instant finds the model as after some sample, in all trees."""
    rows = fuller_stream(case, 400 if in_frames else 120)
    X, y = pd.DataFrame([x for x, _ in rows]), [y for _, y in rows]

    def teach(model: Any) -> None:
        model.learn_many(X, y) if in_frames else learn(model, rows)

    started = time.perf_counter()
    teach(make(case))
    whole = time.perf_counter() - started
    rng, seen = random.Random(3), []
    for _ in range(400):
        model = make(case)
        try:
            alarm(rng.uniform(1e-5, whole))
            teach(model)
            alarm(0)
            whole *= 0.8
        except Alarm:
            seen.append(model.n_samples_seen)
            whole *= 1.05  # other processes may have made it too short
        n = model.n_samples_seen
        assert frozen(model) == frozen(learn(make(case), rows[:n]))
        model._core.check()
        if len(seen) >= 20 and len(set(seen)) > 1:
            return
    raise AssertionError(f"all signals were handled at the same places: {seen}")


# --- Growth that is interrupted


SAMPLE = {"a": 0.3, "b": 2.0}
# Calls that use a model and do not learn.
CALLS: dict[str, Callable[[Any], Any]] = {
    "predict_one": lambda model: model.predict_one(SAMPLE),
    "predict_many": lambda model: list(model.predict_many(np.ones((3, 2)))),
    "debug_one": lambda model: model.debug_one(SAMPLE),
    "to_text": lambda model: model.to_text(),
    "summary": lambda model: model.summary["n_nodes"],
    "snapshot": lambda model: model.snapshot().predict_one(SAMPLE),
    "save": persistence.save_bytes,
    "pickle": lambda model: frozen(pickle.loads(pickle.dumps(model))),
    "deepcopy": lambda model: frozen(copy.deepcopy(model)),
    "copy": lambda model: frozen(copy.copy(model)),
}


@pytest.mark.parametrize("case", GROWING, ids=str)
def test_any_call_does_the_growth_that_is_due(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal between a sample and its growth is never seen, whatever is called next."""

    def interrupt(*_: Any, **__: Any) -> None:
        raise Alarm

    rows = fuller_stream(case)
    for name in CALLS if case in CORES else ("predict_one", "save"):
        model, expected, n = make(case), make(case), 0
        for row in rows:
            learn(expected, [row])
            with monkeypatch.context() as patch:
                patch.setattr(type(model), "_grow", interrupt)
                try:
                    learn(model, [row])
                    continue
                except Alarm:
                    n += 1
            assert model._forest.growth_is_due
            assert CALLS[name](model) == CALLS[name](expected), name
            assert not model._forest.growth_is_due
        assert n > 2
        assert frozen(model) == frozen(expected)


# --- Threads and processes


@pytest.mark.parametrize("case", THREADED, ids=str)
@pytest.mark.parametrize("starts", [False, True])
def test_a_thread_whose_start_fails_is_not_missed(
    case: Case, starts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other threads do its work, whether it was started in spite of the error or not."""
    start_new_thread = _thread.start_new_thread

    def fail(*args: Any) -> int:
        if starts:
            start_new_thread(*args)
        raise MemoryError

    rows = list(stream(case, 200))
    expected = learn(make(case), rows)
    monkeypatch.setattr(_thread, "start_new_thread", fail)
    assert frozen(learn(make(case), rows)) == frozen(expected)


@needs_timers
def test_threads_block_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would handle a signal late that another thread takes."""
    start_new_thread, masks = _thread.start_new_thread, []

    def start(work: Any, *args: Any) -> int:
        def begin(*args: Any) -> None:
            masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, []))
            work(*args)

        return start_new_thread(begin, *args)

    monkeypatch.setattr(_thread, "start_new_thread", start)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    for case in THREADED:
        learn(make(case), stream(case, 120))  # ends with a growth
    assert masks
    faults = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}
    assert all({signal.SIGALRM, signal.SIGINT} <= each and not faults & each for each in masks)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask


@pytest.mark.parametrize("case", THREADED, ids=str)
def test_threads_are_gone_after_the_call(case: Case) -> None:
    """Python would handle a signal late that a leaving thread takes.

    Threads of earlier tests may end meanwhile.
    """
    before = set(sys._current_frames())
    learn(make(case), stream(case, 120))
    assert set(sys._current_frames()) <= before


FORKS = """
import os, signal, sys
import numpy as np
import river_extra_trees as ret

children = []

def fork(*_):
    if not children:
        children.append(os.fork())

X = np.random.default_rng(1).normal(size=(6000, 6))
model = ret.ForgetfulRandomForestRegressor(n_models=8, batch_size=2000, n_jobs=2, seed=1)
model.learn_many(X[:2000], X[:2000, 0])
signal.signal(signal.SIGALRM, fork)
while not children:
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    model.predict_many(np.concatenate([X] * 30))
signal.setitimer(signal.ITIMER_REAL, 0)
if children[0]:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]))
signal.alarm(20)  # ends a child that hangs
os._exit(len(model.predict_many(X)) != 6000)
"""


@needs_timers
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")
def test_a_child_forked_by_a_signal_handler_ends_the_call() -> None:
    """It has none of the threads of its parent, and waits for none."""
    command = [sys.executable, "-W", "ignore", "-c", FORKS]
    assert subprocess.run(command, timeout=120, cwd=Path(__file__).parents[2]).returncode == 0


HELD: list[tuple[Any, Any]] = []  # models and rows that a child process has got from its parent


def go_on(i: int) -> tuple[list[str], bytes]:
    """What one of the models says, and its file, after a further stretch of its stream."""
    model, rows = HELD[i]
    said = answers(learn(model, rows), rows)
    return said, persistence.save_bytes(model)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")
def test_forked_processes() -> None:
    """A child process learns and answers as its parent does: every learner, threads included."""
    for case in FIRST + THREADED:
        HELD.append((learn(make(case), stream(case, 70)), list(stream(case, 70, 1))))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        theirs = pool.map(go_on, range(len(HELD)))
    assert theirs == [go_on(i) for i in range(len(HELD))]


# --- No memory

FAMILIES = ["DynamicTreeRegressor", "ShrubEnsembleRegressor", "StreamDecisionForestClassifier"]
FAMILIES += ["ExtraTreesRegressor"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "has_words"), [*((name, False) for name in FAMILIES), ("ExtraTreesClassifier", True)]
)
def test_no_memory(name: str, has_words: bool) -> None:
    """In an interpreter of its own: the allocations of every thread fail."""
    pytest.importorskip("_testcapi", reason="this Python was built without its tests")
    program = f"from tests.estimator import test_faults as tests; tests.fail({name!r}, {has_words})"
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def words(n: int) -> list[Any]:
    """Samples of two of sixty words: growth lists the samples of a word, and trees leap."""
    rng, rows = random.Random(1), []
    for _ in range(n):
        found = rng.sample(range(60), 2)
        rows.append(({f"word {i}": 1.0 for i in found}, sum(i % 3 for i in found) % 3))
    return rows


def fail(name: str, has_words: bool) -> None:
    """Let each allocation of `learn_one` fail, at several places of a stream.

    A failure may do no harm, so only many in a row that do none end the search.
    """
    import _testcapi

    rows = words(410) if has_words else list(stream((name, 0), 30))
    n_broken = 0
    # Small batches end after rows 7 and 15.
    for n in range(400, 408) if has_words else (0, 7, 8, 15, 29):
        n_harmless, (x, y) = 0, rows[n]
        model = CLASSES[name](seed=1) if has_words else small(name)
        before = pickle.dumps(learn(model, rows[:n]))
        pickle.loads(before).learn_one(x, y)  # what this imports does not fail later
        for k in itertools.count(1):
            model = pickle.loads(before)
            _testcapi.set_nomemory(k - 1, k)
            try:
                model.learn_one(x, y)
                n_harmless += 1
            except MemoryError:
                n_harmless = 0
            finally:
                _testcapi.remove_mem_hooks()
            if n_harmless == 20:
                break
            if is_broken(model):
                n_broken += 1
                assert_refuses(model, x, y)
            elif n_harmless == 0:
                model._core.check()
                learn(model, rows[n:])
    assert n_broken > 0


def is_broken(model: Any) -> bool:
    """Whether it refuses all calls, such as the growth that is due before one."""
    try:
        return bool(model._core.is_broken)
    except RuntimeError:
        return True


def assert_refuses(model: Any, x: Any, y: Any) -> None:
    """Every call says what happened and what to do."""
    for call in (
        lambda: model.learn_one(x, y),
        lambda: model.learn_many(np.ones((1, 2)), [y]),
        lambda: model.predict_many(np.ones((1, 2))),
        lambda: model.predict_one(x),
        lambda: model.n_nodes,
        lambda: pickle.dumps(model),
        lambda: copy.deepcopy(model),
        lambda: persistence.save_bytes(model),
        lambda: model._core.check(),
    ):
        with pytest.raises(RuntimeError, match=r"memory ran out .* load the last saved file"):
            call()
    assert model.clone().n_samples_seen == 0
