"""One model per key, in one process."""

from __future__ import annotations

import copy
import threading
import typing
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path

from river import base

from river_extra_trees._core.safe_repr import safe_repr

from .._estimator.frames import Sample
from .._estimator.parameters import check_choice, check_parameter, check_whole
from .cache import ModelCache
from .frames import frame_of_probabilities, keyed_rows, labelled_rows, series_of_predictions
from .keys import PLAIN, Key, plain_key
from .pooled import PooledModel, likeliest
from .store import Entry, Store

__all__ = ["Counts", "ExclusiveLock", "KeyedModels"]


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


class ExclusiveLock:
    """Allows one call at a time: `with lock(): ...`. A concurrent call raises RuntimeError.

    `lock()` returns the `threading.Lock`, because no signal is handled between the moment at which
    a `with` statement takes a lock and its block. A call that is interrupted at any moment
    therefore releases the lock. Two threads that call `lock()` at the same moment may both get it;
    then one of them waits for the other.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __call__(self) -> threading.Lock:
        """Return the lock for a `with` statement; RuntimeError if another call holds it."""
        if self._lock.locked():
            raise RuntimeError(
                "the models are in use: another call has not ended; hold a lock around every call "
                "to share one object among threads"
            )
        return self._lock

    def __reduce__(self) -> typing.Any:
        return ExclusiveLock, ()  # a copy starts unlocked


class KeyedModels:
    """One model per key, in one process.

    Each key gets a clone of the model with its first sample, and this clone learns only the samples
    of the key. Choose it for a stream that consists of many small streams: sensors, customers,
    shops. `max_models` limits the memory, and `time_to_live` drops the models of keys that have had
    no sample for a while.

    With a store, the models outlive the process. All changes since the last `commit` belong to one
    transaction: if the process dies, the store is in the state of the last commit. A commit writes
    only the models that have changed.

    If a model raises an error for a sample, the sample is skipped and counted (see `counts`), and
    the other samples are learned. For `max_models` and `time_to_live`, it counts as a sample of its
    key.

    Parameters
    ----------
    model
        Model to clone for each key: any classifier or regressor of river.
    max_models
        Largest number of models in memory; `None` sets no limit. When it is exceeded, the model
        whose key has the oldest last sample leaves the memory.
    time_to_live
        Number of samples after the last sample of a key until its model is dropped; `None` never
        drops it.
    when_full
        What happens to a model that leaves the memory: `"drop"` deletes it; `"spill"` writes it to
        the store, and the next sample of its key restores it.
    store
        Path of the file in which models are kept, or `None`. It is created if it does not exist.
        Only one process can have it open, and a process that is forked from it cannot use it. It
        contains pickles: make sure that only you can write to it.
    pooled
        Model that learns the samples of all keys, or `None`. It predicts samples of unknown keys,
        and is mixed with the model of each known key: see the notes.

    Attributes
    ----------
    note
        The note of the last `commit`; an empty dict before the first.

    Notes
    -----
    A call during another call, for example from a second thread, raises `RuntimeError` and changes
    nothing. To share the models among threads, hold a lock around every call.

    With a pooled model, there are three predictions for each sample of a key: that of the pooled
    model, that of the key's own model, and their mean. The prediction is their weighted mean. The
    weights follow Bayes' rule on the earlier targets of the key, with a fixed share[^1] that keeps
    every weight above zero. The prior weights are the average of the posterior weights of all keys
    with about as many samples. `model_of` returns the key's own model without the pooled one.

    References
    ----------
    [^1]: Herbster, M. and Warmuth, M.K., 1998. Tracking the Best Expert. Machine Learning, 32,
        151-178, section 5.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river_extra_trees.keyed import KeyedModels

    >>> models = KeyedModels(ret.StreamDecisionTreeRegressor(leaf_memory=None, seed=42))
    >>> for key, y in [("Ann", 1.0), ("Bob", 10.0), ("Ann", 2.0)]:
    ...     models.learn_one(key, {"x": 0.0}, y)
    >>> [models.predict_one(key, {"x": 0.0}) for key in ("Ann", "Bob", "Eve")]
    [1.5, 10.0, None]

    The rows of a data frame are learned in their order:

    >>> import pandas as pd
    >>> X = pd.DataFrame({"x": [0.0, 0.0, 0.0]})
    >>> models.predict_learn_many(["Eve", "Ann", "Eve"], X, [5.0, 3.0, 6.0]).tolist()
    [nan, 1.5, 5.0]

    A pooled model predicts samples of unknown keys:

    >>> tree = ret.StreamDecisionTreeRegressor(leaf_memory=None, seed=42)
    >>> models = KeyedModels(tree, pooled=tree)
    >>> for key, y in [("Ann", 1.0), ("Bob", 10.0), ("Ann", 1.0)]:
    ...     models.learn_one(key, {"x": 0.0}, y)
    >>> models.predict_one("Eve", {"x": 0.0})
    4.0

    With a store, a stream can be resumed at the last commit:

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/models.db"
    >>> with KeyedModels(ret.StreamDecisionTreeRegressor(seed=42), store=path) as models:
    ...     models.learn_one("Ann", {"x": 0.0}, 1.0)
    ...     models.commit({"position": 1})
    ...     models.learn_one("Ann", {"x": 0.0}, 2.0)
    >>> models = KeyedModels(ret.StreamDecisionTreeRegressor(seed=42), store=path)
    >>> models.note, models.predict_one("Ann", {"x": 0.0})
    ({'position': 1}, 1.0)
    >>> models.close()
    """

    note: dict[str, typing.Any]

    def __init__(
        self,
        model: base.Estimator,
        max_models: int | None = None,
        time_to_live: int | None = None,
        when_full: str = "drop",
        store: str | Path | None = None,
        pooled: base.Estimator | None = None,
    ) -> None:
        is_model = isinstance(model, base.Estimator) and hasattr(model, "predict_one")
        check_parameter(is_model, "model", model, "a classifier or a regressor")
        check_whole("max_models", max_models, 1, optional=True)
        check_whole("time_to_live", time_to_live, 1, optional=True)
        check_choice("when_full", when_full, "drop", "spill")
        has_store = store is not None or when_full == "drop"
        check_parameter(has_store, "store", store, "a file when models spill")
        self._pooled = None
        if pooled is not None:
            self._pooled = PooledModel(pooled, isinstance(model, base.Classifier))
        self._parameters = {"model": text_of(model), "pooled": text_of(pooled)}
        self.model = model
        self.note = {}
        self._lock = ExclusiveLock()
        self._n_seen = 0
        self._n_refused = 0
        self._refusal = ""
        self._store = None if store is None else Store(store)
        try:
            if self._store is not None:
                self._resume(self._store)
            spills = when_full == "spill"
            self._cache = ModelCache(model, max_models, time_to_live, spills, self._store)
        except BaseException:
            self._close()
            raise

    def _resume(self, store: Store) -> None:
        """Continue from the last commit; raise if it belongs to another model."""
        state = store.state()
        if state is None:
            return
        for name, text in self._parameters.items():
            if state[name] != text:
                raise ValueError(f"the {name} of {store.path} is {state[name]}, not {text}")
        self._pooled = state["pooled state"]
        self._n_seen, self._n_refused, self._refusal = state["counts"]
        self.note = state["note"]

    # ------------------------------------------------------------------ learning

    def learn_one(self, key: Key, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        """Learn a sample.

        If the model raises an error, the sample is skipped and counted: see `counts`.

        Parameters
        ----------
        key
            Key of the sample: a string, bytes or an integer.
        x
            Features, as for the model.
        y
            The target.
        w
            Weight of the sample.

        Raises
        ------
        TypeError
            If the key has another type.
        """
        with self._lock():
            self._learn(key if type(key) in PLAIN else plain_key(key), x, y, w)

    def _learn(
        self, key: Key, x: Sample, y: typing.Any, w: float, predicts: bool = False
    ) -> typing.Any:
        """Learn a sample; return the prediction made before, if requested."""
        entry, is_known = self._cache.enter(key)
        prediction = None
        if self._pooled is not None:
            prediction = likeliest(self._pooled.learn(entry, x, y, w))
        elif predicts and is_known:
            try:
                prediction = entry.model.predict_one(x)
            except Exception:  # learning raises and counts it
                prediction = None
        try:
            if w == 1.0:
                entry.model.learn_one(x, y)
            else:
                entry.model.learn_one(x, y, w=w)
        except Exception as error:  # an error of one model must not stop the other keys
            sample = f"sample {self._cache.now} of {safe_repr(key)}"
            self._refusal = f"{sample}: {type(error).__name__}: {error}"
            self._n_refused += 1
        else:
            self._n_seen += 1
        return prediction

    def learn_many(
        self, keys: typing.Any, X: typing.Any, y: typing.Any, w: typing.Any = 1.0
    ) -> None:
        """Learn the rows of a data frame.

        The models are the same, bit for bit, as after `learn_one` of each row in turn.

        Parameters
        ----------
        keys
            A series or another sequence with the key of each row.
        X
            A data frame of any library that narwhals supports (pandas, polars, pyarrow, ...), or a
            two-dimensional array, whose columns are named 0, 1, ...
        y
            A series or another sequence with the target of each row.
        w
            One weight for all rows, or a series or another sequence with the weight of each row.

        Raises
        ------
        TypeError, ValueError
            If a key is not a string, bytes or an integer, or if the lengths differ. Then nothing is
            learned.
        """
        self._learn_rows(labelled_rows(keys, X, y, w), predicts=False)

    def predict_learn_many(
        self, keys: typing.Any, X: typing.Any, y: typing.Any, w: typing.Any = 1.0
    ) -> typing.Any:
        """Predict each row of a data frame, then learn it: test-then-train in one call.

        Predictions and models are the same, bit for bit, as with `predict_one` and `learn_one` for
        each row in turn.

        Parameters
        ----------
        keys, X, y, w
            As for `learn_many`.

        Returns
        -------
        A series of the library of X, as from `predict_many`. The prediction for a row that is
        invalid for its model is missing.

        Raises
        ------
        TypeError, ValueError
            As `learn_many`.
        """
        predictions = self._learn_rows(labelled_rows(keys, X, y, w), predicts=True)
        return series_of_predictions(predictions, X)

    def _learn_rows(
        self, rows: Iterable[tuple[Key, Sample, typing.Any, float]], predicts: bool
    ) -> list[typing.Any]:
        """Learn samples; return the predictions made before, `None` if they are not requested."""
        with self._lock():
            return [self._learn(*row, predicts) for row in rows]

    # ------------------------------------------------------------------ predictions

    def predict_one(self, key: Key, x: Sample) -> typing.Any:
        """Predict the label or target of a sample.

        Parameters
        ----------
        key
            Key of the sample.
        x
            Features.

        Returns
        -------
        The prediction; `None` for an unknown key, unless there is a pooled model.
        """
        return self._predict_rows([(plain_key(key), x)])[0]

    def _predict_rows(
        self, rows: Iterable[tuple[Key, Sample]], probabilities: bool = False
    ) -> list[typing.Any]:
        """Predict samples."""
        if probabilities and not hasattr(self.model, "predict_proba_one"):
            raise AttributeError(f"{type(self.model).__name__} predicts no probabilities")
        with self._lock():
            return [self._predict(self._cache.find(key), x, probabilities) for key, x in rows]

    def _predict(self, entry: Entry | None, x: Sample, probabilities: bool) -> typing.Any:
        if self._pooled is not None:
            found = self._pooled.predict(entry, x)
            return (found or {}) if probabilities else likeliest(found)
        if entry is None:
            return {} if probabilities else None
        return entry.model.predict_proba_one(x) if probabilities else entry.model.predict_one(x)

    def predict_proba_one(self, key: Key, x: Sample) -> dict[Hashable, float]:
        """Predict the probability of each label.

        Parameters
        ----------
        key
            Key of the sample.
        x
            Features.

        Returns
        -------
        Probabilities by label; empty for an unknown key, unless there is a pooled model.
        """
        found = self._predict_rows([(plain_key(key), x)], probabilities=True)[0]
        return typing.cast(dict[Hashable, float], found)

    def predict_many(self, keys: typing.Any, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        keys
            A series or another sequence with the key of each row.
        X
            A data frame, as for `learn_many`.

        Returns
        -------
        A series of the library of X with the prediction for each row; those for unknown keys are
        missing. If no type of the library holds all predictions, the series holds Python objects;
        pyarrow has no series of objects, so that a TypeError is raised.

        Raises
        ------
        TypeError, ValueError
            As `learn_many`, and if a row is invalid for its model.
        """
        return series_of_predictions(self._predict_rows(keyed_rows(keys, X)), X)

    def predict_proba_many(self, keys: typing.Any, X: typing.Any) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame.

        Parameters
        ----------
        keys
            A series or another sequence with the key of each row.
        X
            A data frame, as for `learn_many`.

        Returns
        -------
        A data frame of the library of X, with one column for each label that a model of these rows
        has learned, in the order of their first row. The probability of a label that the model of a
        row does not know is NaN.

        Raises
        ------
        TypeError, ValueError
            As `predict_many`.
        """
        predictions = self._predict_rows(keyed_rows(keys, X), probabilities=True)
        return frame_of_probabilities(predictions, X)

    # ------------------------------------------------------------------ models

    def __len__(self) -> int:
        with self._lock():
            return len(self._cache)

    def __contains__(self, key: Key) -> bool:
        with self._lock():
            return self._cache.find(plain_key(key)) is not None

    def model_of(self, key: Key) -> typing.Any:
        """Return a copy of the model of a key.

        Parameters
        ----------
        key
            The key.

        Returns
        -------
        The copy, or `None` for an unknown key.
        """
        with self._lock():
            entry = self._cache.find(plain_key(key))
            return None if entry is None else copy.deepcopy(entry.model)

    def forget(self, key: Key) -> bool:
        """Drop the model of a key; the next sample of the key starts a new one.

        A pooled model keeps what it has learned from the key. The model leaves the store with the
        next `commit`.

        Parameters
        ----------
        key
            The key.

        Returns
        -------
        Whether there was a model.
        """
        key = plain_key(key)
        with self._lock():
            is_known = self._cache.find(key) is not None
            self._cache.drop(key)
            return is_known

    def counts(self) -> Counts:
        """Return the numbers of models, and of learned and refused samples."""
        with self._lock():
            n_models, n_in_memory = len(self._cache), self._cache.n_in_memory
            return Counts(n_models, n_in_memory, self._n_seen, self._n_refused, self._refusal)

    # ------------------------------------------------------------------ the store

    def commit(self, note: Mapping[str, typing.Any] | None = None) -> None:
        """Write the models that have changed since the last commit to the store.

        Parameters
        ----------
        note
            A note to store with them, such as the position in the stream; `None` keeps the last
            note.

        Raises
        ------
        RuntimeError
            If there is no store.
        """
        with self._lock():
            note = self.note if note is None else dict(note)
            state = {
                **self._parameters,
                "counts": (self._n_seen, self._n_refused, self._refusal),
                "note": note,
                "pooled state": self._pooled,
            }
            self._cache.commit(state)
            self.note = note

    def close(self) -> None:
        """Close the store, if there is one. Changes since the last commit are lost."""
        with self._lock():
            self._close()

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def text_of(model: base.Estimator | None) -> str:
    """Return the class and the parameters of a model, with the same text in every process."""
    return " ".join(repr(model).split())
