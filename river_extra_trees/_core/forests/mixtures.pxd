"""Combine the predictions of the groups of a forest: of classes, and of numbers.

Classes (`ClassPool`). Fixed share (Herbster and Warmuth 1998): the groups are mixed by weights

    w_k <- (1 - s) w_k q_k(y)^(1/2) / sum + s / K.

The groups, their mixture, the labels that followed the last label (`Transitions`) and
a logistic regression (`logistic`) are the members of a logarithmic opinion pool (Genest and Zidek
1986),

    p(c) proportional to the product over the members of q_m(c)^e_m.

After each sample, the exponents take a step down the gradient g of the log loss, and are clipped at
0 (AdaGrad: Duchi, Hazan and Singer 2011),

    g_m = sum_c p(c) log q_m(c) - log q_m(y),    G_m <- min(G_m + g_m^2, MOST_SQUARES),
    e_m <- max(0, e_m - RATE (g_m + r_m) / min(FIRST_SQUARES (1 + D)^(1/2) + G_m,
                                               MOST_SQUARES)^(1/2)),

where D is the mean delay of the labels. Where they are late, short windows have to earn their
exponents: r_m = PENALTY D / (W + D) for the group of a window of W samples, 0 for other members.
MOST_SQUARES keeps them learning in a long stream. A sample with a new label changes no weight and
no exponent: no member could know it. The exponent of the mixture begins at 1. Where labels come at
once, that of the last labels begins at FIRST_OF_TABLE.

Labels that follow each other (`Transitions`): a table counts which label followed which. After the
label l, the share of the label c is

    q(c) = (n_lc + 1/2) / sum_c' (n_lc' + 1/2),

where each label that follows l multiplies the earlier counts n_l by 1 - 1 / ROW_MEMORY. A table of
more than MOST_OF_TABLE cells has no rows for the last labels; q is then uniform. The last label is
the one that was known when the question was asked. So where labels come late, the table learns from
labels at the same distance, and nothing from late labels without a question.

Rare labels: if one label f has most samples, the pool learns as if it had nine tenths of them. Each
of its samples counts v = `balance` of a decayed count (`shares`), for the weights, s and g; in g,
p(c) is replaced by p'(c) proportional to v_c p(c), v_f = v, other v_c = 1, as if the trees had
learned a share v of its samples. So the exponents act on odds of which v is a part,

    p(c) proportional to v_c^(sum_m e_m - 1) times the product over the members of q_m(c)^e_m.

Without such a label v = 1, and nothing changes.

Numbers (`NumberMixture`). The members of the mixture are the groups, with predictions m_1 ... m_K,
and their stacked prediction. All predictions are clipped to the range of the targets seen.

Stacked prediction (Breiman 1996): a ridge regression (`fading_ridge`) of the target on the
predictions of the groups, shrunk towards their mean a,

    s = a + sum_k c_k (m_k - a).

Fixed share: the mixture is the weighted mean m of the members, with weights

    w_k <- (1 - s) w_k p_k(y)^(1/2) / sum + s c_k / sum,    c_k = .3 + .7 (K + 1) u_k,

where p_k is a normal density with the prediction of the member as its mean and a running mean of
the squared errors of the member as its variance. These are exponential weights for the log loss
with a learning rate of 1/2 (Cesa-Bianchi and Lugosi 2006, chapter 3); the share s lets them follow
drift. Most of it goes to members that had weight before (Bousquet and Warmuth 2002): u_k is the
mean of the earlier w_k, with a memory of PAST_MEMORY targets. So s may be large, without a part for
members that were never of use.

Chain: the prediction is the weighted mean of m and of m plus what the last errors tell about the
present one. A ridge regression predicts y - m from

    d = (e_1, m - m_1, e_2, m - m_2),

where m_1 and m_2 are the predictions for the samples whose targets were learned last, and e_1 and
e_2 are their errors. All errors are clipped to CLIP standard deviations, so that a wrong target
does no harm (Huber 1964). Slopes of 1 and -1 for the first two make it the last target. The two
weights follow the same rule, with the share CHAIN_SHARE. The last targets are those that were
known when the question was asked; nothing is learned from late labels without a question. With
late labels, the chain gets (1 + D)^(-1/2) times as much of the share as m.

Bounded targets: a target more than 20 standard deviations from the mean is learned as if it lay
there, by the trees and their linear models, too. A wrong value, such as 1e6 among targets around
one, would otherwise decide every sum of squares that it enters. Mean and variance are running ones,
of the bounded targets, with a memory of 1,000; so they follow targets that rise for good.

Spread: the expected squared error v at x follows from the running mean E of the squared errors, and
by a linear model of their logs (`noise`) from the features and from

    u = log((V + E / 10) / E),

where V is the mean over the groups of the variances in the leaves and among the trees at x. Two
running quantiles of |z|, z = error / v^(1/2), tell how long the tails are: those at LEVELS, a
half and .9. Their logs follow each z by a stochastic step (Robbins and Monro 1951; as in adaptive
conformal inference, Gibbs and Candes 2021),

    log q <- log q + r ([|z| > q'] - (1 - level)),      r = max(TAIL_RATE (1 + D)^(-1/8),
                                                                1 / (FIRST_TAILS + number of z)).

With late labels, v and q' are geometric means of those at the question and those now (the noise
learns from those now alone). By those at the question, the tails know how much the errors change
until the label comes. By those now, they do not go on for D samples after E or q was right.

Late labels: the predictions are those of the question, and `Pace` (see `questions`) slows all
weights down, but not the running means. The share s and the .7 are multiplied by (1 + D)^(-1/2).
Among the first FIRST_LATE + 1 targets, those without a question change no w_k.

What belongs to one row is in memory of the caller, `scratch_of` doubles, so that several threads
can predict rows.
"""

