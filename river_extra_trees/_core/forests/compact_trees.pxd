"""Decision trees of classes whose nodes take few bytes: for trees whose inner nodes do not learn.

The nodes are those of `trees`; the statistics are stored by what a node is:

    a leaf with one class     the node itself: `split.threshold` is the weight, `left` the class
    another leaf              `split.threshold` is the weight, and the classes have a row
    an inner node             a record of bytes, which is written when the leaf is split, and read
                              when it is made a leaf again or somebody looks at it

Most leaves of a tree that is grown until they are pure have one class. A record holds the gain, the
weight and those classes that have weight, each number in one byte where it is small and whole (see
`put`), and to the bit in any case. Records that are read no more are dropped when the room for
records is full and half of it is theirs.

The number of the batch that last came through a node is 1 where a sample has come, else 0.
"""

from ..trees cimport FAINTEST, Trees

cdef class CompactTrees(Trees):
    cdef int* places                # per node: of a leaf its row, or -1; of others their record
    cdef double* rows               # rows[row * n_values + class]: weights
    cdef int n_rows                 # ever used
    cdef int free_row               # a row not in use, whose first cell is the next such; or -1
    cdef int n_free_rows
    cdef int row_capacity           # rows there is room for
    cdef size_t row_cells           # doubles allocated
    cdef unsigned char* records
    cdef size_t n_bytes             # of the records; ...
    cdef size_t n_dead              # ... of those that are read no more; ...
    cdef size_t byte_capacity       # ... and allocated

    cdef int reserve_rows(self, Py_ssize_t n, int n_values) except -1 nogil
    cdef int reserve_records(self, Py_ssize_t n, int n_values) except -1 nogil
    cdef void drop_dead_records(self, unsigned char* room) noexcept nogil
    cdef int new_row(self) noexcept nogil
    cdef void release(self, int leaf) noexcept nogil
    cdef void set_leaf(self, int leaf, double weight, const double* counts,
                       int n_classes) noexcept nogil

    cdef inline double* counts(self, int row) noexcept nogil:
        return self.rows + <Py_ssize_t>row * self.n_values

    cdef inline int reserve_row(self, int n_values) except -1 nogil:
        """Make room for one more leaf with several classes; every tree does so for every sample."""
        if n_values == self.n_values and (
                self.n_free_rows > 0 or self.n_rows < self.row_capacity):
            return 0
        return self.reserve_rows(1, n_values)

    cdef inline void learn_in_leaf(self, int leaf, int code, double weight) noexcept nogil:
        """`fade` a leaf where leaves fade, then `add_class`."""
        cdef double faded = self.nodes[leaf].split.threshold * self.fading
        if self.places[leaf] < 0 and self.nodes[leaf].left == code and faded >= FAINTEST:
            self.nodes[leaf].split.threshold = faded + weight
            return
        if self.fading < 1.0:
            self.fade(leaf)
        self.add_class(leaf, code, weight, 1.0)

    cdef inline void add_shares(self, int leaf, int n_trees, int width,
                                double* answers) noexcept nogil:
        """Add the shares of the classes in a leaf to the answer of so many trees."""
        cdef double weight = self.nodes[leaf].split.threshold, share
        cdef const double* counts
        cdef int c
        if not weight > 0.0:
            for c in range(width):
                answers[c] += 1.0 / (width * n_trees)
            return
        share = 1.0 / (weight * n_trees)
        if self.places[leaf] < 0:
            answers[self.nodes[leaf].left] += weight * share
            return
        counts = self.counts(self.places[leaf])
        for c in range(width):
            answers[c] += counts[c] * share
