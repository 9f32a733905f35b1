"""The window: samples that are stored for the growth of trees.

A sample occupies a slot from `push` to `release`. Values are column-major, because the growth of a
tree reads one column at a time. `sort` keeps the slots in the sorted order of each column, so that
the growth of trees need not sort them again.

A column is live if a stored sample has a value in it, and only then it has a line, with memory for
values and a sorted order. So time and memory depend on the samples in the window, not on what was
ever seen. All values of other columns are missing. An order lists only the samples with a value,
and a sample lists its columns: so what comes and goes costs what it holds. A line of one value is
*short*, or a sample with thousands of new names would take memory for all of them in all slots. The
second value moves the column to a *long* line, with a value per slot. Which line a column has is of
no effect on answers.

The samples of a growth are the sorted ones or, if none is sorted, all. A column is *sparse* if at
most a quarter of them have a value in it. Of sparse columns that are equal, as all those are that
only one sample has, a growth is offered the first: `distinct`. One wide sample adds one column.
"""

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t, uint64_t

from .schema cimport Schema

cdef class Window:
    cdef double* data           # data[line * capacity + slot], NaN if missing or if the slot is
                                #   free, of the n_long long lines; the start of the memory block
                                #   that contains all arrays but `lines`
    cdef double* short_value    # per short line, which have the numbers from n_long on
    cdef double* target         # per slot: code of the class, or the number
    cdef double* weight         # per slot: weight of the sample, > 0
    cdef int64_t* arrival       # per slot: number of the sample in the stream, or -1 if free
    cdef uint64_t* lines_of     # lines_of[slot * n_words : (slot + 1) * n_words]: a bit per line in
                                #   which the sample has a value
    cdef int* order             # order[line * capacity + rank] = slot: of the n_ordered[line]
                                #   sorted samples with a value, ascending, ties in order of
                                #   arrival; then of the fresh ones, in that order
    cdef int* short_order       # short_order[line - n_long] = slot
    cdef int* by_arrival        # the n_sorted slots of `order`, in order of arrival
    cdef int* fresh             # the n_fresh slots pushed since the last `sort`, in that order
    cdef int* free_slots        # stack of capacity - size free slots
    cdef int* merged            # scratch for `sort`: 2 * capacity
    cdef int* leaf              # per fresh slot: the leaf recorded by the owner, or -1; shares the
                                #   memory of `merged`
    cdef int* lines             # per column: its line, or -1 if it is not live
    cdef int* live              # the n_live live columns, ascending
    cdef int* free_lines        # stacks of free lines: of n_long - n_live_long long ones; from
                                #   n_long on, of short ones
    cdef int* column_of         # per line: its column, if it is live
    cdef int* n_held            # per line: number of stored samples with a value
    cdef int* n_ordered         # per line: number of sorted samples with a value
    cdef int* distinct          # the n_distinct columns that a growth is offered, ascending, by
                                #   `find_distinct`
    cdef int* table             # scratch: 2 * column_capacity
    cdef int capacity
    cdef readonly int n_columns     # columns pushed so far (the schema may have newer ones)
    cdef readonly int n_live
    cdef readonly int n_live_long   # live columns with a long line
    cdef readonly int n_distinct
    cdef bint is_stale          # whether a sparse column, or what histories know, has changed
                                #   since `distinct` was found
    cdef int n_rated            # the power of two below the number of samples of a growth then
    cdef Py_ssize_t n_words     # of `lines_of`, per slot
    cdef readonly int size          # number of stored samples
    cdef readonly int n_fresh
    cdef readonly int n_sorted      # size - n_fresh
    cdef readonly int64_t n_seen    # number of samples pushed so far
    cdef readonly int n_long        # number of long lines
    cdef int column_capacity        # number of lines
    cdef int n_lines                # capacity of `lines`
    cdef int n_lately               # live columns before the last `release` or `clear`

    cdef int reserve(self, int capacity, int n_columns, int n_new, int n_grown) except -1 nogil
    cdef int reserve_row(self, Schema schema, int capacity) except -1 nogil
    cdef int reserve_rows(self, Schema schema, const double* values, Py_ssize_t stride, int n,
                          int capacity) except -1 nogil
    cdef int reserve_one(self, Schema schema, int most=*) except -1 nogil
    cdef void find_latest(self, int64_t* latest) noexcept nogil
    cdef void mark_classes(self, uint8_t* held) noexcept nogil
    cdef void keep_columns(self, const uint8_t* held) noexcept nogil
    cdef int fill(self, object cells, object target, object weight, object arrival,
                  int n_sorted) except -1
    cdef int move(self, int capacity, int n_long, int n_short) except -1 nogil
    cdef void begin_column(self, int column, int slot) noexcept nogil
    cdef int begin_long(self) noexcept nogil
    cdef int grow_line(self, int column) noexcept nogil
    cdef void give(self, int column, int slot, double value) noexcept nogil
    cdef void mark(self, int line, int slot) noexcept nogil
    cdef void unmark(self, int line, int slot) noexcept nogil
    cdef void insert(self, int line, int slot, double value) noexcept nogil
    cdef void remove(self, int line, int slot) noexcept nogil
    cdef int give_all(self, object cells, int first, int stop) except -1
    cdef object cells(self)
    cdef tuple counts(self, int column)
    cdef bint is_marked(self, int column, int slot) noexcept nogil
    cdef void push(self, const double* values, Py_ssize_t stride, Schema schema, int n,
                   const double* targets, const double* weights, int* slots) noexcept nogil
    cdef void sort(self) noexcept nogil
    cdef int slide(self, Schema schema, double target, double weight, int gone) noexcept nogil
    cdef void release(self, const uint8_t* gone) noexcept nogil
    cdef void release_labels(self, const uint8_t* labels) noexcept nogil
    cdef int columns_of(self, int slot, int* columns) noexcept nogil
    cdef int check_codes(self, Schema schema, int n_labels) except -1
    cdef int slot_at(self, int i) noexcept nogil
    cdef bint has_sorted(self, int column, double value) noexcept nogil
    cdef int rank_of(self, int column, double value) noexcept nogil

    cdef inline double* values_in(self, Py_ssize_t line) noexcept nogil:
        if line >= self.n_long:     # what lies in other slots is of other lines
            return self.short_value + (line - self.n_long) - self.order_in(line)[0]
        return self.data + line * self.capacity

    cdef inline int* order_in(self, Py_ssize_t line) noexcept nogil:
        if line >= self.n_long:
            return self.short_order + (line - self.n_long)
        return self.order + line * self.capacity

    cdef inline double* values_of(self, int column) noexcept nogil:
        """The values of a live column by slot, to be read in slots that have a value."""
        return self.values_in(self.lines[column])

    cdef inline int* order_of(self, int column) noexcept nogil:
        """The sorted slots of a live column."""
        return self.order_in(self.lines[column])

    cdef inline bint is_short(self, int column) noexcept nogil:
        """Whether a live column has a short line."""
        return self.lines[column] >= self.n_long

    cdef inline int n_growing(self, int column) noexcept nogil:
        """Number of samples of a growth with a value in a live column."""
        cdef int line = self.lines[column]
        return self.n_ordered[line] if self.n_sorted else self.n_held[line]

    cdef inline int present(self, int column) noexcept nogil:
        """Number of samples of a growth with a value in a column."""
        if column >= self.n_columns or self.lines[column] < 0:
            return 0
        return self.n_growing(column)

    cdef inline bint is_few(self, int n) noexcept nogil:
        """Whether a column is sparse that so many samples of a growth have."""
        return 4 * <int64_t>n <= self.n_rated

    cdef inline bint is_sparse(self, int column) noexcept nogil:
        """Whether a live column is sparse."""
        return self.is_few(self.n_growing(column))

    cdef inline double value(self, Py_ssize_t column, int slot) noexcept nogil:
        if column >= self.n_columns or self.lines[column] < 0 or (
                self.lines[column] >= self.n_long and self.order_of(<int>column)[0] != slot):
            return NAN
        return self.values_of(<int>column)[slot]
