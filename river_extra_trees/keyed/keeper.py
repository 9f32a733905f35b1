"""The models of keys: which are in memory, which in a file, and which are dropped."""

from __future__ import annotations

import collections
import functools
import inspect
import pickle
import sys
import typing
from collections.abc import Callable, Iterator

from river import base

from .._estimator.parameters import check_choice, check_parameter, check_whole
from .keys import Key, key_named, name_of
from .store import Row, Store

__all__ = ["Counts", "Keeper", "Kept", "check_options"]

SWEEPS = 16  # number of searches for expired models within the time to live


def check_options(
    model: typing.Any,
    max_models: int | None,
    time_to_live: int | None,
    when_full: str,
    least_models: int = 1,
) -> None:
    """Raise a ValueError that names what is no model to clone for each key, or no way to keep them.

    Parameters
    ----------
    model, max_models, time_to_live, when_full
        As `KeyedModels` takes them.
    least_models
        Smallest `max_models`.
    """
    check_parameter(
        isinstance(model, base.Estimator) and hasattr(model, "predict_one"),
        "model",
        model,
        "a classifier or a regressor",
    )
    check_whole("max_models", max_models, least_models, optional=True)
    check_whole("time_to_live", time_to_live, 1, optional=True)
    check_choice("when_full", when_full, "drop", "spill")


def maker_of(model: typing.Any) -> Callable[[], typing.Any]:
    """Return a function that clones a model: its class with the parameters, or `clone`.

    River's `clone` reads the signature of the class each time, which takes most of the time.

    Parameters
    ----------
    model
        Any river estimator.
    """
    kind = typing.cast(typing.Any, type(model))
    if kind.clone is not base.Base.clone:
        return typing.cast(Callable[[], typing.Any], model.clone)
    signature = inspect.signature(kind.__init__).parameters.values()
    is_plain = not any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in signature)
    parameters = model._get_params()
    if is_plain and all(value is None or type(value) in PLAIN for value in parameters.values()):
        return functools.partial(kind, **parameters)
    return typing.cast(Callable[[], typing.Any], model.clone)


PLAIN = frozenset([bool, int, float, str])  # immutable types of parameters


class Kept:
    """The model of a key, with its position in the stream.

    Parameters
    ----------
    model
        The model.
    last
        Number of the last sample of the key.
    stored
        Value of `last` when the model was written to the store; 0 if it is not there.
    prior
        Record of the pooled prior for the key (`PooledPrior`); `None` if there is none.
    """

    __slots__ = ("last", "model", "prior", "stored")

    def __init__(
        self, model: typing.Any, last: int = 0, stored: int = 0, prior: typing.Any = None
    ) -> None:
        self.model, self.last, self.stored, self.prior = model, last, stored, prior

    def __reduce__(self) -> typing.Any:
        return Kept, (self.model, self.last, self.stored, self.prior)

    def restart(self, model: typing.Any) -> None:
        """Start again with another model.

        Parameters
        ----------
        model
            The model.
        """
        self.model, self.prior = model, None

    def to_bytes(self) -> bytes:
        """Return the bytes for the store."""
        return pickle.dumps((self.model, self.prior), protocol=5)

    @classmethod
    def from_bytes(cls, last: int, content: bytes) -> typing.Self:
        """Restore from the bytes of the store.

        Parameters
        ----------
        last
            Number of the last sample of the key.
        content
            A result of `to_bytes`.
        """
        model, prior = pickle.loads(content)
        return cls(model, last, last, prior)


def written(entries: list[tuple[Key, Kept]]) -> Iterator[Row]:
    """Rows for the store; each entry is marked as stored after its row is written.

    So the marks are right even if a later model, or the state of a commit, cannot be pickled.
    """
    for key, kept in entries:
        yield kept.last, name_of(key), kept.to_bytes()
        kept.stored = kept.last


class Counts(typing.NamedTuple):
    """Numbers of models, and of learned and refused samples.

    Attributes
    ----------
    n_models
        Number of keys that have a model.
    n_in_memory
        Number of keys whose model is in memory.
    n_samples_seen
        Number of samples learned, including those of models that have been dropped.
    n_refused
        Number of samples for which a model raised an error.
    refusal
        The last of these errors; empty if there was none.
    """

    n_models: int
    n_in_memory: int
    n_samples_seen: int
    n_refused: int
    refusal: str


