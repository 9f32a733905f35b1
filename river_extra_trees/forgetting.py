"""Decisions of forgetful learners between two batches: what to retain, which trees to discard.

This is appendices B and C of Yuan, Sun and Shasha (2023) in plain Python; where the text leaves a
choice open, it follows their program. The losses of a tree on some samples are summarised by four
sums: the number of samples, their losses (1 for a wrong label, the squared error of a number), the
squares of the losses, and the losses of the running mean of the targets (0 for labels).
"""

from __future__ import annotations

import importlib
import math
import typing

from ._core.state import LARGEST_COUNT, LARGEST_FLOAT, State, require

__all__ = ["AdaptParameters", "BatchPlan", "DriftTest"]

Sums = tuple[float, float, float, float]

COLD = -10  # cold_state of the published program at the start; the tree is warm at 0
PASSED = 5  # added to cold_state when a threshold is passed: two thresholds make a tree warm
UNCHANGED = 0.05  # smallest p-value with which the skill of a regressor counts as unchanged


def accuracy_of(sums: Sums) -> float:
    """Accuracy for labels; for numbers the skill, 1 - (losses) / (losses of the running mean)."""
    n, losses, _, prior = sums
    scale = prior if prior > 0 else n
    return (scale - losses) / scale


def add(a: Sums, b: Sums) -> Sums:
    """Add sums; they are kept in their range, so that a file of them can be loaded again."""
    return (
        min(LARGEST_COUNT, a[0] + b[0]),
        min(LARGEST_FLOAT, a[1] + b[1]),
        a[2] + b[2],
        min(LARGEST_FLOAT, a[3] + b[3]),
    )


def sums_from(values: list[typing.Any], least: int = 0) -> Sums:
    """Read sums from a state, over at least `least` samples; refuse any that `add` cannot make."""
    n, losses, squares, prior = values
    require(type(n) is int and least <= n <= LARGEST_COUNT, "a number of answers is out of range")
    for value, most in ((losses, LARGEST_FLOAT), (squares, math.inf), (prior, LARGEST_FLOAT)):
        is_sum = type(value) is float and 0.0 <= value <= most and (n > 0 or value == 0.0)
        require(is_sum or (type(value) is int and value == 0), "a sum of losses is out of range")
    return n, losses, squares, prior


def p_value(a: Sums, b: Sums) -> float:
    """Two-sided p-value of Welch's test (1947) that two samples of losses have the same mean.

    The result is 1 if a variance is unknown: with fewer than two losses, or if squares overflow.
    """
    means, errors, degrees = [], [], []
    for n, total, squares, _ in (a, b):
        if n < 2:
            return 1.0
        deviations = squares - total * total / n
        if not math.isfinite(deviations):
            return 1.0
        means.append(total / n)
        errors.append(max(0.0, deviations) / (n - 1) / n)
        degrees.append(n - 1)
    difference, error = abs(means[0] - means[1]), errors[0] + errors[1]
    if error <= 0:
        return float(difference == 0)
    # Welch-Satterthwaite; relative to the error, whose square may not fit into a float.
    freedom = 1 / sum((e / error) ** 2 / d for e, d in zip(errors, degrees, strict=True))
    return float(2 * student_cdf(freedom, -difference / math.sqrt(error)))


def special() -> typing.Any:
    """Import scipy.special, which takes longer than to import this package.

    Learners that need it call this in their constructor, so that neither the import of the package
    nor a sample in the middle of a stream has to wait for it.
    """
    return importlib.import_module("scipy.special")


def student_cdf(freedom: float, t: float) -> float:
    """Distribution function of Student's t."""
    return float(special().stdtr(freedom, t))


def wrong_answers(sums: Sums) -> float:
    """Number of wrong labels; for numbers, their number times (1 - skill), which replaces it.

    The published program knows labels only and computes with losses of 0 and 1.
    """
    n, losses, _, prior = sums
    return n * min(1.0, losses / prior) if prior > 0 else min(float(n), losses)


def max_height(n: int) -> int:
    """Largest height of a tree on n samples: floor(log2(n)), at least 1."""
    return max(1, n.bit_length() - 1)


