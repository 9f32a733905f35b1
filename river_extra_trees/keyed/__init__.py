"""One model per key of a stream, in one process.

- `KeyedModels` keeps the models, as many in memory as it is told to, the others in a file or not at
  all.
- `KeyedBlock` is a batch of samples with their keys, as columns, in the shape in which it travels
  between processes.
- `shard_of` divides keys among processes.

`river_extra_trees.distributed.DistributedKeyedModels` spreads the keys over processes, each of
which keeps its own in `KeyedModels`.
"""

from __future__ import annotations

from .block import KeyedBlock
from .keeper import Counts
from .keys import Key, shard_of
from .models import KeyedModels

__all__ = ["Counts", "Key", "KeyedBlock", "KeyedModels", "shard_of"]
