"""Evidence of changes of a signal. See the header."""

cimport cython
from libc.math cimport pow, sqrt

import math

import numpy as np

from .state import FINITE, LARGEST_COUNT, LARGEST_FLOAT, State, require

LATEST = WAITING
LEAST = 20      # numbers that a number is compared with, at least
cdef int CHECKED = 30       # numbers between two tests of whether they depend on each other
# Numbers depend on each other if their autocorrelation exceeds this by so many deviations.
cdef double DEPENDENT = 0.1, DEVIATIONS = 3.0
cdef int C_LEAST = LEAST
STRENGTHS = (0.2, 0.5, 0.8)     # of the bets
# So that their mean is 1.
cdef double[N_BETS] factors = [math.sin(math.pi * s) / (math.pi * s) for s in STRENGTHS]
cdef double NEAREST = 1e-12     # of a p-value to 0 and 1


@cython.final
cdef class Evidence:
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

    def __init__(self, double run_length, rng, int highest):
        self.run_length, self.rng, self.highest, self.level = run_length, rng, highest, 0
        self.restart()

    def __reduce__(self):
        return restored, (self.run_length, self.rng, self.highest, self.state())

    def state(self):
        """The level, the counts and the numbers, in their order."""
        cdef int i
        compared = [self.compared[(self.oldest + i) % MOST] for i in range(self.n_compared)]
        first = self.next_waiting - self.n_waiting + WAITING
        waiting = [self.waiting[(first + i) % WAITING] for i in range(self.n_waiting)]
        return {
            "level": self.level,
            "n": self.n,
            "ratios": np.array([self.ratios[i] for i in range(N_BETS)]),
            "compared": np.array(compared, float),
            "waiting": np.array(waiting, float),
        }

    cpdef restart(self):
        """Forget all numbers."""
        cdef int i
        self.n_compared = self.oldest = self.n_waiting = self.next_waiting = 0
        self.n = 0
        for i in range(N_BETS):
            self.ratios[i] = 0.0

    @property
    def is_tested(self):
        """Whether the signal does not move by itself."""
        return self.level <= self.highest

    cpdef bint ends(self, long long n_blocks):
        """Whether a block ends after this number of shortest blocks."""
        return self.level <= self.highest and n_blocks % (1 << self.level) == 0

    cpdef bint update(self, double number) except -1:
        """Take the number of a block; return whether the signal has changed."""
        cdef bint is_due
        cdef int i
        cdef double total = 0.0
        cdef double[N_BETS] earned
        if self.n_compared >= C_LEAST:
            lay_bets(self.p_value(number), earned)
            for i in range(N_BETS):
                self.ratios[i] = (1.0 + self.ratios[i]) * earned[i]
                total += self.ratios[i]
        self.keep(number)
        if total / N_BETS * (1 << self.level) >= self.run_length:
            return True
        # The first time is before the first test.
        is_due = self.n_compared >= C_LEAST and (self.n - WAITING - C_LEAST) % CHECKED == 0
        if is_due and self.depend():
            self.change_level(1)
        elif self.n >= MOST and self.level > 0:
            self.change_level(-1)
        return False

    cdef int change_level(self, int step) except -1:
        """Make the blocks twice or half as long; the statistics count blocks."""
        cdef double[N_BETS] ratios = self.ratios
        cdef int i
        self.restart()
        self.level += step
        for i in range(N_BETS):
            self.ratios[i] = ratios[i] / 2.0 ** step
        return 0

    cpdef double p_value(self, double number) except -1.0:
        """The conformal p-value of a number."""
        cdef int i, n = self.n_compared, n_larger = 0, n_least = 0
        cdef double drawn = self.rng.random()
        for i in range(n):
            n_larger += self.compared[i] > number
            n_least += self.compared[i] >= number
        return (n_larger + drawn * (n_least - n_larger + 1)) / (n + 1)

    cpdef keep(self, double number):
        """Let a number wait, and compare with the one that has waited longest."""
        cdef double waited = self.waiting[self.next_waiting]
        self.n += 1
        self.waiting[self.next_waiting] = number
        self.next_waiting = (self.next_waiting + 1) % WAITING
        if self.n_waiting < WAITING:
            self.n_waiting += 1
        elif self.n_compared < MOST:
            self.compared[self.n_compared] = waited
            self.n_compared += 1
        else:
            self.compared[self.oldest] = waited
            self.oldest = (self.oldest + 1) % MOST

    cdef bint depend(self) noexcept:
        """Whether the numbers depend on their predecessors; a slow trend, as of learning, is none.

        The mean squared difference of numbers two places apart, over that of neighbours, is 1 + r
        for an autoregression with the coefficient r, and hardly changed by a trend.
        """
        cdef double near = 0.0, far = 0.0, here, before, earlier
        cdef int i, n = self.n_compared
        for i in range(1, n):
            here = self.compared[(self.oldest + i) % MOST]
            before = self.compared[(self.oldest + i - 1) % MOST]
            near += (here - before) * (here - before)
            if i >= 2:
                earlier = self.compared[(self.oldest + i - 2) % MOST]
                far += (here - earlier) * (here - earlier)
        near, far = near / (n - 1), far / (n - 2)
        return far > (1.0 + DEPENDENT + DEVIATIONS / sqrt(n)) * near

    def means(self):
        """The mean of the latest numbers, and of those that they are compared with."""
        state = self.state()
        return float(state["waiting"].mean()), float(state["compared"].mean())


cdef void lay_bets(double p, double* earned) noexcept:
    """What each bet on a small p-value earns."""
    cdef double odds, root
    p = min(max(p, NEAREST), 1.0 - NEAREST)
    odds = (1.0 - p) / p
    root = pow(odds, 0.2)
    earned[0], earned[1], earned[2] = root, sqrt(odds), root * root * root * root
    for i in range(N_BETS):
        earned[i] *= factors[i]


def bet(double p, int i):
    """What the bet of strength i on a small p-value earns."""
    cdef double[N_BETS] earned
    lay_bets(p, earned)
    return earned[i]


def restored(double run_length, rng, int highest, values):
    """Evidence with a state, which is checked."""
    cdef Evidence made = Evidence(run_length, rng, highest)
    cdef double number
    cdef int i
    state = State("the evidence", values, ("level", "n", "ratios", "compared", "waiting"))
    compared = state.numbers("compared", None, **FINITE)
    waiting = state.numbers("waiting", None, **FINITE)
    require(len(compared) <= MOST, "the evidence has too many numbers")
    require(len(waiting) == WAITING or (len(waiting) < WAITING and not len(compared)),
            "the evidence has the wrong number of latest numbers")
    for number in [*compared, *waiting]:
        made.keep(number)
    made.level = state.whole("level", 0, highest + 1)
    made.n = state.whole("n", len(compared) + len(waiting), LARGEST_COUNT)
    for i, number in enumerate(state.numbers("ratios", N_BETS, least=0.0, most=LARGEST_FLOAT)):
        made.ratios[i] = number
    return made
