"""One model per key, in one process."""

from __future__ import annotations

import copy
import typing
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from river import base

from river_extra_trees._core.safe_repr import safe_repr

from .._estimator.frames import Sample
from .._estimator.parameters import check_parameter
from .answers import frame_of_probabilities, series_of_answers
from .block import KeyedBlock
from .columns import learned, predicted
from .description import description
from .keeper import Counts, Keeper, check_options
from .keys import PLAIN, Key, plain_key
from .prior import PooledPrior, learned_with, likeliest, predicted_with
from .store import Store
from .turn import Turn

__all__ = ["KeyedModels"]

Rows = npt.NDArray[np.intp] | None


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

    The rows of a data frame are learned about as fast as by one model:

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
        check_options(model, max_models, time_to_live, when_full)
        check_parameter(
            store is not None or when_full == "drop", "store", store, "a file when models spill"
        )
        self.model = model
        self._turn = Turn("the models are")
        self._prior = None
        self._pooled = "none"
        if pooled is not None:
            self._prior = PooledPrior(pooled, isinstance(model, base.Classifier))
            self._pooled = description(pooled)
        self._n_seen = 0
        self._n_refused = 0
        self._refusal = ""
        self.note = {}
        file = None if store is None else Store(store)
        try:
            self._keeper = Keeper(model, max_models, time_to_live, when_full == "spill", file)
            self._continue(self._keeper.state, store)
        except BaseException:
            if file is not None:
                file.close()
            raise

    def _continue(self, state: Mapping[str, typing.Any], store: str | Path | None) -> None:
        """Continue from the last commit; raise if it belongs to another model."""
        if not state:
            return
        if state["model"] != description(self.model):
            raise ValueError(
                f"{store} holds models of {state['model']}, not of {description(self.model)}"
            )
        if state["pooled"] != self._pooled:
            raise ValueError(
                f"the pooled model of {store} is {state['pooled']}, not {self._pooled}"
            )
        if self._prior is not None:
            self._prior.resume(state["prior"])
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
        with self._turn():
            self._learn_row(key, x, y, w)

    def _learn_row(self, key: Key, x: Sample, y: typing.Any, w: float) -> None:
        key = key if type(key) in PLAIN else plain_key(key)
        keeper = self._keeper
        kept = keeper.take(key, keeper.now + 1)
        model = kept.model
        if self._prior is not None:
            self._prior.meet(kept, x, y, w)
        try:
            if w == 1.0:
                model.learn_one(x, y)
            else:
                model.learn_one(x, y, w=w)
        except Exception as error:  # an error of one model must not stop the other keys
            self._refuse(key, keeper.now, error)
        else:
            self._n_seen += 1

    def _refuse(self, key: Key, number: int, error: Exception) -> None:
        self._n_refused += 1
        self._refusal = f"sample {number} of {safe_repr(key)}: {type(error).__name__}: {error}"

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
        self.learn_block(KeyedBlock.from_frame(self.model, keys, X, y, w))

    def learn_block(self, block: KeyedBlock, rows: Rows = None) -> None:
        """Learn the samples of a block.

        Parameters
        ----------
        block
            Samples with targets.
        rows
            Numbers of the samples to learn, ascending; `None` learns all.

        Raises
        ------
        ValueError, TypeError
            If there are no targets, or if they are for another kind of models. Then nothing is
            learned.
        """
        block.check_learnable(self.model)
        rows = np.arange(len(block)) if rows is None else rows
        with self._turn():
            if block.table is not None:
                self._learn_columns(block, rows, None)
                return
            for row in rows.tolist():
                self._learn_row(*block.sample(row))

    def _learn_columns(
        self, block: KeyedBlock, rows: npt.NDArray[np.intp], asks: str | None
    ) -> list[typing.Any]:
        answers: list[typing.Any] = []
        for start in range(0, len(rows), stretch := self._keeper.stretch):
            part = rows[start : start + stretch]
            if self._prior is None:
                found, refusals = learned(self._keeper, block, part, asks)
            else:
                found, refusals = learned_with(self._prior, self._keeper, block, part, asks)
            answers += found
            self._n_seen += len(part) - len(refusals)
            for number, key, error in refusals:
                self._refuse(key, number, error)
        return answers

    # ------------------------------------------------------------------ answers

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
        with self._turn():
            return self._predict_row(key, x)

    def _predict_row(self, key: Key, x: Sample) -> typing.Any:
        kept = self._keeper.look(key if type(key) in PLAIN else plain_key(key))
        if self._prior is not None:
            return likeliest(self._prior.answer(kept, x))
        return None if kept is None else kept.model.predict_one(x)

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
        predict = self._predictor(True)
        with self._turn():
            return typing.cast(dict[Hashable, float], predict(key, x))

    def _share_row(self, key: Key, x: Sample) -> dict[Hashable, float]:
        kept = self._keeper.look(key if type(key) in PLAIN else plain_key(key))
        if self._prior is not None:
            return typing.cast(dict[Hashable, float], self._prior.answer(kept, x) or {})
        return {} if kept is None else kept.model.predict_proba_one(x)

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
        block = KeyedBlock.from_frame(self.model, keys, X)
        return series_of_answers(self.predict_block(block), X)

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
        block = KeyedBlock.from_frame(self.model, keys, X)
        return frame_of_probabilities(self.predict_block(block, shares=True), X)

    def predict_learn_many(
        self, keys: typing.Any, X: typing.Any, y: typing.Any, w: typing.Any = 1.0
    ) -> typing.Any:
        """Predict each row of a data frame, then learn it: test-then-train in one call.

        Predictions and models are the same, bit for bit, as with `predict_one` and `learn_one` for
        each row in turn.

        Parameters
        ----------
        keys
            A series or another sequence with the key of each row.
        X
            A data frame, as for `learn_many`.
        y
            A series or another sequence with the target of each row.
        w
            One weight for all rows, or a series or another sequence with the weight of each row.

        Returns
        -------
        A series of the library of X, as from `predict_many`. The prediction for a row that is
        invalid for its model is missing.

        Raises
        ------
        TypeError, ValueError
            As `learn_many`.
        """
        block = KeyedBlock.from_frame(self.model, keys, X, y, w)
        return series_of_answers(self.predict_learn_block(block), X)

    def predict_block(
        self, block: KeyedBlock, rows: Rows = None, shares: bool = False
    ) -> list[typing.Any]:
        """Predict the samples of a block.

        Parameters
        ----------
        block
            The samples.
        rows
            Numbers of the samples to predict, ascending; `None` predicts all.
        shares
            Whether to predict the probabilities of the labels.

        Returns
        -------
        For each sample, the result of `predict_one` or `predict_proba_one`.
        """
        predict = self._predictor(shares)
        rows = np.arange(len(block)) if rows is None else rows
        with self._turn():
            if block.table is not None and self._prior is not None:
                return predicted_with(self._prior, self._keeper, block, rows, shares)
            if block.table is not None:
                return predicted(self._keeper, block, rows, "shares" if shares else "predictions")
            return [predict(*block.sample(row)[:2]) for row in rows.tolist()]

    def _predictor(self, shares: bool) -> Callable[[Key, Sample], typing.Any]:
        """Return the method that predicts a sample; raise for the probabilities of a regressor."""
        if shares and not hasattr(self.model, "predict_proba_one"):
            raise AttributeError(f"{type(self.model).__name__} predicts no probabilities")
        return self._share_row if shares else self._predict_row

    def predict_learn_block(
        self, block: KeyedBlock, rows: Rows = None, shares: bool = False
    ) -> list[typing.Any]:
        """Predict each sample of a block, then learn it.

        Parameters
        ----------
        block
            Samples with targets.
        rows
            Numbers of the samples to learn, ascending; `None` learns all.
        shares
            Whether to predict the probabilities of the labels.

        Returns
        -------
        For each sample, the result of `predict_one` or `predict_proba_one`; `None` or an empty dict
        if the model raises an error.

        Raises
        ------
        ValueError, TypeError
            As `learn_block`.
        """
        predict = self._predictor(shares)
        block.check_learnable(self.model)
        rows = np.arange(len(block)) if rows is None else rows
        answers: list[typing.Any] = []
        with self._turn():
            if block.table is not None:
                return self._learn_columns(block, rows, "shares" if shares else "predictions")
            for row in rows.tolist():
                key, x, y, w = block.sample(row)
                try:
                    answers.append(predict(key, x))
                except Exception:  # learning raises and counts it
                    answers.append({} if shares else None)
                self._learn_row(key, x, y, w)
        return answers

    # ------------------------------------------------------------------ the whole

    def __len__(self) -> int:
        with self._turn():
            return len(self._keeper)

    def __contains__(self, key: Key) -> bool:
        with self._turn():
            return plain_key(key) in self._keeper

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
        with self._turn():
            kept = self._keeper.look(plain_key(key))
            return None if kept is None else copy.deepcopy(kept.model)

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
        with self._turn():
            return self._keeper.forget(plain_key(key))

    def counts(self) -> Counts:
        """Return the numbers of models, and of learned and refused samples."""
        with self._turn():
            n_models, n_in_memory = len(self._keeper), self._keeper.n_in_memory
            return Counts(n_models, n_in_memory, self._n_seen, self._n_refused, self._refusal)

    @property
    def n_models(self) -> int:
        """Number of keys that have a model."""
        return len(self)

    @property
    def n_samples_seen(self) -> int:
        """Number of samples learned."""
        return self._n_seen

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes in memory."""
        with self._turn():
            prior = 0 if self._prior is None else self._prior._raw_memory_usage
            return self._keeper._raw_memory_usage + prior

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
        with self._turn():
            note = self.note if note is None else dict(note)
            state = {
                "model": description(self.model),
                "counts": (self._n_seen, self._n_refused, self._refusal),
                "note": note,
                "pooled": self._pooled,
                "prior": None if self._prior is None else self._prior.state(),
            }
            self._keeper.commit(state)
            self.note = note

    def close(self) -> None:
        """Close the store, if there is one. Changes since the last commit are lost."""
        with self._turn():
            self._keeper.close()

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
