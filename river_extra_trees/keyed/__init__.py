"""One model per key of a stream, in one process.

- `models`: `KeyedModels`, and `Counts`, the numbers of models and samples.
- `cache` keeps the models of the keys in memory, up to a limit.
- `store` keeps them in a file, an SQLite database.
- `pooled` mixes the predictions of a key's model with those of a model of all keys.
- `keys` checks and encodes keys.

`river_extra_trees.distributed.DistributedKeyedModels` distributes the keys over processes, each of
which has a `KeyedModels`.
"""

from __future__ import annotations

from .models import Counts, KeyedModels

__all__ = ["Counts", "KeyedModels"]
