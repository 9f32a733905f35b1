"""A common prior: a model of the samples of all keys, which helps keys with few samples.

A pooled model learns the samples of all keys. For each sample of a key there are three predictions:
that of the pooled model, that of the key's own model, and their mean. Their weights follow Bayes'
rule on the earlier targets of the key, with a fixed share (Herbster and Warmuth 1998, section 5)
that keeps every weight above zero. The prior weights depend on the number of samples of a key. They
are estimated from all keys by empirical Bayes, as the average of the posterior weights.
"""

from __future__ import annotations

import math
import pickle
import typing
from collections.abc import Hashable

import numpy as np
import numpy.typing as npt
from river import base

from river_extra_trees._core.table import Table

from .._estimator.frames import Sample
from .._estimator.learner import reads_columns
from .._estimator.parameters import check_parameter
from .block import KeyedBlock
from .columns import Refusal, learned, predicted
from .keeper import Keeper, Kept

__all__ = ["PooledPrior", "learned_with", "likeliest", "predicted_with"]

SHARE = 0.02  # fixed share of the weights, shared out evenly after each sample
FLOOR = 0.02  # probability that is spread evenly over the labels, so that none has probability 0
DEGREES = 4.0  # degrees of freedom of the Student-t density of an error, for robust weights
PSEUDO = 2.0  # pseudo-samples with the mean squared error of all keys, in that of one key
OWN_SHARES = (0.0, 0.5, 1.0)  # share of the key's own model in each of the three predictions
AGES = 64  # groups of keys by number of samples: 1, 2 to 3, 4 to 7, ...

# Record of a key: its number of samples, the weights of the mean and of its own prediction, and for
# regression the sum of its squared errors.
Memory = tuple[float, float, float, float]
NEW: Memory = (0.0, 1.0 / 3.0, 1.0 / 3.0, 0.0)

Shares = dict[Hashable, float]
Rows = npt.NDArray[np.intp]


def likeliest(answer: typing.Any) -> typing.Any:
    """Return the most probable label, in a tie the first one; return a number unchanged."""
    if not isinstance(answer, dict):
        return answer
    return max(answer, key=answer.__getitem__) if answer else None