from libc.stdint cimport int64_t, uint8_t

from ..parts cimport Part
from ..schema cimport Labels
from ..shares cimport balance
from .fading_ridge cimport FadingRidge
from .noise cimport NoiseModel
from .questions cimport Pace

cdef enum:
    N_REGRESSORS = 4        # of the chain
    N_LEVELS = 2            # of the quantiles of |z|

cdef double FLOOR           # share of a uniform distribution in each member of the pool

cdef class Transitions(Part):
    cdef public int n_labels
    cdef public int last                # code of the last label; -1: none
    cdef double* counts                 # counts[label * n_labels + next label]
    cdef int n_rows                     # number of labels with a row of counts

    cdef int reserve(self, int n_labels) except -1 nogil
    cdef void answer(self, int last, double* answers, int width) noexcept nogil
    cdef void learn(self, int last, int code) noexcept nogil
    cdef void forget(self, const uint8_t* gone) noexcept nogil

cdef class ClassPool(Part):
    cdef readonly int n_groups
    cdef double* weights                # per group
    cdef double* exponents              # e, of the members of the pool, in this order
    cdef double* squares                # G
    cdef public int frequent            # code of f, if any label has most samples ...
    cdef public double n_frequent, n_rest   # ... and decayed numbers of its samples, and others
    cdef public Transitions transitions
    cdef Labels labels                  # of the forest: free codes get no share

    # `logs` of a row: logs[member * width + class] is log q_m(c); then the combined prediction, and
    # the code of the last label.
    cdef int begin(self, int n_groups) except -1
    cdef tuple bounds(self, int width)
    cdef void pool(self, const double* answers, double* logs, int width) noexcept nogil
    cdef void pool_logs(self, double* logs, int width) noexcept nogil
    cdef void weigh(self, const double* answers, double* logs, int code, int width,
                    const Pace* pace) noexcept nogil
    cdef void learn_exponents(self, double* logs, int code, int width,
                              const Pace* pace) noexcept nogil
    cdef void count(self, int code) noexcept nogil
    cdef void forget(self, const uint8_t* gone) noexcept nogil
    cdef double offset(self) noexcept nogil

    cdef inline double weight_of(self, int code) noexcept nogil:
        """v_c."""
        return balance(self.n_frequent, self.n_rest) if code == self.frequent else 1.0

    cdef inline double* logistic_answer(self, double* logs, int width) noexcept nogil:
        """The memory to which the prediction of the regression is written before `pool`."""
        return logs + (self.n_groups + 2) * width

    cdef inline double* pooled(self, double* logs, int width) noexcept nogil:
        """The combined prediction."""
        return logs + (self.n_groups + 3) * width

    cdef inline int scratch_of(self, int width) noexcept nogil:
        return (self.n_groups + 4) * width + 1

