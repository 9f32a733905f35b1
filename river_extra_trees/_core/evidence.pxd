"""Evidence that the distribution of a signal has changed, with a bound on false alarms.

A signal is a sequence of numbers, one per block of samples, which rise if something is wrong. Its
latest number gets a conformal p-value: the share of the numbers before it that are as large, ties
broken at random. If nothing has changed, the numbers are exchangeable, and the p-value is uniform,
whatever the distribution of the numbers (Vovk, Gammerman and Shafer 2005). A bet of strength s on
small p-values, sin(pi s) / (pi s) ((1 - p) / p)^s with 0 < s < 1, then earns 1 on average: it is
the density of a beta distribution. R_s <- (1 + R_s) bet is the Shiryaev-Roberts statistic of its
bets; minus the number of blocks it is a martingale, and so is the mean of several R_s. This mean
needs c blocks on average at least to reach a threshold c (Vovk, Petej, Nouretdinov, Ahlberg,
Carlsson and Gammerman 2021, "Retrain or not retrain: conformal test martingales for change-point
detection", section 5; means of statistics: Shin, Ramdas and Rinaldo 2024, "E-detectors: a
nonparametric framework for sequential change detection"). Weak bets gather evidence of a small
change over many blocks, strong ones find a large change within a few.

Numbers that depend on their predecessors are not exchangeable: losses, for example, come in runs.
Then the blocks of this signal are made twice as long, until they hardly depend on each other. A
signal whose longest blocks still do moves by itself, such as a clock, and is not tested. After many
blocks that do not, they are made shorter again.

compared    double[MOST]: the numbers that the latest one is compared with, a ring that begins at
            `oldest`. Floats would not hold the losses of targets in some units
waiting     double[WAITING]: the latest numbers, a ring; they wait to be compared with
ratios      double[N_BETS]: R_s for each strength s
"""

cimport cython

cdef enum:
    MOST = 256      # numbers that one is compared with
    WAITING = 16    # a number waits for so many: those after a change differ
    N_BETS = 3

@cython.final
cdef class Evidence:
    cdef readonly double run_length
    cdef readonly object rng
    cdef readonly int highest       # level of the longest blocks
    cdef public int level           # blocks consist of 2**level shortest blocks
    cdef readonly long long n       # numbers since the blocks have their length
    cdef double ratios[N_BETS]
    cdef double compared[MOST]
    cdef double waiting[WAITING]
    cdef int n_compared, oldest, n_waiting, next_waiting

    cpdef restart(self)
    cpdef bint ends(self, long long n_blocks)
    cpdef bint update(self, double number) except -1
    cpdef double p_value(self, double number) except -1.0
    cpdef keep(self, double number)
    cdef bint depend(self) noexcept
    cdef int change_level(self, int step) except -1
