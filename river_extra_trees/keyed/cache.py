"""The models of the keys: which are in memory, which are in the store, and which are dropped."""

from __future__ import annotations

import collections
import typing

from .keys import Key
from .store import Entry, Store

__all__ = ["ModelCache"]


class ModelCache:
    """The models of the keys, least recently used first, in memory and in a store.

    Samples are numbered from 1. A model is used when a sample of its key is learned; predictions do
    not count. A model expires when `time_to_live` samples have come since the last sample of its
    key. If there are more than `max_models` models in memory, the least recently used one is
    dropped, or spilled to the store until the next sample of its key.

    Invariants: the entries are ordered by `last`, and none of them has expired for the next sample.
    Rows are written to the store in the order of `last`, because a spilled model is the oldest in
    memory, and a commit writes all models that are newer than the last commit.

    Parameters
    ----------
    model
        Model to clone for each key.
    max_models
        Largest number of models in memory; `None` sets no limit.
    time_to_live
        Number of samples after the last sample of a key until its model expires; `None` for never.
    spills
        Whether models that do not fit into memory are spilled to the store, instead of dropped.
    store
        The store, or `None`.
    """

    def __init__(
        self,
        model: typing.Any,
        max_models: int | None,
        time_to_live: int | None,
        spills: bool,
        store: Store | None,
    ) -> None:
        self.now = 0  # number of the last sample
        self._model = model
        self._max_models, self._time_to_live, self._spills = max_models, time_to_live, spills
        self._store = store
        self._entries: collections.OrderedDict[Key, Entry] = collections.OrderedDict()
        self._n_spilled = 0  # models in the store only; expired ones count until they are deleted
        self._committed = 0  # `now` at the last commit
        if store is not None and (state := store.state()) is not None:
            self.now = self._committed = state["now"]
            self._resume(store)

    def _resume(self, store: Store) -> None:
        """Continue with the models in the store."""
        self._n_spilled = len(store)
        self._delete_expired()
        if not self._spills:
            self._n_spilled = 0
            store.keep_latest(self._max_models)
            self._entries.update(store.entries())

    # ------------------------------------------------------------------ one key

    def enter(self, key: Key) -> tuple[Entry, bool]:
        """Return the entry of a key that learns the next sample, and whether it had a model."""
        now = self.now + 1
        entry = self._entries.get(key)
        is_known = entry is not None
        if entry is None:
            if len(self._entries) == self._max_models:
                self._evict()
            entry = self._read(key)
            if entry is not None:
                self._n_spilled -= 1
                is_known = self._is_alive(entry)
            if entry is None or not is_known:
                entry = Entry(self._model.clone())
            self._entries[key] = entry
        self._entries.move_to_end(key)
        entry.last = self.now = now
        self._drop_expired()
        return entry, is_known

    def find(self, key: Key) -> Entry | None:
        """Return the entry of a key for a prediction; `None` if there is none."""
        entry = self._entries.get(key) or self._read(key)
        return entry if entry is not None and self._is_alive(entry) else None

    def drop(self, key: Key) -> None:
        """Delete the model of a key from memory and from the store."""
        was_stored = self._store is not None and self._store.delete(key)
        if self._entries.pop(key, None) is None:
            self._n_spilled -= was_stored

    def _is_alive(self, entry: Entry) -> bool:
        return self._time_to_live is None or self.now < entry.last + self._time_to_live

    def _read(self, key: Key) -> Entry | None:
        """Read the model of a key that is in the store only."""
        if not self._n_spilled:
            return None
        return typing.cast(Store, self._store).read(key)

    def _evict(self) -> None:
        """Drop or spill the least recently used model in memory."""
        key, entry = next(iter(self._entries.items()))
        if not self._spills:
            self.drop(key)
            return
        typing.cast(Store, self._store).write(key, entry)
        self._n_spilled += 1
        del self._entries[key]

    def _drop_expired(self) -> None:
        """Drop the models in memory that have expired; the latest one has not."""
        while self._time_to_live is not None:
            key, entry = next(iter(self._entries.items()))
            if self._is_alive(entry):
                break
            self.drop(key)

    def _delete_expired(self) -> None:
        """Delete the expired rows of the store, among them old ones of models in memory."""
        if self._store is None or self._time_to_live is None:
            return
        for key in self._store.delete_before(self.now + 1 - self._time_to_live):
            self._n_spilled -= key not in self._entries

    # ------------------------------------------------------------------ all models

    def __len__(self) -> int:
        self._delete_expired()
        return len(self._entries) + self._n_spilled

    @property
    def n_in_memory(self) -> int:
        """Number of models in memory."""
        return len(self._entries)

    def commit(self, state: dict[str, typing.Any]) -> None:
        """Write the models that have changed since the last commit to the store.

        Parameters
        ----------
        state
            A state to store with them.
        """
        if self._store is None:
            raise RuntimeError("there is nothing to commit to: give KeyedModels a store")
        self._delete_expired()
        changed = []
        for key, entry in reversed(self._entries.items()):
            if entry.last <= self._committed:
                break
            changed.append((key, entry))
        for key, entry in reversed(changed):
            self._store.write(key, entry)
        self._store.commit({**state, "now": self.now})
        self._committed = self.now