class Keeper:
    """The models of keys, ordered by the last sample of each key.

    Samples are numbered from 1. A model expires when the time to live has passed since the last
    sample of its key. If there are more than `max_models` in memory, the model whose key has the
    oldest last sample is dropped or spilled to the store. The next sample of the key restores a
    spilled model. Predictions do not matter: only learned samples determine what is kept.

    Invariants: `_kept` is ordered by `last`. Rows are written to the store in the order of `last`,
    too, because a spilled model is the oldest in memory, and after a commit all older ones are
    written.

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
        self.model = model
        self._make = maker_of(model)
        self.max_models = max_models
        self.time_to_live = time_to_live
        self.now = 0  # number of the last sample
        self._spills = spills
        self._store = store
        self._kept: collections.OrderedDict[Key, Kept] = collections.OrderedDict()
        self._n_spilled = 0  # models in the store only
        self._visitor: tuple[Key, Kept] | None = None  # the last spilled model that predicted
        self._committed = 0  # `now` at the last commit
        self._next_sweep = 0

        if store is not None:
            self._read_store(store)

    def _read_store(self, store: Store) -> None:
        """Continue with the content of the store."""
        state = store.state()
        self.now = self._committed = 0 if state is None else state["now"]
        n_rows = len(store)
        if self._spills:
            self._n_spilled = n_rows
            return
        n_dropped = 0 if self.max_models is None else max(0, n_rows - self.max_models)
        dropped = []
        for i, (last, name, content) in enumerate(store.rows()):
            if i < n_dropped:
                dropped.append(name)
            else:
                self._kept[key_named(name)] = Kept.from_bytes(last, content)
        for name in dropped:
            store.delete(name)

    # ------------------------------------------------------------------ one key

    def take(self, key: Key, now: int) -> Kept:
        """Return the model of a key that learns a sample; start one if there is none.

        Parameters
        ----------
        key
            The key.
        now
            Number of the sample, larger than all before.
        """
        kept = self._kept.get(key)
        if kept is None or self._is_over(kept.last, now):
            kept = self._enter(key, now)
        self._kept.move_to_end(key)
        kept.last = self.now = now
        if now >= self._next_sweep:
            self._sweep()
        return kept

    def touch(self, key: Key, now: int) -> None:
        """Set the last sample of a key whose model is in memory.

        Parameters
        ----------
        key
            The key.
        now
            Number of the sample, larger than all before.
        """
        self._kept.move_to_end(key)
        self._kept[key].last = self.now = now

    def look(self, key: Key, now: int | None = None) -> Kept | None:
        """Return the model of a key for a prediction; `None` if there is none.

        Parameters
        ----------
        key
            The key.
        now
            Number of the next sample; `None` for `self.now` + 1.
        """
        kept = self._kept.get(key)
        if kept is None and self._n_spilled:
            kept = self._read(key)
            self._visitor = None if kept is None else (key, kept)
        if self.time_to_live is None or kept is None:
            return kept
        return None if self._is_over(kept.last, self.now + 1 if now is None else now) else kept

    def forget(self, key: Key) -> bool:
        """Drop the model of a key; return whether there was one.

        Parameters
        ----------
        key
            The key.
        """
        was_known = key in self
        kept = self._kept.get(key)
        if kept is None:
            self._visitor = None
            if self._n_spilled and typing.cast(Store, self._store).delete(name_of(key)):
                self._n_spilled -= 1
        else:
            self._erase(key, kept)
            del self._kept[key]
        return was_known

    def _is_over(self, last: int, now: int) -> bool:
        return self.time_to_live is not None and now - last > self.time_to_live

    def _enter(self, key: Key, now: int) -> Kept:
        """Restore the model of a key from the store, or start a new one."""
        kept = self._kept.get(key)
        if kept is None:
            while self.max_models is not None and len(self._kept) >= self.max_models:
                self._leave(now)
            if self._n_spilled:
                kept = self._read(key)
                self._n_spilled -= kept is not None
                self._visitor = None
            if kept is None:
                kept = Kept(self._make())
            elif self._is_over(kept.last, now):
                kept.restart(self._make())
            self._kept[key] = kept
        else:
            kept.restart(self._make())
        return kept

    def _read(self, key: Key) -> Kept | None:
        """Read the model of a key from the store."""
        if self._visitor is not None and self._visitor[0] == key:
            return self._visitor[1]
        found = typing.cast(Store, self._store).read(name_of(key))
        return None if found is None else Kept.from_bytes(*found)

    def _leave(self, now: int) -> None:
        """Drop or spill the model in memory whose last sample is the oldest."""
        key, kept = next(iter(self._kept.items()))
        if self._spills and not self._is_over(kept.last, now):
            if kept.last != kept.stored:
                typing.cast(Store, self._store).write([(kept.last, name_of(key), kept.to_bytes())])
            self._n_spilled += 1
        else:
            self._erase(key, kept)
        del self._kept[key]

    def _erase(self, key: Key, kept: Kept) -> None:
        """Delete the row of a model in memory from the store."""
        if kept.stored:
            typing.cast(Store, self._store).delete(name_of(key))

    def _sweep(self) -> None:
        """Drop expired models."""
        if self.time_to_live is None:
            self._next_sweep = sys.maxsize
            return
        self._next_sweep = self.now + max(1, self.time_to_live // SWEEPS)
        oldest = self.now + 1 - self.time_to_live  # models from here on live at the next sample
        while self._kept:
            key, kept = next(iter(self._kept.items()))
            if kept.last >= oldest:
                break
            self._erase(key, kept)
            del self._kept[key]
        if self._store is not None:
            self._visitor = None  # it may be deleted now
            for name in self._store.delete_before(oldest):
                later = self._kept.get(key_named(name))
                if later is None:
                    self._n_spilled -= 1
                else:
                    later.stored = 0

    # ------------------------------------------------------------------ the whole

    def __len__(self) -> int:
        self._sweep()
        return len(self._kept) + self._n_spilled

    def __contains__(self, key: Key) -> bool:
        kept = self._kept.get(key)
        last = None if kept is None else kept.last
        if kept is None and self._n_spilled:
            last = typing.cast(Store, self._store).last_of(name_of(key))
        return last is not None and not self._is_over(last, self.now + 1)

    @property
    def stretch(self) -> int:
        """Number of successive samples within which a key cannot lose its model after a sample."""
        return min(self.max_models or sys.maxsize, self.time_to_live or sys.maxsize)

    @property
    def n_in_memory(self) -> int:
        """Number of models in memory."""
        return len(self._kept)

    @property
    def state(self) -> dict[str, typing.Any]:
        """State of the last commit; empty if there was none."""
        return {} if self._store is None else self._store.state() or {}

    def models(self) -> Iterator[typing.Any]:
        """Iterate over the models in memory."""
        return (kept.model for kept in self._kept.values())

    def commit(self, state: dict[str, typing.Any]) -> None:
        """Write the models that have changed since the last commit to the store.

        Parameters
        ----------
        state
            A state to store with them.
        """
        if self._store is None:
            raise RuntimeError("there is nothing to commit to: give KeyedModels a store")
        self._sweep()
        changed = []
        for key, kept in reversed(self._kept.items()):
            if kept.last <= self._committed:
                break
            if kept.last != kept.stored:
                changed.append((key, kept))
        changed.reverse()
        self._store.write(written(changed))
        self._store.commit({**state, "now": self.now})
        self._committed = self.now

    def close(self) -> None:
        """Close the store. Changes since the last commit are lost."""
        if self._store is not None:
            self._store.close()

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes of the models in memory, and of the dict that holds them."""
        models = sum(int(model._raw_memory_usage) for model in self.models())
        finds = sys.getsizeof(self._kept) + sum(
            sys.getsizeof(key) + sys.getsizeof(kept) + 2 * sys.getsizeof(kept.last)
            for key, kept in self._kept.items()
        )
        priors = sum(sys.getsizeof(kept.prior) + 96 for kept in self._kept.values() if kept.prior)
        return models + finds + priors + (0 if self._store is None else self._store.memory)
