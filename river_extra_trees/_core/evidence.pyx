"""Evidence of changes of a signal. See the header."""

from libc.math cimport log, sqrt
from libc.string cimport memmove

import numpy as np

from .state import FINITE, LARGEST_COUNT, LARGEST_FLOAT, State, require

HIGHEST = 4     # times that a block may become twice as long
LEAST = 20      # numbers that a number is compared with, at least
cdef int CHECKED = 30       # numbers between two tests of whether they depend on each other
# Numbers depend on each other if their autocorrelation exceeds this by so many deviations.
cdef double DEPENDENT = 0.1, DEVIATIONS = 3.0
cdef int C_HIGHEST = HIGHEST, C_LEAST = LEAST

WAITED = WAITING


cdef class Evidence:
    """Evidence of changes of one signal.

    Parameters
    ----------
    run_length
        Expected number of shortest blocks between two false alarms, at least.
    rng
        Random numbers that break ties.
    """

    def __init__(self, double run_length, rng):
        self.run_length, self.rng, self.level = run_length, rng, 0
        self.restart()

    def __reduce__(self):
        return restored, (self.run_length, self.rng, self.state())

    def state(self):
        """The level, the counts and the numbers, in their order."""
        cdef int i
        compared = [self.compared[(self.oldest + i) % MOST] for i in range(self.n_compared)]
        first = self.next_waiting - self.n_waiting + WAITING
        waiting = [self.waiting[(first + i) % WAITING] for i in range(self.n_waiting)]
        return {
            "level": self.level,
            "n": self.n,
            "ratio": self.ratio,
            "compared": np.array(compared, float),
            "waiting": np.array(waiting, float),
        }

    cpdef restart(self):
        """Forget all numbers."""
        self.n_compared = self.oldest = self.n_waiting = self.next_waiting = 0
        self.n, self.ratio = 0, 0.0

    @property
    def is_tested(self):
        """Whether the signal does not move by itself."""
        return self.level <= C_HIGHEST

    cpdef bint ends(self, long long n_blocks):
        """Whether a block ends after this number of shortest blocks."""
        return self.level <= C_HIGHEST and n_blocks % (1 << self.level) == 0

    cpdef bint update(self, double number) except -1:
        """Take the number of a block; return whether the signal has changed."""
        cdef bint is_due
        if self.n_compared >= C_LEAST:
            self.ratio = (1.0 + self.ratio) * bet(self.p_value(number))
        self.keep(number)
        if self.ratio * (1 << self.level) >= self.run_length:
            return True
        # The first time is before the first test.
        is_due = self.n_compared >= C_LEAST and (self.n - WAITING - C_LEAST) % CHECKED == 0
        if is_due and self.depend():
            self.change_level(1)
        elif self.n >= MOST and self.level > 0:
            self.change_level(-1)
        return False

    cdef int change_level(self, int step) except -1:
        """Make the blocks twice or half as long."""
        cdef double ratio = self.ratio / 2.0 ** step    # counts blocks
        self.restart()
        self.level, self.ratio = self.level + step, ratio
        return 0

    cpdef double p_value(self, double number) except -1.0:
        """The conformal p-value of a number."""
        cdef int n = self.n_compared
        cdef int first = place_of(self.ordered, n, number, False)
        cdef int last = place_of(self.ordered, n, number, True)
        cdef double drawn = self.rng.random()
        return (n - last + drawn * (last - first + 1)) / (n + 1)

    cpdef keep(self, double number):
        """Let a number wait, and compare with the one that has waited longest."""
        cdef double waited = self.waiting[self.next_waiting]
        cdef int place
        self.n += 1
        self.waiting[self.next_waiting] = number
        self.next_waiting = (self.next_waiting + 1) % WAITING
        if self.n_waiting < WAITING:
            self.n_waiting += 1
            return
        if self.n_compared == MOST:
            place = place_of(self.ordered, MOST, self.compared[self.oldest], False)
            memmove(&self.ordered[place], &self.ordered[place + 1],
                    (MOST - 1 - place) * sizeof(double))
            self.oldest = (self.oldest + 1) % MOST
            self.n_compared -= 1
        self.compared[(self.oldest + self.n_compared) % MOST] = waited
        place = place_of(self.ordered, self.n_compared, waited, True)
        memmove(&self.ordered[place + 1], &self.ordered[place],
                (self.n_compared - place) * sizeof(double))
        self.ordered[place] = waited
        self.n_compared += 1

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


cdef int place_of(const double* ordered, int n, double number, bint after) noexcept:
    """The first place whose number is larger than a number, or as large unless `after`."""
    cdef int low = 0, high = n, middle
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < number or (after and ordered[middle] == number):
            low = middle + 1
        else:
            high = middle
    return low


cpdef double bet(double p) noexcept:
    """What a bet on small p-values earns: the integral of e p^(e - 1) over e in [0, 1]."""
    if p > 1.0 - 1e-6:
        return 0.5
    cdef double log_p = log(max(p, 1e-12))
    return (1.0 - p + p * log_p) / (p * log_p * log_p)


def restored(double run_length, rng, values):
    """Evidence with a state, which is checked."""
    cdef Evidence made = Evidence(run_length, rng)
    cdef double number
    state = State("the evidence", values, ("level", "n", "ratio", "compared", "waiting"))
    compared = state.numbers("compared", None, **FINITE)
    waiting = state.numbers("waiting", None, **FINITE)
    require(len(compared) <= MOST, "the evidence has too many numbers")
    require(len(waiting) == WAITING or (len(waiting) < WAITING and not len(compared)),
            "the evidence has the wrong number of latest numbers")
    for number in [*compared, *waiting]:
        made.keep(number)
    made.level = state.whole("level", 0, HIGHEST + 1)
    made.n = state.whole("n", len(compared) + len(waiting), LARGEST_COUNT)
    made.ratio = state.number("ratio", 0.0, LARGEST_FLOAT)
    return made