class AdaptParameters:
    """Number of samples that one tree retains (appendix B, function AdaptParameters).

    Parameters
    ----------
    initial_rate
        Share of a batch by which the retained size grows while the accuracy is stable.
    warm_size
        Retained size at which a tree may begin to forget.
    regression
        Whether the accuracy is the skill of a regressor. Chance changes the skill from batch to
        batch, so a change counts only if a t-test of the losses finds it significant.
    published
        Decide as the published program does where it differs from the text: the retained size may
        exceed the number of samples, the rate may exceed 1, and a tree begins to forget only after
        it has beaten guessing on the batches that pass two thresholds and on all batches between.
        (A tree that fails occasionally may therefore never begin to forget.)
    """

    def __init__(
        self,
        initial_rate: float,
        warm_size: int,
        regression: bool = False,
        published: bool = False,
    ) -> None:
        self.retained_size = 0
        self.rate = initial_rate
        self.warm_size = warm_size
        self.regression = regression
        self.published = published
        if regression:
            special()
        self.cold_state = COLD
        self.last: Sums = (0, 0, 0, 0)

    @property
    def max_height(self) -> int:
        """Largest height of the tree for the retained size."""
        return max_height(self.retained_size)

    def resume(self, values: dict[str, typing.Any]) -> typing.Self:
        """Go on from a state that `state` has given."""
        vars(self).update(values)
        return self

    def state(self) -> dict[str, typing.Any]:
        """What changes from batch to batch."""
        return {
            "retained_size": self.retained_size,
            "rate": self.rate,
            "warm_size": self.warm_size,
            "cold_state": self.cold_state,
            "last": list(self.last),
        }

    def restore(self, values: typing.Any) -> None:
        """Read a state that may come from a file; raise StateError if it is invalid."""
        names = ("retained_size", "rate", "warm_size", "cold_state", "last")
        state = State("AdaptParameters", values, names)
        self.retained_size = state.whole("retained_size")
        self.rate = state.real("rate", 0.0, LARGEST_COUNT)
        self.warm_size = state.whole("warm_size", 1)
        self.cold_state = state.whole("cold_state", COLD, 0)
        # A warm tree compares each batch with earlier ones, so there is at least one sample.
        self.last = sums_from(state.items("last", 4), least=int(self.cold_state == 0))

    def adapt(self, batch: Sums, guess: float, held: int) -> None:
        """Update the parameters before a tree learns a batch.

        Parameters
        ----------
        batch
            Sums of the losses of the tree on the batch.
        guess
            Accuracy of guessing.
        held
            Number of samples that the tree retains before the batch.
        """
        n = int(batch[0])
        if held == 0:  # the first batch: nothing has been predicted yet
            self.retained_size = n
        elif self.cold_state < 0:
            self.retained_size = held + n
            if self.published:
                self.warm_up_published(batch, guess)
            else:
                self.warm_up(batch, guess)
        else:
            self.follow(batch, guess)
        if not self.published:
            self.retained_size = min(self.retained_size, held + n)
        self.retained_size = max(self.retained_size, n)

    def warm_up(self, batch: Sums, guess: float) -> None:
        """Forget nothing until the tree has beaten guessing between two thresholds.

        The thresholds double, so the samples between two of them are the paper's "last 50% of
        data".
        """
        self.last = add(self.last, batch)
        if self.retained_size < self.warm_size:
            return
        if accuracy_of(self.last) > guess:
            self.cold_state = 0
            return
        self.last = (0, 0, 0, 0)
        while self.warm_size <= self.retained_size:
            self.warm_size *= 2

    def warm_up_published(self, batch: Sums, guess: float) -> None:
        """Warm up as the published program does: pass two thresholds without a bad batch."""
        beats_guessing = accuracy_of(batch) > guess
        self.last = batch
        while self.retained_size >= self.warm_size:
            self.cold_state += PASSED * beats_guessing
            self.warm_size *= 2
        self.cold_state = min(self.cold_state, 0) if beats_guessing else COLD

    def follow(self, batch: Sums, guess: float) -> None:
        """Change the retained size with the accuracy, both measured above guessing."""
        n, accuracy, last = int(batch[0]), accuracy_of(batch), accuracy_of(self.last)
        if accuracy <= guess:  # the old samples do not help: keep the batch only
            self.retained_size = n
        elif last <= guess:  # the samples help now, and did not before: keep all
            self.retained_size += n
        elif accuracy == last or (self.regression and p_value(self.last, batch) >= UNCHANGED):
            self.retained_size += math.floor(self.rate * n + 0.5)
            batch = add(self.last, batch)
        else:
            change = (accuracy - guess) / (last - guess)
            self.rate /= change
            self.rate = min(self.rate, LARGEST_COUNT if self.published else 1.0)
            change **= 2 if change >= 1 else 3 - change
            size = math.floor(self.retained_size * change + self.rate * n + 0.5)
            self.retained_size = min(size, self.retained_size + n)
        self.last = batch


