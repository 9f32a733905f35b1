"""One model per key of a stream, in one process.

- `KeyedModels` keeps up to `max_models` models in memory; the others are spilled to a file or
  dropped.
- `KeyedBlock` is a batch of samples with their keys, stored as columns, which can be sent to other
  processes.
- `Counts` are the numbers of models and of learned samples.

`river_extra_trees.distributed.DistributedKeyedModels` distributes the keys over processes, each of
which has a `KeyedModels`.
"""

from __future__ import annotations

from .block import KeyedBlock
from .keeper import Counts
from .keys import Key as Key
from .models import KeyedModels

__all__ = ["Counts", "KeyedBlock", "KeyedModels"]
