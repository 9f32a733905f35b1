"""One answer of those of the groups of a forest: of classes, and of numbers.

Classes (`ClassPool`). Fixed share (Herbster and Warmuth 1998): the groups are mixed by weights

    w_k <- (1 - s) w_k q_k(y)^(1/2) / sum + s / K.

The groups, their mixture and naive Bayes are the members of an opinion pool (see `opinion_pool`).

Numbers (`NumberMixture`). Members are the groups, m_1 ... m_K, and their stacked answer. All
answers are kept within the range of the targets seen.

Stacked answer (Breiman 1996): a ridge regression of the target on the answers of the groups, drawn
to their plain mean a, with older samples fading by lambda per sample,

    s = a + sum_k c_k (m_k - a),    c = (A + r I)^-1 b,
    A = sum lambda^age d d',    b = sum lambda^age d (y - a),    d = (m_1 - a, ..., m_K - a),

where r is PRIOR times the mean of the squares of d.

Fixed share: the answer is the mean of the members by weights

    w_k <- (1 - s) w_k p_k(y)^(1/2) / sum + s / (K + 1),

where p_k is a normal density about the answer of the member, whose variance is a running mean of
its squared errors: exponential weights of the log loss at a learning rate of 1/2 (Cesa-Bianchi and
Lugosi 2006, chapter 3), of which a part is shared so that they follow drift.

Spread: the variance of the prediction at x is half the running mean E of the squared errors, and
half what the trees say of x, V, brought to scale,

    (E + c (V + E / 10)) / 2,       c: the running mean of error^2 / (V + E / 10),

where V is the mean over the groups of the variances in the leaves and among the trees.
"""

from libc.stdint cimport int64_t

from ..dynamic.leaf_models cimport LeafModel

cdef class ClassPool:
    cdef readonly int n_groups
    cdef double* weights                # per group
    cdef double* exponents              # per group, of their mixture, and of naive Bayes
    cdef double* pooled                 # per class: the answer
    cdef double* logs                   # logs[member * n_classes + class]
    cdef int capacity                   # classes there is room for

    cdef int reserve(self, int n_classes) except -1
    cdef void pool(self, const double* answers, int width) noexcept
    cdef void weigh(self, const double* answers, int code, int width) noexcept

    cdef inline double* naive_answer(self, int width) noexcept nogil:
        """Where to write the answer of naive Bayes before `pool`."""
        return self.logs + (self.n_groups + 1) * width

cdef class NumberMixture:
    cdef readonly int n_groups
    cdef readonly int64_t n_targets     # learned
    cdef double lowest, highest         # of these
    cdef double* weights                # per member
    cdef double* errors                 # per member: fading sum of squared errors, ...
    cdef double error                   # ... of the answer ...
    cdef double ratio                   # ... and of error^2 / (V + E / 10)
    cdef readonly double n_errors       # fading number of targets in these sums
    cdef double* sums                   # A and b, by rows as in `leaf_models`
    cdef double square                  # fading sum of the mean square of d ...
    cdef double n_squares               # ... and the number of its samples
    cdef double* slopes                 # c
    cdef LeafModel model                # to solve for c

    # The members' answers to one row, and what follows from them.
    cdef double* answers
    cdef double mean
    cdef double variance                # V
    cdef double* scratch                # answers and log densities

    cdef void answer(self, const double* groups, double variance) noexcept nogil
    cdef void learn(self, double target) noexcept nogil
    cdef void learn_stack(self, double target) noexcept nogil
    cdef void learn_weights(self, double target) noexcept nogil
    cdef void solve(self) noexcept nogil
    cdef double within(self, double answer) noexcept nogil
    cdef double spread(self) noexcept nogil
