"""A model per key in several processes, and servers of snapshots.

Both run on [Ray](https://docs.ray.io) (the extra `ray`), on one machine or on several:

- `DistributedKeyedModels` has one model per key of a stream. (`river_extra_trees.keyed.KeyedModels`
  does so in one process.)
- `SnapshotServer` serves predictions of the latest snapshot of a model, over HTTP and to Python,
  while the model learns elsewhere. It uses Ray Serve.

Ray is imported when the first worker starts. To join a cluster, call `ray.init` before; otherwise
Ray starts on this machine and accepts connections from this machine only.
"""

from __future__ import annotations

from .keyed import DistributedKeyedModels
from .serving import Answer, SnapshotServer

__all__ = ["Answer", "DistributedKeyedModels", "SnapshotServer"]
