"""A model of the samples of all keys, which helps keys with few samples.

For each sample of a key there are three predictions: that of the pooled model, that of the key's
own model, and their mean. Their weights follow Bayes' rule on the earlier targets of the key, with
a fixed share (Herbster and Warmuth 1998, section 5) that keeps every weight above zero. The prior
weights depend on the number of samples of a key. They are estimated from all keys by empirical
Bayes, as the average of the posterior weights.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Hashable

from river import base

from .._estimator.frames import Sample
from .._estimator.parameters import check_parameter
from .store import Entry

__all__ = ["PooledModel", "likeliest"]

SHARE = 0.02  # fixed share of the weights, shared out evenly after each sample
FLOOR = 0.02  # probability that is spread evenly over the labels, so that none has probability 0
DEGREES = 4.0  # degrees of freedom of the Student-t density of an error, for robust weights
PSEUDO = 2.0  # pseudo-samples with the mean squared error of all keys, in that of one key
OWN_SHARES = (0.0, 0.5, 1.0)  # share of the key's own model in each of the three predictions
AGES = 64  # groups of keys by number of samples: 1, 2 to 3, 4 to 7, ...

Shares = dict[Hashable, float]


class Record(typing.NamedTuple):
    """What is known about a key.

    Attributes
    ----------
    n
        Number of its samples.
    mean, own
        Weights of the mean of both predictions and of the prediction of its own model.
    squares
        Sum of its squared errors, in a regression.
    """

    n: int = 0
    mean: float = 1.0 / 3.0
    own: float = 1.0 / 3.0
    squares: float = 0.0

    @property
    def weights(self) -> tuple[float, float, float]:
        """Weights of the three predictions."""
        return 1.0 - self.mean - self.own, self.mean, self.own

    @property
    def age(self) -> int:
        """Group of the key by number of samples."""
        return self.n.bit_length()


NEW = Record()


def is_nothing(prediction: typing.Any) -> bool:
    """Whether a model has predicted nothing."""
    return prediction is None or prediction == {}


def likeliest(prediction: typing.Any) -> typing.Any:
    """Return the most probable label, in a tie the first one; return a number unchanged."""
    if not isinstance(prediction, dict):
        return prediction
    return max(prediction, key=prediction.__getitem__) if prediction else None


class PooledModel:
    """A model of all keys, and the prior weights of the three predictions.

    Parameters
    ----------
    model
        Model to clone for the samples of all keys.
    classifier
        Whether the models of the keys are classifiers; then the pooled model must be one, too.
    """

    def __init__(self, model: base.Estimator, classifier: bool) -> None:
        check_parameter(
            isinstance(model, base.Classifier if classifier else base.Regressor)
            and hasattr(model, "predict_proba_one" if classifier else "predict_one"),
            "pooled",
            model,
            "None or a model of the same kind as that of the keys, with probabilities of labels",
        )
        self.model: typing.Any = model.clone()
        self._classifier = classifier
        # For each group of ages, the sum of the posterior weights, plus one pseudo-count each.
        self._counts = [[1.0, 1.0, 1.0] for _ in range(AGES)]
        self._n_learned = 0  # samples learned by the pooled model
        self._n = 0  # predictions of a regression
        self._squares = 0.0  # sum of their squared errors

    def predict(self, entry: Entry | None, x: Sample) -> typing.Any:
        """Predict probabilities or a number; `None` or empty if nothing is known."""
        record = NEW if entry is None or entry.record is None else entry.record
        return self._mixed(record, *self._both(entry, x))

    def learn(self, entry: Entry, x: Sample, y: typing.Any, w: float) -> typing.Any:
        """Learn a sample before the own model of its key does; return the prediction before."""
        prediction, record = None, entry.record or NEW
        try:
            own, pooled = self._both(entry, x)
            prediction = self._mixed(record, own, pooled)
            self.model.learn_one(x, y, **({} if w == 1.0 else {"w": w}))
        except Exception:  # an error of the pooled model must not stop the keys
            return prediction
        if w > 0.0:
            self._n_learned += 1
            entry.record = self._updated(record, own, pooled, y)
        return prediction

    def _both(self, entry: Entry | None, x: Sample) -> tuple[typing.Any, typing.Any]:
        """Return the prediction of the key's own model, and that of the pooled model.

        A prediction is `None` or empty if nothing is known.
        """
        method = "predict_proba_one" if self._classifier else "predict_one"
        own = None
        if entry is not None and entry.record is not None:
            own = getattr(entry.model, method)(x)
        can_predict = self._classifier or self._n_learned
        return own, getattr(self.model, method)(x) if can_predict else None

    # ------------------------------------------------------------------ weights

    def _mixed(self, record: Record, own: typing.Any, pooled: typing.Any) -> typing.Any:
        """Mix the prediction of the key's own model with that of the pooled model."""
        if is_nothing(own) or is_nothing(pooled):
            return pooled if is_nothing(own) else own
        products = map(math.prod, zip(self._counts[record.age], record.weights, strict=True))
        pool, mean, alone = products
        share = (0.5 * mean + alone) / (pool + mean + alone)
        if not self._classifier:
            return pooled + share * (own - pooled)
        return {
            label: (1.0 - share) * pooled.get(label, 0.0) + share * own.get(label, 0.0)
            for label in {**pooled, **own}
        }

    def _updated(
        self, record: Record, own: typing.Any, pooled: typing.Any, y: typing.Any
    ) -> Record:
        """Return the record of a key after a sample."""
        record, before = record._replace(n=record.n + 1), record
        if is_nothing(own) or is_nothing(pooled):
            return record
        if self._classifier:
            fits = self._label_fits(own, pooled, y)
        else:
            fits = self._number_fits(before, own, pooled, float(y))
            square = (float(y) - self._mixed(before, own, pooled)) ** 2
            record = record._replace(squares=record.squares + square)
            self._squares += square
            self._n += 1
        counts = self._counts[before.age]
        after = [weight * fit for weight, fit in zip(before.weights, fits, strict=True)]
        posterior = [count * weight for count, weight in zip(counts, after, strict=True)]
        if not sum(posterior) > 0.0:  # the densities of all three predictions have underflowed
            return record
        for i in range(3):
            counts[i] += posterior[i] / sum(posterior)
        _, mean, alone = ((1.0 - SHARE) * each / sum(after) + SHARE / 3.0 for each in after)
        return record._replace(mean=mean, own=alone)

    def _label_fits(self, own: Shares, pooled: Shares, y: Hashable) -> list[float]:
        """Probability of the label under each of the three predictions."""
        a, b = pooled.get(y, 0.0), own.get(y, 0.0)
        floor = FLOOR / len({**pooled, **own, y: 0.0})
        return [(1.0 - FLOOR) * (a + share * (b - a)) + floor for share in OWN_SHARES]

    def _number_fits(self, record: Record, own: float, pooled: float, y: float) -> list[float]:
        """Student-t density of the error of each of the three predictions, up to a factor.

        The squared scale is the mean squared error of the key, with `PSEUDO` pseudo-samples that
        have the mean squared error of all keys.
        """
        common = self._squares / self._n if self._n else 0.0
        scale = (record.squares + PSEUDO * common) / (record.n + PSEUDO)
        if not 0.0 < scale < math.inf:
            return [1.0, 1.0, 1.0]
        errors = [y - pooled - share * (own - pooled) for share in OWN_SHARES]
        return [
            (1.0 + error * error / (DEGREES * scale)) ** (-0.5 * (DEGREES + 1.0))
            for error in errors
        ]
