"""Which label follows which. See the header."""

from libc.string cimport memcpy

from ..allocation cimport zeroed
from ..parts cimport view

from ..state import require

cdef enum:
    MOST_CELLS = 1 << 17        # of a table: 1 MB

cdef double MEMORY = 500.0      # of the counts in a row, in labels
cdef double PRIOR_COUNT = 0.5


cdef class Transitions(Part):
    """Which label follows which. See the header."""

    def __cinit__(self):
        self.last = -1

    cdef int reserve(self, int n_labels) except -1 nogil:
        """Extend the table to so many labels."""
        cdef int label, n_rows
        cdef double* counts
        if n_labels <= self.n_labels:
            return 0
        n_rows = min(n_labels, <int>MOST_CELLS // n_labels)
        counts = <double*>zeroed(max(1, n_rows * n_labels), sizeof(double))
        for label in range(min(n_rows, self.n_rows)):
            memcpy(counts + <Py_ssize_t>label * n_labels,
                   self.counts + <Py_ssize_t>label * self.n_labels,
                   self.n_labels * sizeof(double))
        self.replace(
            &self.counts, counts, max(1, n_rows * n_labels) * <size_t>sizeof(double))
        self.n_labels, self.n_rows = n_labels, n_rows
        return 0

    cdef void answer(self, int last, double* answers, int width) noexcept nogil:
        """Write the share of each of the labels after the label `last`."""
        cdef int c
        cdef double total = PRIOR_COUNT * width
        cdef const double* counts = self.counts + <Py_ssize_t>last * self.n_labels
        if not 0 <= last < self.n_rows:
            for c in range(width):
                answers[c] = 1.0 / width
            return
        for c in range(width):
            total += counts[c]
        for c in range(width):
            answers[c] = (counts[c] + PRIOR_COUNT) / total

    cdef void learn(self, int last, int code) noexcept nogil:
        """Count a label; `last` is the last one that was known when it was asked."""
        cdef int c
        cdef double* counts = self.counts + <Py_ssize_t>last * self.n_labels
        if 0 <= last < self.n_rows:
            for c in range(self.n_labels):
                counts[c] *= 1.0 - 1.0 / MEMORY
            counts[code] += 1.0

    cdef void forget(self, const uint8_t* gone) noexcept nogil:
        """Forget the marked labels."""
        cdef int label, c
        for label in range(self.n_rows):
            for c in range(self.n_labels):
                if gone[label] or gone[c]:
                    self.counts[<Py_ssize_t>label * self.n_labels + c] = 0.0
        if self.last >= 0 and gone[self.last]:
            self.last = -1

    # ---------------------------------------------------------------- state

    cdef dict views(self):
        """The array of a state."""
        return {"counts": view(self.counts, "f8", (self.n_rows, self.n_labels))}

    FIELDS = {
        "n_labels": ("whole", 0, 2**31 - 1), "last": ("whole", -1, 2**31 - 2),
        "counts": ("numbers", None, None, {"least": 0.0, "most": MEMORY + 1.0}),
    }

    cdef int load(self, dict fields) except -1:
        self.reserve(fields["n_labels"])
        return Part.load(self, fields)

    cdef int check_structure(self) except -1:
        require(self.last < self.n_labels, "Transitions: the last label is not there")
        return 0
