"""Learning and serving in more than one process or machine.

Three classes run on [Ray](https://docs.ray.io) (the extra `ray`):

- `DistributedClassifier` and `DistributedRegressor` spread the trees of one forest over processes
  and answer bit for bit as the forest would in one process.
- `DistributedKeyedModels` holds one model per key of a stream.
  (`river_extra_trees.keyed.KeyedModels` does so in one process.)
- `SnapshotServer` answers over HTTP and to Python with the latest snapshot of a model while the
  model learns elsewhere, by Ray Serve.

Ray is imported when the first worker starts. Call `ray.init` before to join a cluster; otherwise
Ray starts on this machine and accepts connections from this machine only.

The building blocks work with any other engine, too. `split` makes the parts of a model, one for
each process, and `learn_together` shows their protocol; `merge` makes one forest of its parts.
`KeyGroups` holds the models of some keys. `Block` is a batch of samples in the shape in which it
travels; with keys, it is a `Parcel`.
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
