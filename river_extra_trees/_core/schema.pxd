"""Feature names -> columns, dicts -> rows of doubles; labels -> codes.

A column belongs to a feature name and a kind. Numbers (bool included) go to the numeric column of
their name; the code of any other hashable value (`codes`) goes to the nominal column of the name. A
name with values of both kinds has two columns; if one has a value, the other is missing. So a
feature may change its type during the stream without an error or a loss of information.

A nominal column remembers the values that it met last, to tell people which value a code stands
for. Nothing else depends on them.

If a new feature finds no column, the learner searches for columns that no split and no linear model
holds. It frees those without a value in a stored sample; if these are few, also those of the others
that were seen least recently, whose values the stored samples lose. Many are freed at once, and
after a search that found too few, the next one waits: so streams with ever new names take a bounded
time per sample. A column that was freed has no name until a new feature takes it.

If a new label finds no code, the learner searches in the same way. Codes of stored samples are
held. It frees those of labels that no tree has; if there is none, a few of those that were learned
least recently, which the trees forget. If all are held, the sample is refused. A free code stands
for no label, and its share of a prediction does not count.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t

from .lists cimport item_of, length_of, size_of
from .parts cimport Part

cdef extern from "Python.h":
    PyObject* none "Py_None"

cdef enum:
    MAX_VALUES = 1024       # remembered values of one nominal column
    MAX_COLUMNS = 1 << 14   # upper limit of `max_columns`
    MAX_LABELS = 1024       # upper limit of `max_labels`
    PAUSE = 256             # samples to the next search, after one that found too few columns

cdef class Schema(Part):
    cdef dict numeric           # name -> numeric column
    cdef dict nominal           # name -> nominal column
    cdef readonly list names    # column -> name; None if the column is free
    cdef readonly list codes    # column -> {code: value} of the values met last, the latest new
                                #   one at the end; or None if the column is numeric or free
    cdef readonly list free     # the free columns, descending: new features take the last ones
    cdef int64_t next_search    # number of samples from which on columns may be freed again
    cdef readonly list crowded  # name of the feature for which stored samples lost values, or no
                                #   column was found; empty if the last search had no need to
    cdef long* n_noted          # per column: number of values that became remembered, not part of
                                #   the state
    cdef bint has_warned        # whether a warning has named a crowded feature; not in the state
    cdef readonly int n_columns     # free ones included
    cdef readonly int max_columns   # further features are ignored, so that memory is bounded
    cdef double* row            # scratch: row[column] of the last encoded row; NaN: missing
    cdef int* filled            # the n_filled columns that may have a value in `row`, each once
    cdef int n_filled           # work on a row does not visit the others
    cdef int row_capacity
    cdef readonly unsigned long version     # number of changes of columns, and ...
    cdef unsigned long n_searches           # ... of searches; not part of the state

    # A cache, not part of the state: the keys of the last row that was looked up by name, in the
    # order of its dict. A row whose keys are the same objects in the same order needs no look-up.
    cdef list layout
    cdef PyObject** layout_keys
    cdef int* layout_numeric    # numeric column of each key, or -1
    cdef int* layout_nominal    # nominal column of each key, or -1
    cdef Py_ssize_t layout_size
    cdef Py_ssize_t layout_capacity
    cdef unsigned int misses

    # Another one: what `by_feature` said of this version.
    cdef tuple described
    cdef unsigned long described_version

    cdef inline bint has_codes(self, int column) noexcept nogil:
        """Whether a column is nominal."""
        return item_of(<PyObject*>self.codes, column) != none

    cdef inline bint is_numeric(self) noexcept nogil:
        """Whether no column is nominal."""
        return size_of(<PyObject*>self.nominal) == 0

    cdef inline bint is_complete(self) noexcept nogil:
        """Whether the row has a value in every column; `filled` may have columns without one."""
        cdef int column
        if self.n_filled < self.n_columns:
            return False
        for column in range(self.n_columns):
            if self.row[column] != self.row[column]:
                return False
        return True

    cdef inline void put(self, int column, double number) noexcept nogil:
        """Put a value into a column of the row."""
        if number == number:
            if self.row[column] != self.row[column]:
                self.filled[self.n_filled] = column
                self.n_filled += 1
            self.row[column] = number

    cdef inline bint remembers(self, int column, double code) except -1:
        """Whether a nominal column remembers the value of a code."""
        return <int64_t>code in <dict>self.codes[column]

    cdef inline bint is_closed(self, int64_t n_seen) noexcept nogil:
        """Whether the next sample, after n_seen others, cannot bring a new feature."""
        return (self.n_columns == self.max_columns and n_seen < self.next_search
                and length_of(<PyObject*>self.free) == 0)

    cdef tuple by_feature(self)
    cdef tuple find_features(self)
    cdef int encode(self, object x) except -1
    cdef int validate(self, object x) except -1
    cdef list foresee(self, dict x)
    cdef list without_column(self, list fresh)
    cdef bint search(self, uint8_t* held, const int64_t* latest, list wanted,
                     int64_t n_seen) except -1
    cdef tuple columns(self)
    cdef int take_back(self, tuple before) except -1
    cdef int warn(self) except -1
    cdef list new_entries(self, dict x)
    cdef bint by_layout(self, dict x, bint learns) except -1
    cdef bint store(self, Py_ssize_t i, PyObject* value, bint learns) except -1
    cdef int by_name(self, dict x, list fresh) except -1
    cdef int remember(self, dict x) except -1
    cdef int commit(self, dict x, list fresh) except -1
    cdef int undo(self, list added) except -1
    cdef int add(self, list fresh, list added) except -1
    cdef int add_column(self, object name, bint is_nominal, list added) except -1
    cdef int restore_column(self, int column, object name, object values, bint is_free) except -1
    cdef int note(self, int column, double code, object value) except -1
    cdef int put_value(self, int column, double code, object value) except -1
    cdef int reserve(self, int n_columns) except -1
    cdef void blank(self) noexcept nogil
    cdef void sort_filled(self) noexcept nogil

cdef class Labels(Part):
    cdef dict known             # label -> code
    cdef readonly list labels   # code -> the first label object that was equal to it; None if the
                                #   code is free
    cdef readonly list crowded  # the label for which trees forgot others; empty if the last search
                                #   had no need to
    cdef bint has_warned        # as in `Schema`
    cdef readonly int max_labels
    cdef int n_free             # number of free codes
    cdef int64_t* latest        # per code: the number, among those learned, of the latest sample of
                                #   its label; -1: the code is free
    cdef int capacity           # of `latest`
    cdef readonly int64_t n_learned     # number of samples learned
    cdef readonly unsigned long version     # number of changes of codes; not part of the state

    cdef int code(self, object label) except -2
    cdef int learn(self, object label) except -1
    cdef int refuse(self, object label) except -1
    cdef int reserve(self, int n) except -1
    cdef int search(self, const uint8_t* held, const uint8_t* met, object label,
                    uint8_t* gone) except -1
    cdef tuple codes(self)
    cdef int take_back(self, tuple before) except -1
    cdef int warn(self) except -1
    cdef object named(self, int code)

    cdef inline bint is_full(self) noexcept nogil:
        """Whether the next new label finds no code."""
        return self.n_free == 0 and length_of(<PyObject*>self.labels) >= self.max_labels

    cdef inline bint is_free(self, int code) noexcept nogil:
        return self.latest[code] < 0

    cdef inline bint is_new(self, int code) noexcept nogil:
        """Whether the sample that is being learned has brought this label."""
        return self.latest[code] == self.n_learned

    cdef inline void note(self, int code) noexcept nogil:
        """Note that a sample with this label is learned."""
        self.latest[code] = self.n_learned
        self.n_learned += 1

    cdef inline double total_of(self, const double* shares, int n) noexcept nogil:
        """The sum of the shares of n codes, without the free ones, from the first to the last."""
        cdef double total = 0.0
        cdef int code
        for code in range(n):
            if not self.is_free(code):
                total += shares[code]
        return total
