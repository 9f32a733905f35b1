"""A wrapper that watches a model and raises alarms."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import random
import typing
from collections.abc import Callable, Hashable, Mapping

import numpy as np
from river import base

from .._core.safe_repr import with_text
from .._core.state import State, require
from .._core.watch import (
    BLOCK,
    HIGHEST_LOSSES,
    LATEST,
    LOSSES,
    Answers,
    Asked,
    Evidence,
    point_of,
    restored,
)
from .._estimator.frames import readable_frame, values_of, weights_of
from .._estimator.parameters import check_number, check_parameter, check_whole, plain_parameters
from .._estimator.rows import rows_of, values_by_name
from .._estimator.tables import check_lengths
from .inputs import Inputs

if typing.TYPE_CHECKING:
    from .._estimator.frames import Frame, Series, Weights

__all__ = ["KINDS", "Alarm", "Watch", "learner_of", "unwatched"]

RANDOM, RANDOM_VERSION = 625, 3  # numbers in the state of `random.Random`, and its version
MOST_ALARMS = 1_000
MOST_ASKED = 10_000  # questions whose labels are late that are remembered
# Shares in the false alarms; the inputs have the rest.
LOSS_SHARE, WEIGHTS_SHARE = 0.5, 0.2
MEMORY = "effective_memory"  # a property of extra trees
KINDS = LOSS, WEIGHTS, INPUTS = ("loss", "weights", "inputs")  # of alarms
HIGHEST = 3  # times that a block of the effective memory may become twice as long
LARGEST_SUM = 1e307  # of losses in a file: more can be added
Sample = Mapping[typing.Any, typing.Any]
Change = tuple[str, Hashable, float, str]  # kind, column, size and text of an alarm


@dataclasses.dataclass(frozen=True)
class Alarm:
    """Something that changed.

    Attributes
    ----------
    n_samples
        Number of samples that had been watched.
    kind
        `"loss"`: the predictions became worse. `"weights"`: the model relies on fewer samples than
        before. `"inputs"`: the values of a column are distributed differently.
    column
        The column, if the kind is `"inputs"`; `None` if the names of the columns changed.
    size
        How large the change is. Loss: recent mean loss minus usual mean loss. Weights: factor by
        which the effective memory shrank. Inputs: share of the samples whose values moved, from 0
        to 1.
    text
        What happened, in a sentence.
    """

    n_samples: int
    kind: str
    column: Hashable
    size: float
    text: str

    def __str__(self) -> str:
        return f"sample {self.n_samples:,}: {self.text}"


class Watch(Asked, base.Wrapper[typing.Any]):
    """Watch a model, and raise an alarm when its predictions or its inputs change for the worse.

    Use it around a model in production, or in tests of a stream. It predicts and learns as the
    model alone would. Meanwhile it watches:

    - the loss of the predictions that were given: errors of a classifier, absolute errors of a
      regressor;
    - the `effective_memory` of a learner with several window sizes: weights move to small windows
      when the stream changes;
    - each column: missing values, values that are new or out of range, and the distribution; and
      names that are new.

    **False alarms.** If nothing changes, the expected number of samples between two alarms is at
    least `false_alarms_per`, over all that is watched together. Half of the alarms may come from
    the loss; the inputs and the weights share the rest. The bound does not depend on the
    distribution of losses and values. It supposes that the numbers of successive blocks of samples
    do not depend on each other; where they do, longer blocks are used, and a column that moves by
    itself, such as a clock, is not watched (`unwatched`). A loss that falls is no alarm.

    A change of the loss is noticed from sample 576 on (36 blocks of 16 samples), and one of the
    inputs from sample 3,840 on (60 blocks of 64, of which every eighth sample is looked at): the
    first 24 blocks show what is usual. After an alarm, the new state is the usual one.

    **Late labels.** The loss is that of the prediction that was given when the sample was asked,
    found by the values of the sample. That labels begin to come late is no alarm.

    Parameters
    ----------
    model
        A classifier or regressor of this package or of river, or a pipeline that ends with one. A
        watch behind a scaler asks its model twice: put it around the whole pipeline.
    false_alarms_per
        Expected number of samples between two false alarms, at least.
    on_alarm
        Function that is called with each alarm. What it raises reaches the caller of `learn_one` or
        `predict_one`.
    seed
        Seed of the random numbers that break ties.

    Attributes
    ----------
    alarms
        The latest 1,000 alarms, the oldest first.
    unwatched
        What is not watched because it moves by itself: names of columns, `"loss"` or `"weights"`.

    References
    ----------
    Vovk, V., Petej, I., Nouretdinov, I., Ahlberg, E., Carlsson, L. and Gammerman, A., 2021. Retrain
    or not retrain: conformal test martingales for change-point detection. Proceedings of Machine
    Learning Research, 152, pp.191-210.

    Shin, J., Ramdas, A. and Rinaldo, A., 2024. E-detectors: a nonparametric framework for
    sequential change detection. The New England Journal of Statistics in Data Science, 2(2),
    pp.229-260.

    Examples
    --------

    A sensor breaks after 4,000 samples:

    >>> import random
    >>> import river_extra_trees as ret

    >>> rng = random.Random(0)
    >>> model = ret.Watch(ret.StreamDecisionTreeClassifier(seed=1), seed=1)
    >>> for i in range(5000):
    ...     x = {"sensor": rng.random(), "noise": rng.random()}
    ...     y = x["sensor"] > 0.5
    ...     if i >= 4000:
    ...         x["sensor"] = None
    ...     _ = model.predict_one(x)
    ...     model.learn_one(x, y)

    >>> for alarm in model.alarms:
    ...     print(alarm.kind, alarm.column, alarm.n_samples)
    loss None 4033
    inputs sensor 4281
    """

    _inputs: Inputs

    @plain_parameters
    def __init__(
        self,
        model: typing.Any,
        false_alarms_per: float = 100_000,
        on_alarm: Callable[[Alarm], typing.Any] | None = None,
        seed: int = 0,
    ) -> None:
        check_parameter(
            isinstance(model, base.Classifier | base.Regressor),
            "model",
            model,
            "a classifier or a regressor",
        )
        check_number("false_alarms_per", false_alarms_per, BLOCK)
        check_parameter(on_alarm is None or callable(on_alarm), "on_alarm", on_alarm, "a function")
        check_whole("seed", seed, 0)
        self.model = model
        self.false_alarms_per = false_alarms_per
        self.on_alarm = on_alarm
        self.seed = seed
        self.alarms: collections.deque[Alarm] = collections.deque(maxlen=MOST_ALARMS)
        has_weights = hasattr(learner_of(model), MEMORY)
        inputs_share = 1.0 - LOSS_SHARE - WEIGHTS_SHARE * has_weights
        self._rng = random.Random(seed)
        n_losses = false_alarms_per / LOSS_SHARE / LOSSES
        losses = Evidence(n_losses, self._rng, HIGHEST_LOSSES)
        self._answers = Answers(not isinstance(model, base.Classifier), losses)
        n_weights = false_alarms_per / WEIGHTS_SHARE / BLOCK
        self._weights = Evidence(n_weights, self._rng, HIGHEST) if has_weights else None
        self._inputs = Inputs(false_alarms_per / inputs_share, self._rng)

    # A change of the class in `__init__` would slow down all later accesses to attributes.
    def __new__(
        cls, model: typing.Any = None, *args: typing.Any, **kwargs: typing.Any
    ) -> typing.Self:
        """Make a watch of the kind of its model, without its parameters."""
        kind: typing.Any = cls
        if cls is Watch:
            is_classifier = isinstance(model, base.Classifier)
            kind = WatchedClassifier if is_classifier else WatchedRegressor
        made: typing.Self = super().__new__(kind)
        return made

    @property
    def _wrapped_model(self) -> typing.Any:
        return self.model

    @property
    def n_samples(self) -> int:
        """Number of samples that have been watched."""
        return self._answers.n_samples

    @property
    def unwatched(self) -> list[Hashable]:
        """What is not watched because it moves by itself: names of columns, or kinds of alarms."""
        pairs = ((LOSS, self._answers.evidence), (WEIGHTS, self._weights))
        kinds = [kind for kind, each in pairs if each is not None and not each.is_tested]
        return kinds + self._inputs.unwatched

    # ------------------------------------------------------------------ predictions

    def _remember(self, x: Sample, answer: typing.Any) -> None:
        """Remember an answer whose label comes late."""
        late = self._answers.late
        if late is not None and (key := key_of(x)) is not None:
            late.setdefault(key, answer)
            if len(late) > MOST_ASKED:
                late.popitem(last=False)

    # ------------------------------------------------------------------ learning

    def _answer_for(self, x: Sample) -> typing.Any:
        """Return the prediction that was given for a sample, or one that is made now."""
        answers = self._answers
        if x is answers.x:
            return answers.answer
        if answers.late is not None and (answer := answers.late.get(key_of(x))) is not None:
            return answer
        return self.model.predict_one(x)

    def _forget_question(self, x: Sample) -> None:
        """Forget the answer for a sample that was learned; look at it if there was none."""
        answers = self._answers
        if answers.late is not None:
            answers.late.pop(key_of(x), None)
        elif answers.is_asked:
            # From now on labels come late. The losses become larger; the stream does not change.
            answers.late = collections.OrderedDict()
            answers.restart()
        else:
            self._see(x)

    def learn_many(self, X: Frame, y: Series, w: Weights = 1.0) -> None:
        """Learn the rows of a data frame, one after the other, as `learn_one` does.

        Parameters
        ----------
        X
            A data frame of any library that narwhals supports, or a two-dimensional array.
        y
            The label or target of each row.
        w
            One weight for all rows, or the weight of each row.

        Raises
        ------
        ValueError, TypeError
            If the lengths differ, or if the model refuses a row. The message names the row; those
            before it are learned.
        """
        frame = readable_frame(X)
        targets = values_of(y, "y")
        weights = weights_of(w, len(targets))
        check_lengths(len(frame), len(targets), None)
        rows = list(rows_of(values_by_name(frame), len(targets)))
        for i, (x, target, weight) in enumerate(zip(rows, targets, weights, strict=True)):
            try:
                self.learn_one(x, target, weight)
            except (TypeError, ValueError) as error:
                raise with_text(error, f"row {i}: {error}") from error

    def predict_many(self, X: Frame, **kwargs: typing.Any) -> typing.Any:
        """Predict the rows of a frame with the model, and look at their features.

        Parameters
        ----------
        X
            A data frame of any library that narwhals supports, or a two-dimensional array.
        kwargs
            What else `predict_many` of the model takes.

        Returns
        -------
        The predictions of the model, in order.
        """
        frame = readable_frame(X)
        answers = self.model.predict_many(X, **kwargs)
        columns = values_by_name(frame)
        given = values_of(answers, "the predictions")
        if kwargs and self._answers.regression:
            given = [*map(point_of, given)]
        for x, answer in zip(rows_of(columns, len(given)), given, strict=True):
            self._asked(x, answer)
        return answers

    # ------------------------------------------------------------------ files

    def _state(self) -> dict[str, typing.Any]:
        """Return what model files hold besides the model; questions are left out."""
        _, numbers, _ = self._rng.getstate()
        return {
            "n_samples": self.n_samples,
            "alarms": [dataclasses.astuple(alarm) for alarm in self.alarms],
            "is_asked": self._answers.is_asked,
            "is_late": self._answers.late is not None,
            "random": np.array(numbers, np.uint32),
            "losses": self._answers.evidence.state(),
            "total": self._answers.total,
            "n": self._answers.n,
            "weights": self._weights and self._weights.state(),
            "inputs": self._inputs.state(),
        }

    def _restore(self, values: typing.Any) -> None:
        """Take over a state, which is checked."""
        state = State("the watch", values, self._state())
        answers = self._answers
        answers.n_samples = state.whole("n_samples")
        alarms = state.items("alarms")
        require(len(alarms) <= MOST_ALARMS, "there are too many alarms")
        self.alarms.extend(map(restored_alarm, alarms))
        answers.is_asked = state.flag("is_asked")
        if state.flag("is_late"):
            answers.late = collections.OrderedDict()
        numbers = tuple(state.array("random", np.uint32, RANDOM).tolist())
        require(numbers[-1] < RANDOM, "the random numbers have no place")
        self._rng.setstate((RANDOM_VERSION, numbers, None))
        answers.total = state.number("total", -LARGEST_SUM, LARGEST_SUM)
        answers.n = state.whole("n", 0, LOSSES << (HIGHEST_LOSSES + 1))
        length, rng = answers.evidence.run_length, self._rng
        answers.evidence = restored(length, rng, HIGHEST_LOSSES, state.value("losses"))
        if self._weights is not None:
            length = self._weights.run_length
            self._weights = restored(length, rng, HIGHEST, state.value("weights"))
        self._inputs.restore(state.value("inputs"))

    # ------------------------------------------------------------------ what is watched

    def _memory(self) -> float:
        """Return the effective memory."""
        memory: float = getattr(learner_of(self.model), MEMORY)
        return memory

    def _raise_changes(self, inputs: list[tuple[Hashable, float, str]], has_shrunk: bool) -> None:
        """Raise the alarms of a block: changes of the inputs, and of the effective memory.

        The random numbers that break ties can look like a change where nothing has moved.
        """
        changes: list[Change] = [(INPUTS, *change) for change in inputs if change[1] > 0.0]
        if has_shrunk and self._weights is not None:
            recent, usual = self._weights.means()
            if recent > usual:
                changes.append(describe_memory(recent, usual))
            self._weights.restart()
        self._raise_alarms(changes)

    def _judge(self, answer: typing.Any, y: typing.Any) -> None:
        """Take the answer to a question, whose label has come."""
        if self._answers.judge(answer, y):
            self._raise_loss()

    def _raise_loss(self) -> None:
        """Raise the alarm that the losses have changed."""
        evidence = self._answers.evidence
        recent, usual = evidence.means()
        n = LATEST * LOSSES << evidence.level
        evidence.restart()
        if recent > usual and not math.isclose(recent, usual):  # ties can look like a change
            what = "mean absolute error" if self._answers.regression else "error"
            text = f"the {what} of the latest {n:,} samples is {recent:.3g}; {usual:.3g} was usual"
            self._raise_alarms([(LOSS, None, recent - usual, text)])

    def _raise_alarms(self, changes: list[Change]) -> None:
        alarms = [Alarm(self.n_samples, *change) for change in changes]
        self.alarms.extend(alarms)
        if self.on_alarm is not None:
            for alarm in alarms:
                self.on_alarm(alarm)


# `inspect.signature` shows these parameters.
functools.update_wrapper(Watch.__new__, Watch.__init__)


def describe_memory(recent: float, usual: float) -> Change:
    """Say how the effective memory changed; both are minus its logarithm."""
    now, before = math.exp(-recent), math.exp(-usual)
    text = f"the effective memory is {now:,.0f} samples; {before:,.0f} was usual"
    return WEIGHTS, None, before / now, text


def restored_alarm(fields: typing.Any) -> Alarm:
    """Return an alarm from its fields in a file, which are checked."""
    kinds = [int, str, None, float, str]
    known = isinstance(fields, tuple) and len(fields) == len(kinds)
    require(
        known and all(k in (None, type(each)) for k, each in zip(kinds, fields, strict=True)),
        "an alarm has other fields",
    )
    return Alarm(*fields)


class WatchedClassifier(Watch, base.Classifier):
    """A `Watch` of a classifier."""

    def predict_proba_one(self, x: Sample, **kwargs: typing.Any) -> dict[typing.Any, float]:
        """Predict the probability of each label with the model, and look at the features.

        Parameters
        ----------
        x
            Features by name.
        kwargs
            What else `predict_proba_one` of the model takes.

        Returns
        -------
        The probabilities by label.
        """
        shares: dict[typing.Any, float] = self.model.predict_proba_one(x, **kwargs)
        answer = max(shares, key=shares.__getitem__) if shares else None
        self._asked(x, answer)
        return shares

    def predict_proba_many(self, X: Frame) -> typing.Any:
        """Predict the probabilities of the labels for the rows of a frame, and look at the rows.

        Parameters
        ----------
        X
            A data frame of any library that narwhals supports, or a two-dimensional array.

        Returns
        -------
        The probabilities of the model, a row for each row.
        """
        shares = self.model.predict_proba_many(X)
        self.predict_many(X)
        return shares


class WatchedRegressor(Watch, base.Regressor):
    """A `Watch` of a regressor."""


def learner_of(model: typing.Any) -> typing.Any:
    """Return the learner of a model: the last step of a pipeline, without wrappers."""
    while True:
        if hasattr(model, "steps"):  # a pipeline is an instance of the class of its last step, too
            model = model.steps[next(reversed(model.steps))]
        elif isinstance(model, base.Wrapper):
            model = model._wrapped_model
        else:
            return model


def name_of(model: typing.Any) -> str:
    """Return the name of a model, with all steps of a pipeline, and that of what is watched."""
    if hasattr(model, "steps"):
        *names, _ = map(str, model.steps)
        return " | ".join([*names, name_of(model.steps[next(reversed(model.steps))])])
    return f"Watch({name_of(model.model)})" if isinstance(model, Watch) else type(model).__name__


def unwatched(model: typing.Any) -> tuple[Watch | None, typing.Any]:
    """Return the watch of a model or of its last step, if any, and the model without it."""
    if not hasattr(model, "steps"):
        return (model, model.model) if isinstance(model, Watch) else (None, model)
    *before, (name, last) = model.steps.items()
    if not isinstance(last, Watch):
        return None, model
    pipeline = type(model)()
    pipeline.steps.update([*before, (name, last.model)])
    return last, pipeline


def key_of(x: Sample) -> Hashable:
    """Return the values of a sample as a key, whatever their order; None if that is impossible."""
    try:
        key = frozenset(x.items())
        hash(key)
    except (AttributeError, TypeError):  # no mapping, which the model refuses, or no hash
        return None
    return key
