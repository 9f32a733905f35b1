"""Learning and serving in more than one process or machine.

Three classes run on [Ray](https://docs.ray.io) (the extra `ray`):

- `DistributedClassifier` and `DistributedRegressor` distribute the trees of one forest over
  processes. They predict the same, bit for bit, as the forest in one process.
- `DistributedKeyedModels` has one model per key of a stream. (`river_extra_trees.keyed.KeyedModels`
  does so in one process.)
- `SnapshotServer` serves predictions of the latest snapshot of a model, over HTTP and to Python,
  while the model learns elsewhere. It uses Ray Serve.

Ray is imported when the first worker starts. To join a cluster, call `ray.init` before; otherwise
Ray starts on this machine and accepts connections from this machine only.

The building blocks can be used with other engines. `split` makes the parts of a model, one for each
process; `learn_together` shows their protocol; `merge` makes one forest of its parts. `KeyGroups`
has the models of some keys. `Block` is a batch of samples that can be sent to other processes, and
`Parcel` is one with keys.
"""

from __future__ import annotations

from ..keyed.keys import shard_of
from .blocks import Block
from .forests import ForestPart
from .groups import KeyGroups
from .parcels import Parcel
from .parts import Part, learn_together
from .ray.ensemble import DistributedClassifier, DistributedRegressor
from .ray.feeder import Feeder
from .ray.keyed import DistributedKeyedModels
from .ray.serving import Answer, SnapshotServer
from .splitting import coordinator, merge, split

__all__ = [
    "Answer",
    "Block",
    "DistributedClassifier",
    "DistributedKeyedModels",
    "DistributedRegressor",
    "Feeder",
    "ForestPart",
    "KeyGroups",
    "Parcel",
    "Part",
    "SnapshotServer",
    "coordinator",
    "learn_together",
    "merge",
    "shard_of",
    "split",
]