cdef class NumberMixture(Part):
    cdef readonly int n_groups
    cdef public int64_t n_targets       # number of learned targets
    cdef public double lowest, highest  # range of these targets
    cdef public double middle, variance     # running mean and variance of the bounded targets
    cdef public int64_t n_bounded       # number of these
    cdef double* weights                # w_k, per member
    cdef double* errors                 # per member: decayed sum of squared errors
    cdef double* past                   # u_k
    cdef public double error            # decayed sum of squared errors of the prediction
    cdef public double n_errors         # decayed number of targets in these sums
    cdef double[N_LEVELS] tails         # log q, per level ...
    cdef public int64_t n_tails         # ... and number of z
    cdef public NoiseModel noise
    cdef public FadingRidge stack       # c
    cdef public FadingRidge chain       # of y - m on d
    cdef double[2] last_answers         # m_1, m_2
    cdef double[2] last_errors          # e_1, e_2
    cdef double[2] chain_weights        # of m and of the chain ...
    cdef double[2] chain_errors         # ... and their decayed sums of squared errors
    cdef double* scratch                # predictions and log densities

    # `answers` of a row: the predictions of the members, m, V, the prediction of the chain, the
    # combined prediction, the regressors of the chain, h of the `noise`, v, which is 0 before the
    # first error, and log q.
    cdef int begin(self, int n_groups) except -1
    cdef tuple bounds(self)
    cdef void answer(self, const double* groups, double variance, double* answers) noexcept nogil
    cdef void learn(self, const double* answers, double target, const Pace* pace,
                    const double* row, Py_ssize_t stride) noexcept nogil
    cdef void learn_stack(self, const double* answers, double target) noexcept nogil
    cdef void learn_weights(self, const double* answers, double target,
                            const Pace* pace) noexcept nogil
    cdef void learn_chain(self, const double* answers, double target,
                          const Pace* pace) noexcept nogil
    cdef double within(self, double answer) noexcept nogil
    cdef double stacked(self, const double* answers) noexcept nogil
    cdef double chained(self, const double* answers) noexcept nogil
    cdef double bounded(self, double target) noexcept nogil
    cdef bint has_error(self) noexcept nogil
    cdef double log_ratio(self, double variance) noexcept nogil
    cdef double expected(self, double u, double h) noexcept nogil
    cdef void learn_spread(self, const double* answers, double square, const Pace* pace,
                           const double* row, Py_ssize_t stride) noexcept nogil

    cdef inline double* mean(self, double* answers) noexcept nogil:
        """The combined prediction."""
        return answers + self.n_groups + 4

    cdef inline double* tilt(self, double* answers) noexcept nogil:
        """h, which is written before `answer`."""
        return answers + self.n_groups + 5 + N_REGRESSORS

    cdef inline double* spread(self, double* answers) noexcept nogil:
        """v, the expected squared error."""
        return answers + self.n_groups + 6 + N_REGRESSORS

    cdef inline int scratch_of(self) noexcept nogil:
        return self.n_groups + 7 + N_REGRESSORS + N_LEVELS
