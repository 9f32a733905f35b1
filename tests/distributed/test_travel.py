"""What cannot be sent to another process is refused before anything is learned."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import naive_bayes

import river_extra_trees as ret
from river_extra_trees.distributed import DistributedClassifier, DistributedKeyedModels
from river_extra_trees.distributed.travel import check_sample_travels
from tests.tools.ray_in_process import take_the_place_of_ray

TREE = ret.StreamDecisionTreeClassifier(seed=1)
LOCK: Any = threading.Lock()
REFUSAL = r"the target <unlocked _thread\.lock .* cannot be sent to a worker"


@pytest.fixture(autouse=True)
def _engine(monkeypatch: pytest.MonkeyPatch) -> None:
    take_the_place_of_ray(monkeypatch)


@pytest.mark.parametrize("model", [TREE, naive_bayes.GaussianNB()], ids=["columns", "rows"])
def test_targets_of_keyed_models(model: Any) -> None:
    """The target is named, and nothing of the frame is learned."""
    X = pd.DataFrame({"a": [0.0, 1.0]})
    with DistributedKeyedModels(model) as models:
        for learn in (models.learn_many, models.predict_learn_many):
            with pytest.raises(TypeError, match=REFUSAL):
                learn(["x", "y"], X, ["good", LOCK])
        with pytest.raises(TypeError, match=REFUSAL):
            models.learn_one("x", {"a": 0.0}, LOCK)
        assert models.position == 0
        models.learn_one("x", {"a": np.float64(0.0)}, "good")
        models.wait()
        assert models.counts().n_samples_seen == 1


@pytest.mark.parametrize(
    ("x", "y", "w", "message"),
    [
        ({"a": LOCK}, 1.0, 1.0, "the value of feature 'a' <unlocked"),
        ({LOCK: 1.0}, 1.0, 1.0, "the name of a feature <unlocked"),
        ({"a": 1.0}, 1.0, LOCK, "the weight <unlocked"),
    ],
)
def test_what_is_named(x: Any, y: Any, w: Any, message: str) -> None:
    """Each part of a sample under its name."""
    with pytest.raises(TypeError, match=message):
        check_sample_travels(x, y, w)


def test_targets_of_a_forest() -> None:
    """Also where a forest is spread."""
    forest = ret.ExtraTreesClassifier(n_models=4, seed=1)
    with DistributedClassifier(forest) as model:
        with pytest.raises(TypeError, match=REFUSAL):
            model.learn_one({"a": 0.0}, LOCK)
        with pytest.raises(TypeError, match=REFUSAL):
            model.learn_many(pd.DataFrame({"a": [0.0, 1.0]}), ["good", LOCK])
        assert model.n_samples_seen == 0
        model.learn_one({"a": 0.0}, "good")
        assert model.predict_one({"a": 0.0}) == "good"
