"""The columns that a growth is offered, and its scratch memory. See the header."""

from libc.string cimport memcpy, memset

from ..allocation cimport carve, product
from ..rng cimport mix
from ..shares cimport first_largest
from ..sorting cimport sort_slots
from ..value_sets cimport N_CUTS


cdef class Workspace(Owner):
    """Rules of growth, and scratch memory that is used again by each growth."""

    cdef int reserve(self, size_t n_nodes, size_t n, size_t n_slots, size_t n_columns,
                     size_t n_sparse, size_t n_entries, size_t n_classes) except -1 nogil:
        """Allocate memory for the growth of a tree of up to n_nodes nodes on n samples."""
        cdef size_t bytes = self.lay_out(n_nodes, n, n_slots, n_columns, n_sparse, n_entries,
                                         n_classes)
        if bytes > self.block_bytes:
            bytes += bytes // 2
            self.resize(&self.block, bytes, 1)
            self.block_bytes = bytes
            self.lay_out(n_nodes, n, n_slots, n_columns, n_sparse, n_entries, n_classes)
        return 0

    cdef size_t lay_out(self, size_t n_nodes, size_t n, size_t n_slots, size_t n_columns,
                        size_t n_sparse, size_t n_entries, size_t n_classes) except 0 nogil:
        """Divide the block, parts with the strictest alignment first; return its size in bytes."""
        cdef size_t n_bytes = n_columns // 8 + 1
        cdef size_t begin = <size_t>self.block, end = begin
        self.values = <double*>carve(&end, product(n_columns, n), sizeof(double))
        self.sparse_values = <double*>carve(&end, n if n_sparse else 0, sizeof(double))
        self.entries = <Entry*>carve(&end, n_entries, sizeof(Entry))
        self.target = <double*>carve(&end, n, sizeof(double))
        self.mass = <double*>carve(&end, n, sizeof(double))
        self.centred = <double*>carve(&end, n, sizeof(double))
        self.counts = <double*>carve(&end, product(3, n_classes), sizeof(double))
        self.cut_counts = <double*>carve(&end, product(N_CUTS, n_classes), sizeof(double))
        self.waiting = <double*>carve(&end, n_classes, sizeof(double))
        self.class_targets = <double*>carve(&end, n_classes, sizeof(double))
        self.cuts = <double*>carve(&end, n_columns, sizeof(double))
        self.counters = <uint64_t*>carve(&end, product(n_classes, n_bytes), sizeof(uint64_t))
        self.ranges = <Task*>carve(&end, n, sizeof(Task))
        self.tasks = <Task*>carve(&end, n + 1, sizeof(Task))
        self.ranked = <int*>carve(&end, product(n_columns, n), sizeof(int))
        self.listed = <int*>carve(&end, n, sizeof(int))
        self.samples = <int*>carve(&end, n, sizeof(int))
        self.copies = <int*>carve(&end, n, sizeof(int))
        self.code = <int*>carve(&end, n, sizeof(int))
        self.whole_counts = <int*>carve(&end, product(2, n_classes), sizeof(int))
        self.labels = <int*>carve(&end, n_classes, sizeof(int))
        self.number_of = <int*>carve(&end, n_classes, sizeof(int))
        self.slot_of = <int*>carve(&end, n, sizeof(int))
        self.range_of_slot = <int*>carve(&end, n_slots, sizeof(int))
        self.sample_of = <int*>carve(&end, n_slots, sizeof(int))
        self.sparse_ranked = <int*>carve(&end, n if n_sparse else 0, sizeof(int))
        self.first_entry = <int*>carve(&end, n + 1 if n_sparse else 0, sizeof(int))
        self.head = <int*>carve(&end, n_sparse, sizeof(int))
        self.n_present = <int*>carve(&end, n_sparse, sizeof(int))
        self.linked = <int*>carve(&end, n_sparse, sizeof(int))
        self.visited = <int*>carve(&end, n_columns + n_sparse if n_sparse else 0, sizeof(int))
        self.name = <int*>carve(&end, n_columns + n_sparse, sizeof(int))
        self.columns = <int*>carve(&end, n_columns, sizeof(int))
        self.bit = <int*>carve(&end, n_columns + n_sparse, sizeof(int))
        self.spare = <int*>carve(&end, max(n, n_columns), sizeof(int))
        self.range_of_leaf = <int*>carve(&end, n_nodes, sizeof(int))
        self.high = <int*>carve(&end, product(n_classes, 8 * n_bytes), sizeof(int))
        self.nominal = <uint8_t*>carve(&end, n_columns + n_sparse, 1)
        self.goes_left = <uint8_t*>carve(&end, n, 1)
        self.bits = <uint8_t*>carve(&end, product(n, n_bytes), 1)
        self.left.counts = self.counts
        self.right.counts = self.counts + n_classes
        self.node.counts = self.counts + 2 * n_classes
        return end - begin

    cdef double set_class_targets(self, bint all_classes) noexcept nogil:
        """Find the targets of classes by which values are ordered; return their mean in the node.

        1 for the most frequent class and 0 for others; or of all classes, where the middle of their
        samples is, if the samples are in the order of the classes, the rarest first (Bross 1958).
        """
        cdef int* order = self.whole_counts
        cdef int i, k
        cdef double below = self.node.weight
        memset(self.class_targets, 0, self.n_classes * sizeof(double))
        if not all_classes:
            k = first_largest(self.node.counts, self.n_classes)
            self.class_targets[k] = 1.0
            return self.node.counts[k] / self.node.weight
        for i in range(self.n_classes):
            order[i], self.waiting[i] = i, -self.node.counts[i]
        sort_slots(order, order + self.n_classes, self.waiting, self.n_classes)
        for i in range(self.n_classes):
            k = order[i]
            below -= self.node.counts[k]
            self.class_targets[k] = below + 0.5 * self.node.counts[k]
        return 0.5 * self.node.weight


