"""Compact classification trees, for trees whose inner nodes do not learn.

The nodes are those of `trees`. The kind of a node determines where its statistics are stored:

    a leaf with one class     in the node: `split.threshold` is the weight, `left` the class
    any other leaf            `split.threshold` is the weight; rows contain the class weights
    an inner node             in a record of bytes: written when a leaf is split, read when the
                              split is removed or the tree is inspected

If a tree is grown until its leaves are pure, most leaves have one class.

A row contains the weights of up to ROW_CLASSES classes. If no more classes are known, each row
contains all of them, in the order of their codes. Otherwise a leaf has a list of rows with the
classes that it has met, and the weights in a row are followed by the codes and a `Link`. So the
memory of a leaf does not depend on the number of known classes.

A record contains the gain, the weight and the classes with a positive weight. Small whole numbers
take one byte (see `short_numbers`); all numbers are stored exactly. When the memory for records is
full and more than half of it is unused records, they are removed.

The statistic VISITED of a node is 1 if a sample reached the node, else 0.
"""

from libc.stdint cimport int64_t

from ..trees cimport FAINTEST, Trees

cdef enum:
    ROW_CLASSES = 16                # even, so that the codes take a whole number of doubles

cdef struct Link:                   # at the end of a row if more than ROW_CLASSES are known
    int n                           # number of classes in the row; all rows but the first are full
    int next                        # next row of the leaf, or -1

cdef struct ClassShare:             # of a class in a leaf
    double share
    int code

cdef inline int stride_of(int n_values) noexcept nogil:
    """Number of doubles that a row takes, with its codes and its link."""
    return max(1, n_values) if n_values <= ROW_CLASSES else ROW_CLASSES + ROW_CLASSES // 2 + 1

cdef class CompactTrees(Trees):
    cdef int* places                # per node: first row of a leaf, or -1; start of the record of
                                    #   others
    cdef double* rows               # row r begins at rows[r * stride]
    cdef int stride                 # see `stride_of`
    cdef int n_rows                 # every row in use has a smaller number
    cdef int free_row               # first free row, or -1; its first number is the next free row
    cdef int n_free_rows
    cdef int row_capacity           # number of allocated rows
    cdef size_t row_cells           # number of allocated doubles
    cdef unsigned char* records
    cdef size_t n_bytes             # bytes of all records
    cdef size_t n_dead              # bytes of records that no node refers to
    cdef size_t byte_capacity       # allocated bytes

    cdef void take_records(self, CompactTrees other) noexcept nogil
    cdef int reserve_rows(self, Py_ssize_t n, int n_values) except -1 nogil
    cdef int reserve_records(self, size_t n, size_t n_classes, int n_values) except -1 nogil
    cdef int reserve_bytes(self, size_t added) except -1 nogil
    cdef int reserve_splits(self, Py_ssize_t n_samples, Py_ssize_t max_nodes,
                            int n_values) except -1 nogil
    cdef int reserve_growth(self, int64_t n_steps, Py_ssize_t n_samples, Py_ssize_t n_later,
                            int n_values) except -1 nogil
    cdef void drop_dead_records(self, unsigned char* room) noexcept nogil
    cdef void new_row(self, int leaf) noexcept nogil
    cdef double* add_cell(self, int leaf, int code) noexcept nogil
    cdef double* find_cell(self, int leaf, int code) noexcept nogil
    cdef void add_list(self, int leaf, double share, double* answers) noexcept nogil
    cdef int list_rows(self, int leaf, double share, ClassShare* found) noexcept nogil
    cdef void release(self, int leaf) noexcept nogil
    cdef void set_leaf(self, int leaf, double weight, const double* counts,
                       int n_classes) noexcept nogil

    cdef inline double* counts(self, int row) noexcept nogil:
        return self.rows + <Py_ssize_t>row * self.stride

    cdef inline int* codes(self, int row) noexcept nogil:
        """The codes of a row, if there are more than ROW_CLASSES classes."""
        return <int*>(self.counts(row) + ROW_CLASSES)

    cdef inline Link* link_of(self, int row) noexcept nogil:
        """The link of a row, if there are more than ROW_CLASSES classes."""
        return <Link*>(self.codes(row) + ROW_CLASSES)

    cdef inline int n_counts(self, int row) noexcept nogil:
        """Number of classes of a row."""
        return self.n_values if self.n_values <= ROW_CLASSES else self.link_of(row).n

    cdef inline int code_of(self, int row, int i) noexcept nogil:
        """The code of class i of a row."""
        return i if self.n_values <= ROW_CLASSES else self.codes(row)[i]

    cdef inline int next_of(self, int row) noexcept nogil:
        """The next row of a leaf, or -1."""
        return -1 if self.n_values <= ROW_CLASSES else self.link_of(row).next

    cdef inline double* cell(self, int leaf, int code) noexcept nogil:
        """The weight of a class in a leaf with rows; memory for one more row is allocated."""
        if self.n_values <= ROW_CLASSES:
            return self.counts(self.places[leaf]) + code
        return self.find_cell(leaf, code)

    cdef inline int reserve_row(self, int n_values) except -1 nogil:
        """Make room for one more class in a leaf; called per tree and sample."""
        if n_values == self.n_values and (
                self.n_free_rows > 0 or self.n_rows < self.row_capacity):
            return 0
        return self.reserve_rows(1, n_values)

    cdef inline void learn_in_leaf(self, int leaf, int code, double weight) noexcept nogil:
        """Apply the decay factor to a leaf (`fade`), then add a sample (`add_class`)."""
        cdef double faded = self.nodes[leaf].split.threshold * self.fading
        if self.places[leaf] < 0 and self.nodes[leaf].left == code and faded >= FAINTEST:
            self.nodes[leaf].split.threshold = faded + weight
            return
        if self.fading < 1.0:
            self.fade(leaf)
        self.add_class(leaf, code, weight, 1.0)

    cdef inline void add_shares(self, int leaf, int n_trees, int width,
                                double* answers) noexcept nogil:
        """Add the class shares in a leaf, divided by n_trees, to the mean over n_trees trees."""
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
        if width > ROW_CLASSES:
            self.add_list(leaf, share, answers)
            return
        counts = self.counts(self.places[leaf])
        for c in range(width):
            answers[c] += counts[c] * share

    cdef inline int list_shares(self, int leaf, int n_trees, int width,
                                ClassShare* found) noexcept nogil:
        """List what `add_shares` adds, at most one share per class; return their number."""
        cdef double weight = self.nodes[leaf].split.threshold, share
        cdef int c
        if not weight > 0.0:
            for c in range(width):
                found[c].code, found[c].share = c, 1.0 / (width * n_trees)
            return width
        share = 1.0 / (weight * n_trees)
        if self.places[leaf] < 0:
            found.code, found.share = self.nodes[leaf].left, weight * share
            return 1
        return self.list_rows(leaf, share, found)
