"""Combine the predictions of the groups of a forest: of classes, and of numbers.

Classes (`ClassPool`). Fixed share (Herbster and Warmuth 1998): the groups are mixed by weights

    w_k <- (1 - s) w_k q_k(y)^(1/2) / sum + s / K.

The groups, their mixture and naive Bayes are the members of a logarithmic opinion pool (Genest and
Zidek 1986),

    p(c) proportional to the product over the members of q_m(c)^e_m.

The exponents take a step down the gradient of the log loss after each sample,

    d(-log p(y)) / de_m = sum_c p(c) log q_m(c) - log q_m(y),

and are clipped at 0 (projected online gradient descent: Zinkevich 2003).

Numbers (`NumberMixture`). The members of the mixture are the groups, with predictions m_1 ... m_K,
and their stacked prediction. All predictions are clipped to the range of the targets seen.

Stacked prediction (Breiman 1996): a ridge regression of the target on the predictions of the
groups, shrunk towards their mean a, with a decay factor lambda per sample,

    s = a + sum_k c_k (m_k - a),    c = (A + r I)^-1 b,
    A = sum lambda^age d d',    b = sum lambda^age d (y - a),    d = (m_1 - a, ..., m_K - a),

where r is PRIOR times the mean of the squares of d.

Fixed share: the prediction is the weighted mean of the members, with weights

    w_k <- (1 - s) w_k p_k(y)^(1/2) / sum + s / (K + 1),

where p_k is a normal density with the prediction of the member as its mean and a running mean of
the squared errors of the member as its variance. These are exponential weights for the log loss
with a learning rate of 1/2 (Cesa-Bianchi and Lugosi 2006, chapter 3); the share s lets them follow
drift.

Bounded targets: a target more than 20 standard deviations from the mean is learned as if it lay
there, by the trees and their linear models, too. A wrong value, such as 1e6 among targets around
one, would otherwise decide every sum of squares that it enters. Mean and variance are running ones,
of the bounded targets, with a memory of 1,000; so they follow targets that rise for good.

Spread: the variance of the prediction at x is the mean of two estimates: the running mean E of the
squared errors, and the variance V of the trees at x, rescaled,

    (E + c (V + E / 10)) / 2,       c: the running mean of error^2 / (V + E / 10),

where V is the mean over the groups of the variances in the leaves and among the trees.

Late labels: the predictions are those of the question, and `Pace` (see `questions`) slows all
weights down, but not the running means.

What belongs to one row is in memory of the caller, `scratch_of` doubles, so that several threads
can predict rows.
"""

from libc.stdint cimport int64_t

from ..linalg cimport LeafModel
from .questions cimport Pace

cdef double FLOOR           # share of a uniform distribution in each member of the pool

cdef class ClassPool:
    cdef readonly int n_groups
    cdef double* weights                # per group
    cdef double* exponents              # of each group, of their mixture, of naive Bayes

    # `logs` of a row: logs[member * width + class] is log q_m(c); then the combined prediction.
    cdef dict views(self)
    cdef void pool(self, const double* answers, double* logs, int width) noexcept nogil
    cdef void pool_logs(self, double* logs, int width) noexcept nogil
    cdef void weigh(self, const double* answers, double* logs, int code, int width,
                    const Pace* pace) noexcept nogil

    cdef inline double* naive_answer(self, double* logs, int width) noexcept nogil:
        """The memory to which the prediction of naive Bayes is written before `pool`."""
        return logs + (self.n_groups + 1) * width

    cdef inline double* pooled(self, double* logs, int width) noexcept nogil:
        """The combined prediction."""
        return logs + (self.n_groups + 2) * width

    cdef inline int scratch_of(self, int width) noexcept nogil:
        return (self.n_groups + 3) * width

cdef class NumberMixture:
    cdef readonly int n_groups
    cdef readonly int64_t n_targets     # number of learned targets
    cdef readonly double lowest, highest    # range of these targets
    cdef readonly double middle, variance   # running mean and variance of the bounded targets
    cdef readonly int64_t n_bounded     # number of these
    cdef double* weights                # w_k, per member
    cdef double* errors                 # per member: decayed sum of squared errors
    cdef readonly double error          # decayed sum of squared errors of the prediction
    cdef readonly double ratio          # decayed sum of error^2 / (V + E / 10)
    cdef readonly double n_errors       # decayed number of targets in these sums
    cdef double* sums                   # A and b, in the row layout of `linalg`
    cdef readonly double square         # decayed sum of the mean square of d
    cdef readonly double n_squares      # decayed number of samples in it
    cdef double* slopes                 # c
    cdef LeafModel model                # solver for c

    cdef double* scratch                # predictions and log densities

    # `answers` of a row: the predictions of the members, the combined prediction, V.
    cdef dict views(self)
    cdef void answer(self, const double* groups, double variance, double* answers) noexcept nogil
    cdef void learn(self, const double* answers, double target, const Pace* pace) noexcept nogil
    cdef void learn_stack(self, const double* answers, double target) noexcept nogil
    cdef void learn_weights(self, const double* answers, double target,
                            const Pace* pace) noexcept nogil
    cdef void solve(self) noexcept nogil
    cdef double within(self, double answer) noexcept nogil
    cdef double bounded(self, double target) noexcept nogil
    cdef double spread(self, const double* answers) noexcept nogil

    cdef inline double* mean(self, double* answers) noexcept nogil:
        """The combined prediction."""
        return answers + self.n_groups + 1

    cdef inline int scratch_of(self) noexcept nogil:
        return self.n_groups + 3