# --- The columns that a growth is offered ---------------------------------------------------------

cdef void find_distinct(Window window, Schema schema, ValueHistory history) noexcept nogil:
    """List all columns with a value, but of sparse ones that are equal only the first.

    A nominal column of which the history knows a value is not equal to any other.
    """
    cdef int k, column, n, n_samples = window.n_sorted if window.n_sorted else window.n_fresh
    cdef int rated = 1, last = -1
    cdef bint is_known
    while 2 * rated <= n_samples:
        rated *= 2
    if history is not None:
        window.is_stale |= history.is_changed
        history.is_changed = False
    if rated == window.n_rated and not window.is_stale:
        return
    window.n_rated, window.n_distinct, window.is_stale = rated, 0, False
    memset(window.table, 0xFF, 2 * window.column_capacity * sizeof(int))
    for k in range(window.n_live):
        column = window.live[k]
        n = window.n_growing(column)
        if n == 0:                      # only later samples have a value
            continue
        is_known = history is not None and history.entries_of(column) != NULL
        if last >= 0 and not is_known and are_equal(window, schema, last, column, n):
            continue                    # as most columns of a wide sample
        if not is_known and window.is_few(n):
            last = first_of(window, schema, column, n)
        if is_known or not window.is_few(n) or last == column:
            window.distinct[window.n_distinct] = column
            window.n_distinct += 1


cdef int first_of(Window window, Schema schema, int column, int n) noexcept nogil:
    """The first of the columns equal to one with n values; if it is that, add it to the table."""
    cdef int size = 2 * window.column_capacity
    cdef int at = <int>(hash_of(window.values_of(column), window.order_of(column), n) % size)
    while window.table[at] >= 0:
        if are_equal(window, schema, window.table[at], column, n):
            return window.table[at]
        at = at + 1 if at + 1 < size else 0
    window.table[at] = column
    return column


cdef bint are_equal(Window window, Schema schema, int a, int b, int n) noexcept nogil:
    """Whether two columns of one kind have the same n values in the same samples."""
    cdef const double* values = window.values_of(a)
    cdef const double* others = window.values_of(b)
    cdef const int* order = window.order_of(b)
    cdef int i
    if window.n_growing(a) != n:
        return False
    for i in range(n):
        if window.order_of(a)[i] != order[i] or values[order[i]] != others[order[i]]:
            return False
    return schema.has_codes(a) == schema.has_codes(b)


cdef uint64_t hash_of(const double* values, const int* order, int n) noexcept nogil:
    """A hash of the values and their samples."""
    cdef uint64_t found = n, bits
    cdef double value
    cdef int i
    for i in range(n):
        value = values[order[i]] + 0.0      # -0.0 becomes 0.0, which is equal
        memcpy(&bits, &value, sizeof(bits))
        found = mix(found ^ mix(bits ^ <uint64_t>order[i]))
    return found
