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
from .._estimator.parameters import check_choice, check_parameter, check_whole
from .answers import frame_of_probabilities, series_of_answers
from .block import KeyedBlock
from .columns import learned, predicted
from .description import description
from .keeper import Counts, Keeper
from .keys import PLAIN, Key, plain_key
from .prior import PooledPrior, learned_with, likeliest, predicted_with
from .store import Store
from .turn import Turn

__all__ = ["KeyedModels"]

Rows = npt.NDArray[np.intp] | None


class KeyedModels:
    """One model per key, in one process.

    Each key gets a clone of the model when its first sample arrives, and learns its own samples
    only. Choose it for many small streams in one: sensors, customers, shops. Models that are not
    needed any more can leave: `max_models` bounds the memory, and `time_to_live` forgets the keys
    that have become silent.

    With a store, the models can be kept for longer than the process lives. All that was learned
    since the last `commit` belongs to one transaction: a process that dies, at any moment, leaves
    the store as the last commit made it. A commit writes the models that have changed since.

    A sample that its model refuses, with any error, is skipped and counted, and the others are
    learned; see `counts`. It is a sample of its key for `max_models` and `time_to_live`
    nevertheless.

    Parameters
    ----------
    model
        Model to clone for each key: any classifier or regressor of river.
    max_models
        Number of models in memory; `None` sets no limit. The key whose last sample is the oldest
        makes room for a new one.
    time_to_live
        Number of samples after the last one of a key until its model is forgotten; `None` keeps it
        permanently.
    when_full
        What happens to a model for which there is no room: `"drop"` forgets it, `"spill"` writes it
        to the store, from which the next sample of its key brings it back as it was.
    store
        File in which models are kept, or `None`. It is made if it does not exist. No other process
        may have it open. It contains pickles: make sure that only
        you can write to it.
    pooled
        Model that learns the samples of all keys, or `None`. It answers for unknown keys, and for
        the others together with their own models: see the notes.

    Attributes
    ----------
    note
        What the last `commit` was given: an empty dict before the first.

    Notes
    -----
    A call that comes while another one runs, from a second thread say, raises `RuntimeError` and
    changes nothing. To share the models among threads, hold a lock around every call.

    With a pooled model, three answers compete for each sample of a key: that of the pooled model,
    that of the key's own model, and the one half-way between both. Bayes' rule weighs them by how
    well they foresaw the key's earlier targets, with a fixed share[^1] so that none is lost for
    ever. A key begins with the weights that suit keys of its age: the average of their posterior
    weights. `model_of` gives the key's own model alone.

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

    Rows of a data frame are learned as fast as one model learns them:

    >>> import pandas as pd
    >>> X = pd.DataFrame({"x": [0.0, 0.0, 0.0]})
    >>> models.predict_learn_many(["Eve", "Ann", "Eve"], X, [5.0, 3.0, 6.0]).tolist()
    [nan, 1.5, 5.0]

    A pooled model answers for a key that nobody has seen:

    >>> tree = ret.StreamDecisionTreeRegressor(leaf_memory=None, seed=42)
    >>> models = KeyedModels(tree, pooled=tree)
    >>> for key, y in [("Ann", 1.0), ("Bob", 10.0), ("Ann", 1.0)]:
    ...     models.learn_one(key, {"x": 0.0}, y)
    >>> models.predict_one("Eve", {"x": 0.0})
    4.0

    With a store, a stream can be continued where the last commit was made:

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
        check_parameter(
            isinstance(model, base.Estimator) and hasattr(model, "predict_one"),
            "model",
            model,
            "a classifier or a regressor",
        )
        check_whole("max_models", max_models, 1, optional=True)
        check_whole("time_to_live", time_to_live, 1, optional=True)
        check_choice("when_full", when_full, "drop", "spill")
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
        """Continue from the last commit, unless it is of other models."""
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

        A sample that the model refuses, with any error, is skipped and counted: see `counts`.

        Parameters
        ----------
        key
            Whose sample it is: a string, bytes or a whole number.
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
        except Exception as error:  # whatever the model raises, the other keys go on
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

        The models are afterwards the same, bit for bit, as after `learn_one` of each row in turn.

        Parameters
        ----------
        keys
            A series of keys, or another sequence of them, as long as the frame.
        X
            A data frame of any kind that narwhals knows (pandas, polars, pyarrow, ...), or an array
            of two dimensions, whose columns are numbered from 0.
        y
            A series of targets, or another sequence of them.
        w
            One weight for all rows, or a series of weights.

        Raises
        ------
        TypeError, ValueError
            If a key is not a string, bytes or a whole number, or the lengths differ. Nothing of the
            frame is learned then.
        """
        self.learn_block(KeyedBlock.from_frame(self.model, keys, X, y, w))

    def learn_block(self, block: KeyedBlock, rows: Rows = None) -> None:
        """Learn the samples of a block.

        Parameters
        ----------
        block
            Samples with targets.
        rows
            The numbers of those that are learned, ascending; `None` for all.

        Raises
        ------
        ValueError, TypeError
            If there are no targets, or those of models of another kind. Nothing is learned then.
        """
        block.check_learnable(self.model)
        rows = np.arange(len(block)) if rows is None else rows
        with self._turn():
            if block.batch is not None:
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
        """Predict the target of a sample: `None` for an unknown key.

        Parameters
        ----------
        key
            Whose sample it is.
        x
            Features.
        """
        with self._turn():
            return self._predict_row(key, x)

    def _predict_row(self, key: Key, x: Sample) -> typing.Any:
        kept = self._keeper.look(key if type(key) in PLAIN else plain_key(key))
        if self._prior is not None:
            return likeliest(self._prior.answer(kept, x))
        return None if kept is None else kept.model.predict_one(x)

    def predict_proba_one(self, key: Key, x: Sample) -> dict[Hashable, float]:
        """Predict the probabilities of the labels: an empty dict for an unknown key.

        Parameters
        ----------
        key
            Whose sample it is.
        x
            Features.
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
            A series of keys, or another sequence of them, as long as the frame.
        X
            A data frame, as for `learn_many`.

        Returns
        -------
        A series of the same kind, with the answers in the order of the rows; those for unknown keys
        are missing. Answers for which that kind has no type stay Python objects; pyarrow, which has
        no series of objects, raises a TypeError.

        Raises
        ------
        TypeError, ValueError
            As `learn_many`, and if a model refuses a row.
        """
        block = KeyedBlock.from_frame(self.model, keys, X)
        return series_of_answers(self.predict_block(block), X)

    def predict_proba_many(self, keys: typing.Any, X: typing.Any) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame.

        Parameters
        ----------
        keys
            A series of keys, or another sequence of them, as long as the frame.
        X
            A data frame, as for `learn_many`.

        Returns
        -------
        A data frame of the same kind with a column for each label that a model of these rows has
        learned, in the order of the rows in which they first appear. A probability is NaN where the
        row's model does not know the label.

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

        Answers and models are the same, bit for bit, as those of `predict_one` and `learn_one` for
        each row in turn.

        Parameters
        ----------
        keys
            A series of keys, or another sequence of them, as long as the frame.
        X
            A data frame, as for `learn_many`.
        y
            A series of targets, or another sequence of them.
        w
            One weight for all rows, or a series of weights.

        Returns
        -------
        A series of the same kind as the frame, as `predict_many` returns it. The answer for a row
        that its model refuses is missing.

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
            The numbers of those that are predicted, ascending; `None` for all.
        shares
            Whether to answer with the probabilities of the labels.

        Returns
        -------
        For each sample what `predict_one` or `predict_proba_one` returns.
        """
        predict = self._predictor(shares)
        rows = np.arange(len(block)) if rows is None else rows
        with self._turn():
            if block.batch is not None and self._prior is not None:
                return predicted_with(self._prior, self._keeper, block, rows, shares)
            if block.batch is not None:
                return predicted(self._keeper, block, rows, "shares" if shares else "predictions")
            return [predict(*block.sample(row)[:2]) for row in rows.tolist()]

    def _predictor(self, shares: bool) -> Callable[[Key, Sample], typing.Any]:
        """What answers a sample; refuses to ask a regressor for probabilities."""
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
            The numbers of those that are learned, ascending; `None` for all.
        shares
            Whether to answer with the probabilities of the labels.

        Returns
        -------
        For each sample what `predict_one` or `predict_proba_one` returns; `None` or an empty dict
        where the model refuses to answer.

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
            if block.batch is not None:
                return self._learn_columns(block, rows, "shares" if shares else "predictions")
            for row in rows.tolist():
                key, x, y, w = block.sample(row)
                try:
                    answers.append(predict(key, x))
                except Exception:  # learning refuses it, too
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
        """A copy of the model of a key, or `None` for an unknown key.

        Parameters
        ----------
        key
            The key.
        """
        with self._turn():
            kept = self._keeper.look(plain_key(key))
            return None if kept is None else copy.deepcopy(kept.model)

    def forget(self, key: Key) -> bool:
        """Drop the model of a key; the next sample of the key begins a new one.

        A pooled model keeps what it has learned of the key. A store forgets the key with the next
        `commit`.

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
        """How much these models have learned."""
        with self._turn():
            n_models, n_in_memory = len(self._keeper), self._keeper.n_in_memory
            return Counts(n_models, n_in_memory, self._n_seen, self._n_refused, self._refusal)

    @property
    def n_models(self) -> int:
        """Number of keys that have a model."""
        return len(self)

    @property
    def n_samples_seen(self) -> int:
        """Number of samples that models have learned."""
        return self._n_seen

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes in memory."""
        with self._turn():
            prior = 0 if self._prior is None else self._prior._raw_memory_usage
            return self._keeper._raw_memory_usage + prior

    # ------------------------------------------------------------------ the store

    def commit(self, note: Mapping[str, typing.Any] | None = None) -> None:
        """Write the models that have changed since the last commit into the store.

        Parameters
        ----------
        note
            What else to remember, such as the position in the stream; `None` keeps the last one.

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
        """Close the store, if there is one. What was learned since the last commit is lost."""
        with self._turn():
            self._keeper.close()

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
