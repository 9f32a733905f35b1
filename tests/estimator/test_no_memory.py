"""A model whose step ran out of memory refuses every further call; no other is damaged."""

from __future__ import annotations

import copy
import itertools
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from river_extra_trees import persistence
from tests.tools.damage import small
from tests.tools.estimators import frozen, learn, stream

FAMILIES = ["DynamicTreeRegressor", "ShrubEnsembleRegressor", "StreamDecisionForestClassifier"]
FAMILIES += ["ExtraTreesRegressor"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_no_memory(name: str) -> None:
    """In an interpreter of its own: the allocations of every thread fail."""
    pytest.importorskip("_testcapi", reason="this Python was built without its tests")
    program = f"from tests.estimator import test_no_memory as tests; tests.fail({name!r})"
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def fail(name: str) -> None:
    """Let each allocation of `learn_one` fail, at several places of a stream."""
    import _testcapi

    rows = list(stream((name, 0), 30))
    n_broken = 0
    for n in (0, 8, 16, 29):
        x, y = rows[n]
        before = frozen(learn(small(name), rows[:n]))
        pickle.loads(before).learn_one(x, y)  # what this imports does not fail later
        for k in itertools.count(1):
            model = pickle.loads(before)
            _testcapi.set_nomemory(k - 1, k)
            try:
                model.learn_one(x, y)
                break
            except MemoryError:
                pass
            finally:
                _testcapi.remove_mem_hooks()
            if model._core.is_broken:
                n_broken += 1
                assert_refuses(model, x, y)
            else:
                model._core.check()
                learn(model, rows[n:])
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
