"""Questions that wait for their labels, with the answers that were known when they were asked.

Where labels come late, the answers that the members of a mixture give when the label comes say
little about those that they gave when the question was asked: small windows then hold the
neighbours of the sample. So the weights are learned from the answers of the question.

A question is a row, known by a hash of its values; the number of samples that were learned before
it; and numbers that its owner wants back, its answer. A label finds the question of its row. Of
equal rows, it is the one whose delay is nearest to the mean. The delay of a label is the number of
samples that were learned between the question and the label; D is its running mean,

    D <- D + (delay - D) / MEMORY.

A column that was freed gets another feature: then its values have other hashes, so that no question
of the former feature is found.

Questions that were asked before anything was learned have no answer, and no columns that could tell
one row from another. They are counted. The first labels are theirs, until one finds its question,
or comes without a question since the label before. New labels, and labels of samples with a new
feature or without any value, find no question anyway and are passed over. So the delay is followed
from the first late label on.

The rows of a frame are asked in any order, by several threads: `open` makes places for all of them,
`put` fills one.

The leaves of the trees that a single row reached are kept, too: when its label comes, it walks on
from there, in the trees whose nodes have the same numbers. They are not saved: each walk finds the
leaf that a walk from the root finds.

A question waits until MOST others were kept after it, or fewer if their answers would take more
than MOST_NUMBERS numbers. Those that are never answered therefore cost a fixed memory.

`pace` tells how fast weights follow late labels. A learning rate is multiplied by (1 + D)^(-1/2):
after a delay of D labels, so many errors have the same cause (Joulani, György and Szepesvári 2013).
The share s of the fixed share is multiplied by (1 + D)^(-1/4), and goes to a window of m samples in
proportion to (m / (m + D))^2, because its youngest samples are D old. With D = 0 all factors are
one. A late label without a question does not tell what follows what at the distance of D: tables
and regressions of the last labels or targets learn nothing from it.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from ..parts cimport Part

cdef enum:
    N_LISTS = 1 << 10

cdef struct Pace:
    double step                 # factor of learning rates
    double share                # factor of s
    const double* claims        # per member: what it gets of s, in any unit
    bint is_of_question         # whether the predictions are those of the question of the label

cdef class Questions(Part):
    cdef public double delay            # D
    cdef bint is_closed                 # whether no question is kept
    cdef int n_first                    # asked before anything was learned, and not answered
    cdef int64_t asked_at               # if there are any: samples learned before the last question
    cdef int width                      # number of numbers of an answer
    cdef int first, end                 # places of the questions that may wait: first ... end - 1
    cdef uint64_t* rows                 # per place: hash of the row
    cdef int64_t* moments               # number of samples learned before it; -1: it is answered
    cdef int[N_LISTS] latest            # lists of places, by hash: the latest place, or -1 ...
    cdef int* earlier                   # ... and per place the one before in its list
    cdef int n_listed                   # places before are in the lists; 0: these are not valid
    cdef double* answers                # answers[place * width + ...]
    cdef int n_leaves                   # number of leaves of a question
    cdef int* leaves                    # leaves[place * n_leaves + tree]; the first is -1: unknown
    cdef int taken                      # place of the question that was taken last ...
    cdef int64_t taken_at               # ... and its moment
    cdef int capacity                   # number of places
    cdef int* freed                     # per column: how often it was freed
    cdef int n_columns                  # others have never been

    cdef int most(self, int width) noexcept nogil
    cdef int keep(self, uint64_t row, int64_t n_seen, const double* answer, int width,
                  const int* leaves) except -1 nogil
    cdef void note(self, Py_ssize_t n, int64_t n_seen) noexcept nogil
    cdef int open(self, int n, int width) except -1 nogil
    cdef void put(self, int place, uint64_t row, int64_t n_seen,
                  const double* answer) noexcept nogil
    cdef int make_room(self) except -1 nogil
    cdef int reserve(self, int capacity) except -1 nogil
    cdef double* take(self, uint64_t row, int64_t n_seen, bint is_known,
                      bint* is_found) noexcept nogil
    cdef void list_rows(self) noexcept nogil
    cdef void take_first(self, int64_t n_seen, bint is_known) noexcept nogil
    cdef const int* leaves_taken(self) noexcept nogil
    cdef int keep_leaves(self, int n) except -1
    cdef void forget(self) noexcept nogil
    cdef int reserve_columns(self, int n_columns) except -1
    cdef void forget_columns(self, const uint8_t* held) noexcept
    cdef uint64_t hash_of(self, const double* row, Py_ssize_t stride, const int* columns,
                          int n) noexcept nogil
    cdef Pace pace(self) noexcept nogil
    cdef object check_answers(self, int width, int64_t n_seen)

    cdef inline bint waits(self) noexcept nogil:
        """Whether a question may wait."""
        return self.end > self.first

cdef inline double claim(int window_size, double delay) noexcept nogil:
    """What a window gets of the share s, in any unit."""
    cdef double part = window_size / (window_size + delay)
    return part * part
