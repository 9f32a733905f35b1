"""Models per key on a real Ray of this machine: nothing is lost at a restart.

What does not depend on Ray itself is tested without it, in `test_keyed.py`.
"""

import os
import pickle
import signal
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees.distributed import DistributedKeyedModels
from river_extra_trees.keyed import KeyedModels
from river_extra_trees.persistence import save_bytes
from tests.tools.estimators import CASES, answers, learn, make, stream

TREE = ret.StreamDecisionTreeRegressor(batch_size=5, seed=1)


def keyed_rows(n: int) -> tuple[list[int], pd.DataFrame, pd.Series]:
    numbers = range(n)
    X = pd.DataFrame({"x": [i % 11 for i in numbers], "t": numbers}, dtype=float)
    return [i % 37 for i in numbers], X, X["x"] + X["t"] % 37


@pytest.mark.slow
def test_keyed_models(ray: Any, tmp_path: Path) -> None:
    """A worker is killed, and the run begins again from the last commit."""
    keys, X, y = keyed_rows(3000)
    alone = KeyedModels(TREE)
    alone.learn_many(keys, X, y)
    models = DistributedKeyedModels(TREE, 2, tmp_path)
    models.learn_many(keys[:2000], X[:2000], y[:2000])
    models.commit()
    models.learn_many(keys[2000:2500], X[2000:2500], y[2000:2500])
    process = ray.get(models._workers[1].__ray_call__.remote(lambda _: os.getpid()))
    os.kill(process, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="a worker has died"):
        models.predict_many(keys[:50], X[:50])
    models._stop()
    with DistributedKeyedModels(TREE, 2, tmp_path) as models:
        assert models.position == 2000
        models.learn_many(keys[2000:], X[2000:], y[2000:])
        assert models.counts().n_samples_seen == 3000
        assert models.predict_many(keys[:50], X[:50]).equals(alone.predict_many(keys[:50], X[:50]))
        assert models.predict_one("new", {"x": 1.0}) is None
        for key in set(keys):
            assert save_bytes(models.model_of(key)) == save_bytes(alone.model_of(key))


def test_pickles_of_ray() -> None:
    """Ray's own pickler, which takes methods apart, copies every learner."""
    cloudpickle = pytest.importorskip("ray.cloudpickle", reason="the extra `ray` is not installed")
    for case in CASES:
        model, asked = learn(make(case), stream(case, 70)), list(stream(case, 10, seed=2))
        copied = pickle.loads(cloudpickle.dumps(model))
        assert answers(copied, asked) == answers(model, asked), case


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Ray, the first worker says what to install."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"extra 'ray'.*pip install ray"):
        DistributedKeyedModels(TREE)
