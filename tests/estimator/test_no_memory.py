"""No memory: a sample is learned or not, or the model refuses every further call; nothing leaks."""

from __future__ import annotations

import copy
import gc
import itertools
import os
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from river_extra_trees import persistence
from tests.tools.damage import small
from tests.tools.estimators import frozen, learn, stream
from tests.tools.faults import fuller_stream, state

FAMILIES = [
    *("DynamicTreeRegressor", "ForgetfulRandomForestClassifier", "ShrubEnsembleRegressor"),
    *("StreamDecisionForestClassifier", "ExtraTreesClassifier", "ExtraTreesRegressor"),
]
PLACES = (0, 3, 8, 16, 29)  # samples before the one that is learned without memory


@pytest.mark.slow
@pytest.mark.parametrize("which", ["fail_everywhere", "leak_nothing"])
@pytest.mark.parametrize("name", FAMILIES)
def test_no_memory(name: str, which: str) -> None:
    """In an interpreter of its own: the allocations of every thread fail."""
    pytest.importorskip("_testcapi", reason="this Python was built without its tests")
    program = f"from tests.estimator import test_no_memory as tests; tests.{which}({name!r})"
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": "0"},  # the same allocations in every run
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def learned_without_memory(before: bytes, x: Any, y: Any) -> list[Any]:
    """What becomes of a model if one allocation of `learn_one` fails, for each of them."""
    import _testcapi

    pickle.loads(before).learn_one(x, y)  # what this imports does not fail later
    found: list[Any] = []
    for k in itertools.count(1):
        model = pickle.loads(before)
        _testcapi.set_nomemory(k - 1, k)
        try:
            model.learn_one(x, y)
            return found
        except MemoryError:
            found.append(model)
        finally:
            _testcapi.remove_mem_hooks()
    return found


def fail_everywhere(name: str) -> None:
    """Nothing was learned, or the sample was, or the model refuses every call."""
    rows = fuller_stream((name, 0), PLACES[-1] + 2, 0)
    n_untouched = n_broken = 0
    for n in PLACES:
        before = frozen(learn(small(name), rows[:n]))
        after = state(learn(pickle.loads(before), rows[n : n + 2]))
        for model in learned_without_memory(before, *rows[n]):
            if model._core.is_broken:
                n_broken += 1
                assert_refuses(model, *rows[n])
                continue
            n_untouched += model.n_samples_seen == n
            model._core.check()
            assert state(learn(model, rows[model.n_samples_seen : n + 2])) == after
    assert n_untouched > 20
    assert n_broken > 0


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
        model._core.check,
    ):
        with pytest.raises(RuntimeError, match=r"memory ran out .* load the last saved file"):
            call()
    assert model.clone().n_samples_seen == 0


def leak_nothing(name: str) -> None:
    """A leak makes every round hold more; Python's own caches do so only until they are full."""
    rows = list(stream((name, 0), 18))
    before = frozen(learn(small(name), rows[:16]))

    def held() -> int:
        learned_without_memory(before, *rows[17])
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    rounds = (held() for _ in range(200))
    assert any(later - earlier < 100 for earlier, later in itertools.pairwise(rounds))
