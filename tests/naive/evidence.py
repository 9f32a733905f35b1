"""The evidence of `_core/watch.pyx`, in plain Python; its header explains it."""

from __future__ import annotations

import bisect
import collections
import itertools
import math
import random
import statistics

__all__ = ["Evidence"]

STRENGTHS = (0.2, 0.5, 0.8)  # of the bets
LEAST = 20  # numbers that a number is compared with, at least
MOST = 256  # at most: the latest
# A number waits for so many others before it is compared with: those after a change differ.
WAITING = 16
CHECKED = 30  # numbers between two tests of whether they depend on each other
# Numbers depend on each other if their autocorrelation exceeds this by so many deviations.
DEPENDENT, DEVIATIONS = 0.1, 3.0


class Evidence:
    """Evidence of changes of one signal.

    Parameters
    ----------
    run_length
        Expected number of shortest blocks between two false alarms, at least.
    rng
        Random numbers that break ties.
    highest
        Times that a block may become twice as long.
    """

    def __init__(self, run_length: float, rng: random.Random, highest: int) -> None:
        self.run_length = run_length
        self.rng = rng
        self.highest = highest
        self.level = 0  # blocks consist of 2**level shortest blocks
        self.restart()

    def restart(self) -> None:
        """Forget all numbers."""
        self.compared: collections.deque[float] = collections.deque()  # in their order
        self.ordered: list[float] = []  # the same, sorted
        self.waiting: collections.deque[float] = collections.deque()
        self.n = 0  # numbers since the blocks have their length
        self.ratios = [0.0] * len(STRENGTHS)  # R

    @property
    def is_tested(self) -> bool:
        """Whether the signal does not move by itself."""
        return self.level <= self.highest

    def ends(self, n_blocks: int) -> bool:
        """Return whether a block ends after this number of shortest blocks."""
        return self.level <= self.highest and n_blocks % (1 << self.level) == 0

    def update(self, number: float) -> bool:
        """Take the number of a block; return whether the signal has changed."""
        if len(self.ordered) >= LEAST:
            p = self.p_value(number)
            bets = [bet(p, strength) for strength in STRENGTHS]
            self.ratios = [(1.0 + ratio) * b for ratio, b in zip(self.ratios, bets, strict=True)]
        self.keep(number)
        if statistics.fmean(self.ratios) * (1 << self.level) >= self.run_length:
            return True
        is_due = (
            self.n - WAITING - LEAST
        ) % CHECKED == 0  # the first time is before the first test
        if is_due and len(self.compared) >= LEAST and depend(list(self.compared)):
            self.change_level(1)
        elif self.n >= MOST and self.level > 0:
            self.change_level(-1)
        return False

    def change_level(self, step: int) -> None:
        """Make the blocks twice or half as long."""
        ratios = [ratio / 2.0**step for ratio in self.ratios]  # count blocks
        self.restart()
        self.level, self.ratios = self.level + step, ratios

    def p_value(self, number: float) -> float:
        """Return the conformal p-value of a number."""
        n, first = len(self.ordered), bisect.bisect_left(self.ordered, number)
        last = bisect.bisect_right(self.ordered, number, first)
        return (n - last + self.rng.random() * (last - first + 1)) / (n + 1)

    def keep(self, number: float) -> None:
        """Let a number wait, and compare with the one that has waited longest."""
        self.n += 1
        self.waiting.append(number)
        if len(self.waiting) > WAITING:
            waited = self.waiting.popleft()
            self.compared.append(waited)
            bisect.insort(self.ordered, waited)
        if len(self.compared) > MOST:
            del self.ordered[bisect.bisect_left(self.ordered, self.compared.popleft())]

    def means(self) -> tuple[float, float]:
        """Return the mean of the latest numbers, and of those that they are compared with."""
        return statistics.fmean(self.waiting), statistics.fmean(self.compared)


def bet(p: float, strength: float) -> float:
    """Return what a bet on small p-values earns: the density of a beta distribution."""
    p = min(max(p, 1e-12), 1.0 - 1e-12)
    factor = math.sin(math.pi * strength) / (math.pi * strength)
    return factor * ((1.0 - p) / p) ** strength


def depend(numbers: list[float]) -> bool:
    """Return whether numbers depend on their predecessors; a slow trend, as of learning, is none.

    The mean squared difference of numbers two places apart, over that of neighbours, is 1 + r for
    an autoregression with the coefficient r, and hardly changed by a trend.
    """
    near = sum((b - a) ** 2 for a, b in itertools.pairwise(numbers)) / (len(numbers) - 1)
    pairs = zip(numbers, numbers[2:], strict=False)
    far = sum((b - a) ** 2 for a, b in pairs) / (len(numbers) - 2)
    return far > (1.0 + DEPENDENT + DEVIATIONS / math.sqrt(len(numbers))) * near
