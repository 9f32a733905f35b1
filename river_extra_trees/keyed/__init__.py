"""One model per key of a stream, in one process.

- `models`: `KeyedModels`, and `Counts`, the numbers of models and samples.
- `methods`: what `KeyedModels` shares with `river_extra_trees.distributed.DistributedKeyedModels`,
  which distributes the keys over processes.
- `cache` keeps the models of the keys in memory, up to a limit.
- `store` keeps them in a file, an SQLite database.
- `pooled` mixes the predictions of a key's model with those of a model of all keys.
- `rows` makes rows of frames, and frames of predictions; `keys` checks and encodes keys.
"""

from __future__ import annotations

from .models import Counts, KeyedModels

__all__ = ["Counts", "KeyedModels"]
