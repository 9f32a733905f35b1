"""What answers beside a family while its trees know little. See the header."""

import numpy as np

from libc.math cimport log
from libc.string cimport memcpy

from .forests.class_pool cimport FLOOR, learn_exponents, pool_logs
from .forests.naive_bayes cimport NaiveBayes
from .memory cimport free, product, resized
from .schema cimport Schema
from .shares cimport total_of

from .state import LARGEST_FLOAT, State, captured, reduced, require

cdef enum:
    FAMILY = 0          # the members of a pool
    NAIVE_BAYES = 1
    LATEST = 2

cdef double NAIVE_MEMORY = 1000.0       # samples, as in the default forest
cdef double LATEST_MEMORY = 3.0         # samples after which a weight has fallen to about a third
cdef double PRIOR_WEIGHT = 0.5          # of all classes alike, in the frequencies of the latest
FIRST_EXPONENTS = (0.5, 0.5, 0.0)
LARGEST_EXPONENT = 1e6


cdef class EarlyPool:
    """What answers beside a family while its trees know little. See the header.

    Parameters
    ----------
    n_answers
        Number of answers of the family, each of which is pooled for itself.
    n_samples
        Number of samples after which the family answers alone.
    """

    def __cinit__(self, int n_answers, int64_t n_samples):
        self.n_left = n_samples
        self.naive = NaiveBayes(NAIVE_MEMORY)
        self.set_exponents(np.tile(np.array(FIRST_EXPONENTS), (n_answers, 1)))

    def __dealloc__(self):
        free(self.exponents)
        free(self.next_exponents)
        free(self.latest)
        free(self.logs)
        free(self.sums)

    cdef int set_exponents(self, const double[:, ::1] exponents) except -1:
        """Take over the exponents of so many answers."""
        cdef Py_ssize_t answer, member, n = exponents.shape[0]
        self.exponents = <double*>resized(self.exponents, N_MEMBERS * n + 1, sizeof(double))
        self.next_exponents = <double*>resized(
            self.next_exponents, N_MEMBERS * n + 1, sizeof(double))
        self.n_answers = <int>n
        for answer in range(n):
            for member in range(N_MEMBERS):
                self.exponents[answer * N_MEMBERS + member] = exponents[answer, member]
        self.forget_next()
        return 0

    cdef int allocate(self, int capacity) except -1:
        """Make room for so many classes."""
        self.latest = <double*>resized(self.latest, capacity, sizeof(double))
        self.logs = <double*>resized(self.logs, product(capacity, N_MEMBERS), sizeof(double))
        self.sums = <double*>resized(self.sums, capacity, sizeof(double))
        self.capacity = capacity
        return 0

    cdef int reserve(self, Schema schema, int n_columns, int n_classes) except -1:
        """Make room for a sample to learn; nothing else changes."""
        if n_classes > self.capacity:
            self.allocate(n_classes)
        self.next_naive = self.naive.reserved(schema, n_columns, n_classes)
        return 0

    # --- Answers ------------------------------------------------------------------------------

    cdef void look_at(self, const double* row) noexcept nogil:
        """Let naive Bayes and the latest classes answer a row."""
        cdef int c, n = self.n_classes
        cdef double total = total_of(self.latest, n) + PRIOR_WEIGHT
        cdef double* naive = self.logs + NAIVE_BAYES * n
        cdef double* latest = self.logs + LATEST * n
        self.naive.answer(row, naive)
        for c in range(n):
            naive[c] = self.floored_log(naive[c])
            latest[c] = self.floored_log((self.latest[c] + PRIOR_WEIGHT / n) / total)

    cdef double floored_log(self, double share) noexcept nogil:
        return log((1.0 - FLOOR) * share + FLOOR / self.n_classes)

    cdef void pool(self, int answer, double* shares) noexcept nogil:
        """Pool an answer of the family to the row looked at last; the pool takes its place.

        Where the family knows nothing, all its shares are zero.
        """
        cdef int c, n = self.n_classes
        cdef double total = total_of(shares, n)
        for c in range(n):
            self.logs[FAMILY * n + c] = self.floored_log(
                shares[c] / total if total > 0.0 else 1.0 / n)
        pool_logs(self.exponents + answer * N_MEMBERS, N_MEMBERS, self.logs, n, shares)

    # --- Learning -----------------------------------------------------------------------------

    cdef void forget_next(self) noexcept nogil:
        """Begin to `weigh` the answers to a sample: none has taught anything yet."""
        memcpy(self.next_exponents, self.exponents,
               <size_t>N_MEMBERS * self.n_answers * sizeof(double))

    cdef void weigh(self, int answer, const double* pooled, int code) noexcept nogil:
        """Learn how much each member is worth, from what was pooled last and the true class.

        It counts when the sample is learned.
        """
        learn_exponents(self.next_exponents + answer * N_MEMBERS, N_MEMBERS, self.logs, pooled,
                        code, self.n_classes)

    cdef void learn(self, Schema schema, int code, double weight) noexcept:
        """Learn the row that the schema encoded last, for which `reserve` made room."""
        cdef int c
        self.naive = self.next_naive
        self.naive.extend(schema)
        self.naive.learn(schema.row, code, weight)
        for c in range(self.n_classes, self.naive.n_classes):
            self.latest[c] = 0.0
        self.n_classes = self.naive.n_classes
        for c in range(self.n_classes):
            self.latest[c] *= 1.0 - 1.0 / LATEST_MEMORY
        self.latest[code] += 1.0
        memcpy(self.exponents, self.next_exponents,
               <size_t>N_MEMBERS * self.n_answers * sizeof(double))
        self.n_left -= 1

    # --- Parts --------------------------------------------------------------------------------

    cdef object all_exponents(self):
        cdef Py_ssize_t i
        found = [self.exponents[i] for i in range(N_MEMBERS * self.n_answers)]
        return np.array(found, np.float64).reshape(self.n_answers, N_MEMBERS)

    cdef object keep_answers(self, int first, int stop):
        """Forget the exponents of all answers but these."""
        self.set_exponents(self.all_exponents()[first:stop])

    cdef object join(self, list parts):
        """Take over the exponents of all parts, of which this is one."""
        self.set_exponents(np.concatenate([(<EarlyPool>part).all_exponents() for part in parts]))

    # --- State --------------------------------------------------------------------------------

    def exponents_of(self, int answer):
        """The exponents of an answer of the family, of naive Bayes, and of the latest classes."""
        return self.all_exponents()[answer].tolist()

    def check(self):
        """Raise a StateError if an invariant is broken."""
        self.naive.check()
        require(self.n_left > 0 and self.naive.n_classes == self.n_classes,
                "EarlyPool: naive Bayes knows other classes")

    def __sizeof__(self):
        return object.__sizeof__(self) + sizeof(double) * (
            2 * (N_MEMBERS * <size_t>self.n_answers + 1) + <size_t>self.capacity * (N_MEMBERS + 2))

    def state(self):
        """Exponents and statistics."""
        cdef int c
        latest = [self.latest[c] for c in range(self.n_classes)]
        return captured({"n_left": self.n_left, "naive": self.naive,
                         "exponents": self.all_exponents(),
                         "latest": np.array(latest, np.float64)})

    @classmethod
    def restored(cls, values):
        """The pool of a state. Whether its columns and classes exist the owner checks."""
        cdef EarlyPool found
        cdef const double[::1] latest
        cdef int c
        state = State("EarlyPool", values, ("n_left", "naive", "exponents", "latest"))
        exponents = state.numbers(
            "exponents", None, N_MEMBERS, least=0.0, most=LARGEST_EXPONENT)
        found = EarlyPool(0, state.whole("n_left", 1))
        found.set_exponents(exponents)
        found.naive = found.next_naive = state.part("naive", NaiveBayes)
        latest = state.numbers("latest", found.naive.n_classes, least=0.0, most=LARGEST_FLOAT)
        found.n_classes = found.naive.n_classes
        found.allocate(max(1, found.n_classes))
        for c in range(found.n_classes):
            found.latest[c] = latest[c]
        return found

    def __reduce__(self):
        return reduced(type(self), self.state())