class DriftTest:
    """Number of trees of a forest to discard after a batch (appendix C, function UpdateForest).

    A two-sample t-test with unequal variances (Welch 1947) compares the losses of the forest on the
    batch with its losses on the batches since the last significant change.

    Parameters
    ----------
    n_models
        Number of trees.
    significance
        Significance level of the test.
    published
        Decide as the published program does: without the accuracy of guessing, with its formula for
        the deviation, and discarding if the fall is *not* significant.
    """

    def __init__(self, n_models: int, significance: float, published: bool = False) -> None:
        self.n_models = n_models
        self.significance = significance
        self.published = published
        special()
        self.last: Sums | None = None

    def resume(self, values: dict[str, typing.Any]) -> typing.Self:
        """Go on from a state that `state` has given."""
        vars(self).update(values)
        return self

    def state(self) -> dict[str, typing.Any]:
        """What changes from batch to batch."""
        return {"last": None if self.last is None else list(self.last)}

    def restore(self, values: typing.Any) -> None:
        """Read a state that may come from a file; raise StateError if it is invalid."""
        state = State("DriftTest", values, ("last",))
        self.last = None if values["last"] is None else sums_from(state.items("last", 4), 1)

    def n_discarded(self, batch: Sums, guess: float) -> int:
        """Number of trees to discard.

        Parameters
        ----------
        batch
            Sums of the losses of the forest on the batch.
        guess
            Accuracy of guessing.
        """
        if self.last is None:
            self.last = batch
            return 0
        last = self.last
        if self.published:
            return self.n_discarded_published(last, batch)
        if not p_value(last, batch) < self.significance:  # detects slow decay: Acc_i is the mean
            self.last = add(last, batch)
            return 0
        self.last = batch
        before, now = accuracy_of(last) - guess, accuracy_of(batch) - guess
        if now >= before:
            return 0
        drop = min(1.0, (before - now) / before) if before > 0 else 0.0
        return math.ceil(drop * self.n_models - 1e-9)  # rounding errors discard no tree

    def n_discarded_published(self, last: Sums, batch: Sums) -> int:
        """Number of trees to discard as the published program computes it."""
        m, n = last[0], batch[0]
        wrong_last, wrong = wrong_answers(last), wrong_answers(batch)
        before, now = 1 - wrong_last / m, 1 - wrong / n
        pooled = 0.0
        if min(m, n) > 1:
            variance = [
                (1 - p) ** 2 * (size - bad) + p**2 * bad / (size - 1)
                for p, bad, size in ((before, wrong_last, m), (now, wrong, n))
            ]
            pooled = math.sqrt(((m - 1) * variance[0] + (n - 1) * variance[1]) / (m + n - 2))
        difference = before - now
        p = 1.0
        if pooled > 0:
            difference /= pooled * math.sqrt(1 / m + 1 / n)
            p = student_cdf(m + n - 2, -abs(difference))
        if p <= self.significance:
            self.last = add(last, batch)
            return 0
        self.last = batch
        return (
            min(self.n_models, math.ceil((before - now) / before * self.n_models))
            if (difference > 0)
            else 0
        )


class BatchPlan(typing.NamedTuple):
    """The plan by which the trees of a forest learn a batch."""

    sizes: list[int]  # per tree: number of samples to retain
    depths: list[int]  # per tree: depth at which nodes are not split
    discarded: list[int]  # trees that get new features, the worst first
    parameters: list[dict[str, typing.Any]]  # per tree: new state of its AdaptParameters
    drift: dict[str, typing.Any] | None  # new state of the DriftTest, if this is a forest
    n_per_step: int  # number of trees that grow after a sample
