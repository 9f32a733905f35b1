"""The models of the keys: which are in memory, which are in the store, and which are dropped."""

from __future__ import annotations

import collections
import typing
from itertools import takewhile

from .keys import Key, Part
from .store import Entry, Store

__all__ = ["ModelCache"]


class ModelCache:
    """The models of the keys, least recently used first, in memory and in a store.

    Samples are numbered from 1. A model is used when a sample of its key is learned; predictions do
    not count. A model expires when `time_to_live` samples have come since the last sample of its
    key. If there are more than `max_models` models in memory, the least recently used one leaves
    it: a store keeps it until the next sample of its key; without a store, it is dropped.

    Invariants: the entries are ordered by `last`, and none of them has expired for the next sample.
    If the store has an entry in its present state, it also has the older ones in theirs.

    Parameters
    ----------
    model
        Model to clone for each key.
    max_models
        Largest number of models in memory; `None` sets no limit.
    time_to_live
        Number of samples after the last sample of a key until its model expires; `None` for never.
    store
        The store, or `None`.

    Attributes
    ----------
    now
        Number of the last sample.
    """

    def __init__(
        self,
        model: typing.Any,
        max_models: int | None,
        time_to_live: int | None,
        store: Store | None,
    ) -> None:
        self.now = 0
        self._model = model
        self._max_models, self._time_to_live = max_models, time_to_live
        self._store = store
        self._entries: collections.OrderedDict[Key, Entry] = collections.OrderedDict()

    def enter(self, key: Key) -> tuple[Entry, bool]:
        """Return the entry of a key that learns the next sample, and whether it had a model."""
        entry = self.find(key)
        is_known = entry is not None
        if entry is None:
            entry = Entry(self._model.clone())
        if key not in self._entries and len(self._entries) == self._max_models:
            self._evict()
        self._entries[key] = entry
        self._entries.move_to_end(key)
        self.now += 1
        entry.last = self.now
        self._drop_expired()
        return entry, is_known

    def _drop_expired(self) -> None:
        """Remove the models that have expired for the next sample."""
        while next(iter(self._entries.values())).last < self._oldest:
            self._entries.popitem(last=False)

    def keeps(self, n_keys: int, n: int) -> bool:
        """Whether so many models stay in memory while they learn n samples."""
        if self._time_to_live is not None and n > self._time_to_live:
            return False
        return self._max_models is None or n_keys <= self._max_models

    def enter_all(self, parts: list[Part], n: int) -> list[tuple[Entry, bool]]:
        """Enter the keys of n samples that they learn next, if the cache keeps them."""
        start, found = self.now, []
        for key, numbers in parts:
            self.now = start + numbers[0]
            found.append(self.enter(key))
        for (name, numbers), (entry, _) in sorted(
            zip(parts, found, strict=True), key=lambda each: each[0][1][-1]
        ):
            self._entries.move_to_end(name)
            entry.last = start + numbers[-1] + 1
        self.now = start + n
        self._drop_expired()
        return found

    def find(self, key: Key) -> Entry | None:
        """Return the entry of a key; `None` if there is none."""
        entry = self._entries.get(key)
        if entry is None and self._store is not None:
            entry = self._store.read(key)
        return entry if entry is not None and entry.last >= self._oldest else None

    def drop(self, key: Key) -> None:
        """Delete the model of a key from memory and from the store."""
        self._entries.pop(key, None)
        if self._store is not None:
            self._store.delete(key)

    @property
    def _oldest(self) -> int:
        """Number of the oldest sample whose key has not expired."""
        return 0 if self._time_to_live is None else self.now + 1 - self._time_to_live

    def _evict(self) -> None:
        """Remove the least recently used model from memory."""
        key, entry = next(iter(self._entries.items()))
        if self._store is not None:
            self._store.write(key, entry)
        del self._entries[key]

    def counts(self) -> tuple[int, int]:
        """Return the number of models, and of those in memory."""
        n_in_memory = n_models = len(self._entries)
        if self._store is not None:
            self._store.delete_before(self._oldest)
            first = max(1, self._oldest)
            n_models += len(self._store) - sum(
                entry.stored >= first for entry in self._entries.values()
            )
        return n_models, n_in_memory

    def commit(self, state: typing.Any) -> None:
        """Write the models that have changed since the last commit, and a state, to the store."""
        if self._store is None:
            raise RuntimeError("there is nothing to commit to: give KeyedModels a store")
        self._store.delete_before(self._oldest)
        newest = reversed(self._entries.items())
        changed = list(takewhile(lambda item: item[1].stored != item[1].last, newest))
        for key, entry in reversed(changed):
            self._store.write(key, entry)
        self._store.commit(state)
