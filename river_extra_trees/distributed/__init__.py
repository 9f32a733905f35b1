"""Learning and serving on more than one process or machine, with Ray (the extra `ray`).

`DistributedClassifier` and `DistributedRegressor` spread the trees of one forest, and answer as it
would in one process. `KeyedModels` holds a model for each key of a stream. `SnapshotServer` answers
while a model learns. Whoever prefers another engine finds what these are made of in
`river_extra_trees.distributed.parts` and `river_extra_trees.distributed.shard`.

Ray is imported when the first worker begins. It takes part in a cluster if `ray.init` was called
for one, and else starts on this machine.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["DistributedClassifier", "DistributedRegressor", "KeyedModels", "SnapshotServer"]

MODULES = {"DistributedClassifier": "ensemble", "DistributedRegressor": "ensemble", "KeyedModels": "keyed", "SnapshotServer": "serving"}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".ray.{MODULES[name]}", __name__), name)
