"""One model per key, in one process."""

from __future__ import annotations

import copy
import threading
import typing
from collections.abc import Callable, Mapping
from pathlib import Path

from river import base

from river_extra_trees._core.safe_repr import safe_repr

from .._estimator.frames import Sample
from .._estimator.parameters import check_jobs, check_parameter, check_whole, n_threads_of
from ..watch import Alarm, Watch
from .by_key import learn_table, predict_table, rows_by_key, side_by_side
from .cache import ModelCache
from .keys import Key, Part, plain_key
from .methods import KeyedMethods
from .pooled import PooledModel, likeliest
from .rows import Rows
from .store import Entry, Store

__all__ = ["Counts", "KeyedModels"]


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


class KeyedModels(KeyedMethods):
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
        whose key has the oldest last sample leaves the memory. A store keeps it until the next
        sample of its key; without a store, it is dropped.
    time_to_live
        Number of samples after the last sample of a key until its model is dropped; `None` never
        drops it.
    store
        Path of the file in which models are kept, or `None`. It is created if it does not exist.
        Only one process can have it open, and a process that is forked from it cannot use it. It
        contains pickles: make sure that only you can write to it.
    pooled
        Model that learns the samples of all keys, or `None`. It predicts samples of unknown keys,
        and is mixed with the model of each known key: see the notes.
    n_jobs
        Number of threads that learn or predict the keys of a data frame side by side; -1 stands for
        all cores. They serve frames with at least 25 rows per key, of learners of this package and
        without a pooled model. The predictions do not depend on it.
    false_alarms_per
        Watch the stream of all keys, as `Watch` does, with this number of samples between two false
        alarms at least; `None` does not. A change that reaches all keys is one alarm, and not one
        per key. The loss is that of the prediction at the time when the label is learned.
    on_alarm
        Function that is called with each alarm.

    Attributes
    ----------
    alarms
        The latest 1,000 alarms, the oldest first.
    note
        The note of the last `commit`; an empty dict before the first.

    Notes
    -----
    Threads can share the models: a call waits until those of other threads have ended.

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
        store: str | Path | None = None,
        pooled: base.Estimator | None = None,
        n_jobs: int = 1,
        false_alarms_per: float | None = None,
        on_alarm: Callable[[Alarm], typing.Any] | None = None,
    ) -> None:
        is_model = isinstance(model, base.Estimator) and hasattr(model, "predict_one")
        check_parameter(is_model, "model", model, "a classifier or a regressor")
        check_whole("max_models", max_models, 1, optional=True)
        check_whole("time_to_live", time_to_live, 1, optional=True)
        check_jobs(n_jobs)
        if on_alarm is not None and false_alarms_per is None:
            raise ValueError("on_alarm: nothing is watched without false_alarms_per")
        is_classifier = isinstance(model, base.Classifier)
        self._pooled = None if pooled is None else PooledModel(pooled, is_classifier)
        self._parameters = {"model": text_of(model), "pooled model": text_of(pooled)}
        self.model = model
        self.n_jobs = n_jobs
        self._watch = None if false_alarms_per is None else Watch(model, false_alarms_per, on_alarm)
        self.note = {}
        self._lock = threading.Lock()
        self._n_seen, self._n_refused, self._refusal = 0, 0, ""
        self._store = None if store is None else Store(store)
        self._cache = ModelCache(model, max_models, time_to_live, self._store)
        try:
            if self._store is not None and (state := self._store.state()) is not None:
                self._resume(self._store, state)
        except BaseException:
            self.close()
            raise

    def _resume(self, store: Store, state: dict[str, typing.Any]) -> None:
        """Continue from the last commit; raise if it belongs to another model."""
        for name, text in self._parameters.items():
            if state[name] != text:
                raise ValueError(f"the {name} of {store.path} is {state[name]}, not {text}")
        self._pooled = state["pooled state"]
        self._n_seen, self._n_refused, self._refusal = state["counts"]
        self._cache.now = state["now"]
        self.note = state["note"]
        if self._watch is not None and state.get("watch") is not None:
            self._watch._restore(state["watch"])

    @property
    def alarms(self) -> list[Alarm]:
        """The latest alarms."""
        return [] if self._watch is None else list(self._watch.alarms)

    def __getstate__(self) -> dict[str, typing.Any]:
        return {**vars(self), "_lock": None}

    def __setstate__(self, state: dict[str, typing.Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

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
        self._call("_learn", plain_key(key), x, y, w, False)

    def _learn(self, key: Key, x: Sample, y: typing.Any, w: float, predicts: bool) -> typing.Any:
        """Learn a sample; return the prediction made before, if requested."""
        entered = self._cache.enter(key)
        place = f"sample {self._cache.now} of {safe_repr(key)}"
        prediction, is_learned = self._learn_entry(*entered, place, x, y, w, predicts)
        if is_learned:
            self._look(x, prediction, y)
        return prediction

    def _look(self, x: Sample, prediction: typing.Any, y: typing.Any) -> None:
        """Show the watch a sample that was learned."""
        if self._watch is not None:
            self._watch._see(x)
            if prediction is not None:
                self._watch._judge(prediction, y)

    def _learn_entry(
        self,
        entry: Entry,
        is_known: bool,
        place: str,
        x: Sample,
        y: typing.Any,
        w: float,
        predicts: bool,
    ) -> tuple[typing.Any, bool]:
        """Learn a sample of a key that has been entered; `place` names it in an error.

        Returns
        -------
        The prediction made before, if requested or watched, and whether the sample was learned.
        """
        prediction = None
        predicts = predicts or self._watch is not None
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
            self._refusal = f"{place}: {type(error).__name__}: {error}"
            self._n_refused += 1
            return prediction, False
        self._n_seen += 1
        return prediction, True

    def _learn_rows(self, rows: Rows, predicts: bool) -> list[typing.Any]:
        with self._lock:
            parts = self._parts(rows)
            if parts is not None and self._cache.keeps(len(parts), len(rows.keys)):
                return self._learn_parts(rows, parts, predicts)
            labelled = zip(rows.samples(), rows.y, rows.w, strict=True)
            return [self._learn(key, x, y, w, predicts) for (key, x), y, w in labelled]

    def _parts(self, rows: Rows) -> list[Part] | None:
        """Return the numbers of the rows of each key, if there is a table for each key."""
        return None if self._pooled is not None else rows_by_key(self.model, rows)

    def _learn_parts(self, rows: Rows, parts: list[Part], predicts: bool) -> list[typing.Any]:
        """Learn a table for each key; if a row is invalid, learn the rows of its key in turn."""
        first = self._cache.now + 1
        entered = self._cache.enter_all(parts, len(rows.keys))
        entries = {key: entry for (key, _), (entry, _) in zip(parts, entered, strict=True)}

        watches = self._watch is not None
        n_learned: list[int] = []  # per key that is done

        def learn(part: Part) -> list[typing.Any] | None:
            try:
                found = learn_table(entries[part[0]].model, rows, part[1], predicts or watches)
            except (TypeError, ValueError, RuntimeError):  # nothing was learned of the table
                return None
            n_learned.append(len(part[1]))
            return found

        predictions: list[typing.Any] = [None] * len(rows.keys)
        in_turn = {}  # number of a row: whether its key had a model before
        try:
            learned = side_by_side(learn, parts, self._n_threads(parts))
        finally:  # also if a signal ends this call after some of the keys
            self._n_seen += sum(n_learned)
        for ((_, numbers), found), (_, is_known) in zip(learned, entered, strict=True):
            if found is None:
                in_turn.update({number: is_known or number > numbers[0] for number in numbers})
                continue
            for number, prediction in zip(numbers, found, strict=True):
                predictions[number] = prediction if is_known or number > numbers[0] else None
        for number, (key, x) in enumerate(rows.samples() if in_turn or watches else ()):
            is_learned = True
            if number in in_turn:
                sample = x, rows.y[number], rows.w[number]
                place = f"sample {first + number} of {safe_repr(key)}"
                predictions[number], is_learned = self._learn_entry(
                    entries[key], in_turn[number], place, *sample, predicts
                )
            if is_learned:
                self._look(x, predictions[number], rows.y[number])
        return predictions

    def _n_threads(self, parts: list[Part]) -> int:
        return n_threads_of(self.n_jobs, len(parts))

    def _predict_rows(self, rows: Rows, probabilities: bool) -> list[typing.Any]:
        with self._lock:
            parts = self._parts(rows)
            is_possible = not probabilities or isinstance(self.model, base.Classifier)
            if parts is not None and is_possible:
                found = self._predict_parts(rows, parts, probabilities)
                if found is not None:
                    return found
            return [self._predict(key, x, probabilities) for key, x in rows.samples()]

    def _predict_parts(
        self, rows: Rows, parts: list[Part], probabilities: bool
    ) -> list[typing.Any] | None:
        """Predict a table for each key; return `None` if a row is invalid."""
        entries = {key: self._cache.find(key) for key, _ in parts}

        def predict(part: Part) -> list[typing.Any]:
            entry = entries[part[0]]
            if entry is None:
                return [{} if probabilities else None for _ in part[1]]
            return predict_table(entry.model, rows, part[1], probabilities)

        predictions: list[typing.Any] = [None] * len(rows.keys)
        try:
            for (_, numbers), found in side_by_side(predict, parts, self._n_threads(parts)):
                for number, prediction in zip(numbers, found, strict=True):
                    predictions[number] = prediction
        except Exception:
            return None
        return predictions

    def _call(self, method: str, key: Key, *arguments: typing.Any) -> typing.Any:
        with self._lock:
            return getattr(self, method)(key, *arguments)

    # ------------------------------------------------------------------ one key, with the lock

    def _predict(self, key: Key, x: Sample, probabilities: bool) -> typing.Any:
        """Predict a label or target, or probabilities."""
        if probabilities and not hasattr(self.model, "predict_proba_one"):
            raise AttributeError(f"{type(self.model).__name__} predicts no probabilities")
        entry = self._cache.find(key)
        if self._pooled is not None:
            found = self._pooled.predict(entry, x)
            return (found or {}) if probabilities else likeliest(found)
        if entry is None:
            return {} if probabilities else None
        return entry.model.predict_proba_one(x) if probabilities else entry.model.predict_one(x)

    def _has(self, key: Key) -> bool:
        """Whether there is a model of a key."""
        return self._cache.find(key) is not None

    def _copy(self, key: Key) -> typing.Any:
        """Copy the model of a key; `None` if there is none."""
        entry = self._cache.find(key)
        return None if entry is None else copy.deepcopy(entry.model)

    def _forget(self, key: Key) -> bool:
        """Drop the model of a key; return whether there was one."""
        is_known = self._has(key)
        self._cache.drop(key)
        return is_known

    # ------------------------------------------------------------------ all models

    def __len__(self) -> int:
        return self.counts().n_models

    def counts(self) -> Counts:
        """Return the numbers of models, and of learned and refused samples."""
        with self._lock:
            return Counts(*self._cache.counts(), self._n_seen, self._n_refused, self._refusal)

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
        with self._lock:
            note = self.note if note is None else dict(note)
            state = {
                **self._parameters,
                "counts": (self._n_seen, self._n_refused, self._refusal),
                "now": self._cache.now,
                "note": note,
                "pooled state": self._pooled,
                "watch": None if self._watch is None else self._watch._state(),
            }
            self._cache.commit(state)
            self.note = note

    def close(self) -> None:
        """Close the store, if there is one. Changes since the last commit are lost."""
        with self._lock:
            if self._store is not None:
                self._store.close()


def text_of(model: base.Estimator | None) -> str:
    """Return the class and the parameters of a model, with the same text in every process."""
    return " ".join(repr(model).split())
