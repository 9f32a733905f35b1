"""The columns of a window that a growth is offered. See the header."""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from ..rng cimport mix


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
