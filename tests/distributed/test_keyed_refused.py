"""What keyed models over processes refuse: parameters, folders of others, copies."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import river_extra_trees as ret
from river_extra_trees.distributed import DistributedKeyedModels
from tests.tools.ray_in_process import take_the_place_of_ray

TREE = ret.StreamDecisionTreeRegressor(batch_size=5, min_samples_leaf=1, seed=1)


@pytest.fixture(autouse=True)
def _engine(monkeypatch: pytest.MonkeyPatch) -> None:
    take_the_place_of_ray(monkeypatch)


@pytest.mark.parametrize(
    ("other", "n_groups", "message"),
    [
        (ret.ForgetfulDecisionTreeRegressor(seed=1), 4, "not ForgetfulDecisionTreeRegressor"),
        (ret.StreamDecisionTreeRegressor(batch_size=6, seed=1), 4, "batch_size: 5.*batch_size: 6"),
        (TREE, 5, "n_groups 4, not 5"),
    ],
)
def test_folder_of_others(other: Any, n_groups: int, message: str, tmp_path: Path) -> None:
    """Files of other models, of other parameters or other groups are refused; both are named."""
    with DistributedKeyedModels(TREE, n_groups=4, folder=tmp_path) as models:
        models.learn_one("a", {"x": 0.0}, 1.0)
    with pytest.raises(ValueError, match=message):
        DistributedKeyedModels(other, n_groups=n_groups, folder=tmp_path)
    with DistributedKeyedModels(TREE, n_groups=4, folder=tmp_path) as models:
        assert models.position == 1


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"n_workers": 0}, "n_workers"),
        ({"n_workers": 3, "n_groups": 2}, "n_workers"),
        ({"n_groups": 0}, "n_groups"),
        ({"n_groups": 2**16 + 1}, "n_groups must be at most 65536"),
        ({"max_models": 63}, "max_models"),
        ({"time_to_live": 0}, "time_to_live"),
        ({"when_full": "spill"}, "folder"),
        ({"when_full": "weep"}, "when_full"),
        ({"block_size": 0}, "block_size"),
        ({"checkpoint_every": 0}, "checkpoint_every"),
        ({"model": "tree"}, "model"),
        ({"pooled": ret.StreamDecisionTreeClassifier()}, "pooled"),
    ],
)
def test_parameters(given: dict[str, Any], name: str) -> None:
    """Parameters out of range are named."""
    with pytest.raises(ValueError, match=name):
        DistributedKeyedModels(**{"model": TREE, **given})


def test_no_copies() -> None:
    """The whole cannot be pickled; its feeders can."""
    with DistributedKeyedModels(TREE) as models, pytest.raises(TypeError, match="pass a feeder on"):
        pickle.dumps(models)
