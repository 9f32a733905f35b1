"""Learning and serving on more than one process or machine, with Ray (the extra `ray`).

`DistributedClassifier` and `DistributedRegressor` spread the trees of one forest, and answer as it
would in one process. `KeyedModels` holds a model for each key of a stream. `SnapshotServer` answers
while a model learns. Whoever prefers another engine finds what these are made of in
`river_extra_trees.parts` and `river_extra_trees.keyed`.

Ray is imported when the first worker begins. It takes part in a cluster if `ray.init` was called
for one, and else starts on this machine.
"""

from __future__ import annotations

from .ensemble import DistributedClassifier, DistributedRegressor
from .keyed import KeyedModels
from .serving import SnapshotServer

__all__ = ["DistributedClassifier", "DistributedRegressor", "KeyedModels", "SnapshotServer"]
