"""One distribution over the classes of those of the groups of a forest and of naive Bayes.

Fixed share (Herbster and Warmuth 1998): the groups are mixed by weights

    w_k <- (1 - s) w_k q_k(y)^(1/2) / sum + s / K.

Logarithmic opinion pool (Genest and Zidek 1986) of the groups, of their mixture and of naive Bayes,

    p(c) proportional to the product over the members of q_m(c)^e_m.

The exponents take a step down the gradient of the log loss after each sample,

    d(-log p(y)) / de_m = sum_c p(c) log q_m(c) - log q_m(y),

and do not get negative (projected online gradient descent: Zinkevich 2003).
"""

cdef double FLOOR       # of a uniform distribution, in each answer that is pooled

cdef void pool_logs(const double* exponents, int n_members, const double* logs, int width,
                    double* pooled) noexcept nogil
cdef void learn_exponents(double* exponents, int n_members, const double* logs,
                          const double* pooled, int code, int width) noexcept nogil

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
