"""One model per key of a stream, in one process.

- `KeyedModels` keeps up to `max_models` models in memory; the others are spilled to a file or
  dropped.
- `KeyedBlock` is a batch of samples with their keys, as columns, in the shape in which it travels
  between processes.
- `Counts` tells how much they have learned.

`river_extra_trees.distributed.DistributedKeyedModels` spreads the keys over processes, each of
which keeps its own in `KeyedModels`.
"""

from __future__ import annotations

from .block import KeyedBlock
from .keeper import Counts
from .keys import Key as Key
from .keys import shard_of as shard_of
from .models import KeyedModels

__all__ = ["Counts", "KeyedBlock", "KeyedModels"]
