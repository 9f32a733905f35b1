"""What the nominal values of earlier samples said of their targets.

A batch may hold less than one sample of most values of a column. So a learner remembers, per value,
the targets of the samples that its trees do not grow on any more. A growth adds them to those of
its own samples where it orders values, and sends the values that it has not met to the side that
they speak for (`value_sets`). It never judges a cut by them. They contain no sample of the growth,
so a sample says nothing about its own value.

With each sample of a value, its earlier ones fade, so a value remembers some MEMORY samples of its
own, however rare it is. If the entries are too many, the values seen least recently are forgotten.
A sample of more than MOST_OF_SAMPLE values is not remembered: it would displace what others said.

A value that growths have met seldom goes by its first samples (`send`): with each of them, it is
sent anew at the splits by sets on the path of the sample, to the side of the border on which its
mean lies. A growth would send it there, too; the set keeps its border. What counts are its history
and its latest samples in the batch. A set that becomes large forgets the values that the history
has forgotten, so its size is bounded.
"""

from libc.stdint cimport int64_t, uint8_t

from ..parts cimport Part
from ..schema cimport Schema
from ..tree cimport Tree
from ..value_sets cimport ValueSet
from ..window cimport Window

cdef enum:
    MEMORY = 16             # samples of a value, see `Window of m samples`
    MOST_ENTRIES = 1 << 14  # of all columns
    ENOUGH = 8              # samples of a value that stays where a growth has sent it
    LATEST = 512            # samples of a batch among which those of a value are found
    MOST_OF_SAMPLE = 1 << 10    # nominal values of a sample that is remembered

cdef struct Entry:          # of a value and a label; in a regression, of a value
    double code
    double weight
    double total            # regression: sum of weight times target
    int64_t seen            # number of the last sample with this value
    int label               # regression: 0

cdef struct Entries:        # of a column: ascending by code and label
    Entry* first
    int n
    int n_values            # different codes
    int capacity

cdef class ValueHistory(Part):
    cdef readonly bint regression
    cdef Entries* columns       # columns[column]
    cdef int n_columns
    cdef readonly int n         # number of entries ...
    cdef int most               # ... and its bound
    cdef readonly int64_t n_learned     # number of samples
    cdef Entry* said            # scratch: of one value, per label
    cdef int n_said, said_capacity
    cdef bint is_changed        # whether it may know other columns than when `find_distinct` asked

    cdef int learn(self, Window window, int slot, Schema schema) except -1 nogil
    cdef int learn_value(self, int column, double code, double target,
                         double weight) except -1 nogil
    cdef int reserve(self, int n_columns) except -1 nogil
    cdef Entry* insert(self, Entries* entries, int place) except NULL nogil
    cdef void evict(self) noexcept nogil
    cdef void keep(self, int64_t sample, const uint8_t* gone) noexcept nogil
    cdef int count_after(self, int64_t sample) noexcept nogil
    cdef void forget_columns(self, const uint8_t* held) noexcept nogil
    cdef void forget_classes(self, const uint8_t* gone) noexcept nogil
    cdef bint is_well_known(self, int column, double code) noexcept nogil
    cdef int recall(self, Window window, int column, double code) except -1 nogil
    cdef int say(self, int label, double weight, double total) except -1 nogil
    cdef int send(self, Tree* tree, Window window, int slot, int column) except -1 nogil
    cdef bint is_astray(self, const ValueSet* values, double code) noexcept nogil
    cdef void limit(self, Tree* tree, int node, double code, const Entries* entries) noexcept nogil
    cdef int check_codes(self, Schema schema, int n_labels) except -1

    cdef inline Entries* entries_of(self, int column) noexcept nogil:
        """The entries of a column, or NULL if it has none."""
        if column >= self.n_columns or self.columns[column].n == 0:
            return NULL
        return &self.columns[column]


cdef inline int place_of(const Entries* entries, double code) noexcept nogil:
    """The number of entries with smaller codes."""
    cdef int low = 0, high = entries.n, middle
    while low < high:
        middle = (low + high) // 2
        if entries.first[middle].code < code:
            low = middle + 1
        else:
            high = middle
    return low