class PooledPrior:
    """The pooled model, and the prior weights of the three predictions.

    Parameters
    ----------
    model
        Model to clone for the samples of all keys.
    classifier
        Whether the models of the keys are classifiers; then the pooled model must be one, too.
    """

    def __init__(self, model: base.Estimator, classifier: bool) -> None:
        kind = "predict_proba_one" if classifier else "predict_one"
        check_parameter(
            isinstance(model, base.Classifier if classifier else base.Regressor)
            and hasattr(model, kind),
            "pooled",
            model,
            "None or a model of the same kind as that of the keys, with probabilities of labels",
        )
        self.model: typing.Any = model.clone()
        self._classifier = classifier
        self.asks = "shares" if classifier else "predictions"  # asked of the models of the keys
        # For each group of ages, the sum of the posterior weights, plus one pseudo-count each.
        self._counts = [[1.0, 1.0, 1.0] for _ in range(AGES)]
        self._n_learned = 0  # samples learned by the pooled model
        self._n = 0  # predictions of a regression
        self._squares = 0.0  # sum of their squared errors

    # ------------------------------------------------------------------ what is kept

    def state(self) -> bytes:
        """Return everything learned as bytes."""
        learned = self.model, self._counts, self._n_learned, self._n, self._squares
        return pickle.dumps(learned, protocol=5)

    def resume(self, state: bytes) -> None:
        """Continue from a state.

        Parameters
        ----------
        state
            A result of `state`.
        """
        self.model, self._counts, self._n_learned, self._n, self._squares = pickle.loads(state)

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes of the pooled model; the rest is negligible."""
        return int(self.model._raw_memory_usage)

    # ------------------------------------------------------------------ samples of keys

    def answer(self, kept: Kept | None, x: Sample) -> typing.Any:
        """Predict probabilities or a number; `None` or empty if nothing is known.

        Parameters
        ----------
        kept
            The entry of the key, or `None`.
        x
            Features.
        """
        memory = NEW if kept is None or kept.prior is None else kept.prior
        return self.mixed(memory, self._own(kept, x), self._pooled(x))

    def meet(self, kept: Kept, x: Sample, y: typing.Any, w: float) -> None:
        """Learn a sample before the model of its key does.

        Parameters
        ----------
        kept
            The entry of the key.
        x
            Features.
        y
            The target.
        w
            Weight of the sample.
        """
        own, pooled = None, None
        try:
            own, pooled = self._own(kept, x), self._pooled(x)
            self._learn(x, y, w)
        except Exception:  # an error of the pooled model must not stop the keys
            return
        self._take(kept, own, pooled, y, w)

    def _own(self, kept: Kept | None, x: Sample) -> typing.Any:
        if kept is None or kept.prior is None:
            return None
        return kept.model.predict_proba_one(x) if self._classifier else kept.model.predict_one(x)

    def _pooled(self, x: Sample) -> typing.Any:
        if self._classifier:
            return self.model.predict_proba_one(x)
        return self.model.predict_one(x) if self._n_learned else None

    def _learn(self, x: Sample, y: typing.Any, w: float) -> None:
        if w == 1.0:
            self.model.learn_one(x, y)
        else:
            self.model.learn_one(x, y, w=w)

    def _take(
        self, kept: Kept, own: typing.Any, pooled: typing.Any, y: typing.Any, w: float
    ) -> None:
        """Update the record of a key after the pooled model has learned a sample."""
        if w > 0.0:
            self._n_learned += 1
            kept.prior = self.update(NEW if kept.prior is None else kept.prior, own, pooled, y)

    # ------------------------------------------------------------------ blocks of columns

    def answer_rows(
        self, keeper: Keeper, block: KeyedBlock, rows: Rows, own: list[typing.Any]
    ) -> list[typing.Any]:
        """Predict rows of a block of columns, as `answer` does.

        Parameters
        ----------
        keeper
            The models of the keys.
        block
            The block.
        rows
            Numbers of the rows.
        own
            The predictions of the models of the keys.
        """
        found = []
        pooled = self._pooled_rows(block, rows, False) or [
            self._pooled(block.sample(row)[1]) for row in rows.tolist()
        ]
        for row, mine, common in zip(rows.tolist(), own, pooled, strict=True):
            kept = keeper.look(block.keys[block.codes[row]])
            if kept is None or kept.prior is None:
                found.append(common)
            else:
                found.append(self.mixed(kept.prior, mine, common))
        return found

    def meet_rows(
        self, keeper: Keeper, block: KeyedBlock, rows: Rows, own: list[typing.Any], answers: bool
    ) -> list[typing.Any]:
        """Learn rows of a block of columns, as `meet` does; predict them before, if requested.

        Parameters
        ----------
        keeper
            The models of the keys, all of which are in memory.
        block
            The block.
        rows
            Numbers of the rows.
        own
            The predictions of the models of the keys, made before they learned each row.
        answers
            Whether predictions are requested.
        """
        found = []
        pooled = self._pooled_rows(block, rows, True)
        for place, row in enumerate(rows.tolist()):
            key = block.keys[block.codes[row]]
            kept = typing.cast(Kept, keeper.look(key, keeper.now))
            mine = None if kept.prior is None else own[place]
            y, w = block.target(row)
            if pooled is None:
                common, w = self._met(block.sample(row)[1], y, w)
            else:
                common = pooled[place] if self._classifier or self._n_learned else None
            if answers:
                found.append(self.mixed(kept.prior or NEW, mine, common))
            self._take(kept, mine, common, y, w)
        return found

    def _met(self, x: Sample, y: typing.Any, w: float) -> tuple[typing.Any, float]:
        """Predict and learn with the pooled model; the weight returned is 0 if it fails."""
        common = None
        try:
            common = self._pooled(x)
            self._learn(x, y, w)
        except Exception:  # an error of the pooled model must not stop the keys
            return common, 0.0
        return common, w

    def _pooled_rows(self, block: KeyedBlock, rows: Rows, learns: bool) -> list[typing.Any] | None:
        """Predict rows with the pooled model, and learn them; `None` if it cannot use columns."""
        if not reads_columns(self.model):
            return None
        core = self.model._core
        try:
            reader = core.reader(typing.cast(Table, block.table).take(rows), learns)
        except (TypeError, ValueError):  # a row is invalid
            return None
        core.ask(reader, self._classifier)
        self.model._read_rows(reader)
        if not self._classifier:
            numbers: list[typing.Any] = reader.numbers.tolist()
            return numbers if learns or self._n_learned else [None] * len(rows)
        labels = core.labels.labels
        return [
            {label: share for label, share in zip(labels, row, strict=False) if share == share}
            for row in reader.shares.tolist()
        ]

    # ------------------------------------------------------------------ one key

    def weights(self, memory: Memory) -> tuple[float, float, float]:
        """Posterior weights of the three predictions for a key."""
        n, half, own, _ = memory
        pool, middle, alone = self._counts[int(n).bit_length()]
        pool *= 1.0 - half - own
        middle *= half
        alone *= own
        total = pool + middle + alone
        return pool / total, middle / total, alone / total

    def mixed(self, memory: Memory, own: typing.Any, pooled: typing.Any) -> typing.Any:
        """Mix the prediction of the key's own model with that of the pooled model.

        Parameters
        ----------
        memory
            Record of the key.
        own
            Probabilities or number predicted by the key's own model; `None` or empty before its
            first sample.
        pooled
            Prediction of the pooled model, in the same form.
        """
        if own is None or own == {}:
            return pooled
        if pooled is None or pooled == {}:
            return own
        _, middle, alone = self.weights(memory)
        share = 0.5 * middle + alone
        return self._between(own, pooled, share)

    def _between(self, own: typing.Any, pooled: typing.Any, share: float) -> typing.Any:
        if not self._classifier:
            return pooled + share * (own - pooled)
        labels = {**pooled, **own}
        return {
            label: (1.0 - share) * pooled.get(label, 0.0) + share * own.get(label, 0.0)
            for label in labels
        }

    def update(self, memory: Memory, own: typing.Any, pooled: typing.Any, y: typing.Any) -> Memory:
        """Return the record of a key after a sample.

        Parameters
        ----------
        memory
            The record before the sample.
        own, pooled
            The predictions for the sample, as for `mixed`.
        y
            The target.
        """
        n, half, alone, squares = memory
        if own is None or own == {} or pooled is None or pooled == {}:
            return n + 1.0, half, alone, squares
        if self._classifier:
            fits = self._label_fits(own, pooled, y)
        else:
            error = float(y) - self.mixed(memory, own, pooled)
            fits = self._number_fits(memory, own, pooled, float(y))
            squares += error * error
            self._squares += error * error
            self._n += 1
        counts = self._counts[int(n).bit_length()]
        before = 1.0 - half - alone, half, alone
        after = [weight * fit for weight, fit in zip(before, fits, strict=True)]
        posterior = [count * weight for count, weight in zip(counts, after, strict=True)]
        whole, total = sum(posterior), sum(after)
        if not whole > 0.0:  # the densities of all three predictions have underflowed
            return n + 1.0, half, alone, squares
        for i in range(3):
            counts[i] += posterior[i] / whole
        stay = (1.0 - SHARE) / total
        return n + 1.0, stay * after[1] + SHARE / 3.0, stay * after[2] + SHARE / 3.0, squares

    def _label_fits(self, own: Shares, pooled: Shares, y: Hashable) -> list[float]:
        """Probability of the label under each of the three predictions."""
        a, b = pooled.get(y, 0.0), own.get(y, 0.0)
        floor = FLOOR / len({**pooled, **own, y: 0.0})
        return [(1.0 - FLOOR) * (a + share * (b - a)) + floor for share in OWN_SHARES]

    def _number_fits(self, memory: Memory, own: float, pooled: float, y: float) -> list[float]:
        """Student-t density of the error of each of the three predictions, up to a factor.

        The squared scale is the mean squared error of the key, with `PSEUDO` pseudo-samples that
        have the mean squared error of all keys.
        """
        common = self._squares / self._n if self._n else 0.0
        scale = (memory[3] + PSEUDO * common) / (memory[0] + PSEUDO)
        if not 0.0 < scale < math.inf:
            return [1.0, 1.0, 1.0]
        errors = [y - pooled - share * (own - pooled) for share in OWN_SHARES]
        return [
            (1.0 + error * error / (DEGREES * scale)) ** (-0.5 * (DEGREES + 1.0))
            for error in errors
        ]


def predicted_with(
    prior: PooledPrior, keeper: Keeper, block: KeyedBlock, rows: Rows, shares: bool
) -> list[typing.Any]:
    """Predict rows of a block of columns with a pooled prior.

    Parameters
    ----------
    prior
        The prior.
    keeper
        The models of the keys.
    block
        The block.
    rows
        Numbers of the rows, ascending.
    shares
        Whether to predict probabilities.
    """
    own = predicted(keeper, block, rows, prior.asks)
    answers = prior.answer_rows(keeper, block, rows, own)
    return answers if shares else list(map(likeliest, answers))


def learned_with(
    prior: PooledPrior, keeper: Keeper, block: KeyedBlock, rows: Rows, asks: str | None
) -> tuple[list[typing.Any], list[Refusal]]:
    """Learn rows with a pooled prior; return the predictions made before, and the refusals.

    Parameters
    ----------
    prior
        The prior.
    keeper
        The models of the keys.
    block
        The block.
    rows
        Numbers of the rows, ascending; at most `keeper.stretch` of them.
    asks
        What to predict: `"predictions"`, `"shares"` (probabilities), or `None` (nothing).
    """
    own, refusals = learned(keeper, block, rows, prior.asks)
    answers = prior.meet_rows(keeper, block, rows, own, asks is not None)
    return (answers if asks == "shares" else list(map(likeliest, answers))), refusals
