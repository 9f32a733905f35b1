"""The memory of one growth. See the header for the layout."""

from libc.stdint cimport uint8_t, uint64_t

from ..memory cimport calloc, free
from ..schema cimport Schema
from ..trees cimport Trees
from ..window cimport Window


cdef class Workspace:
    """Rules of growth, and scratch memory that serves one growth after the other."""

    def __dealloc__(self):
        free(self.block)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.block_bytes

    cdef int reserve(self, Trees trees, size_t n, size_t slots, size_t columns,
                     size_t classes) except -1:
        """Make room for growing a tree on n samples, in it and in the scratch memory."""
        trees.reserve(2 * <int>n, <int>classes)
        return self.reserve_scratch(trees, n, slots, columns, classes)

    cdef int reserve_scratch(self, Trees trees, size_t n, size_t slots, size_t columns,
                             size_t classes) except -1:
        cdef size_t bytes = columns // 8 + 1
        cdef size_t doubles = columns * n + 3 * n + 4 * classes + columns + classes * bytes
        cdef size_t ints = ((columns + 4) * n + 2 * slots + 2 * columns + max(n, columns)
                            + trees.capacity + 8 * classes * bytes)
        cdef size_t need = (doubles * sizeof(double) + n * sizeof(Group) + (n + 1) * sizeof(Task)
                            + ints * sizeof(int) + columns + n + n * bytes)
        if need > self.block_bytes:
            free(self.block)
            self.block_bytes = 0
            self.block = <char*>calloc(need + need // 2, 1)
            if self.block == NULL:
                raise MemoryError
            self.block_bytes = need + need // 2
        return 0

    cdef int prepare(self, Trees trees, Window window, Schema schema, const int* copies,
                     const uint8_t* chosen) except -1:
        """Lay out the scratch memory and fill what is known per slot and per column."""
        cdef size_t slots = window.capacity, columns = window.n_columns, n = window.n_sorted
        cdef size_t classes = trees.n_values, wider = max(n, columns), bytes = columns // 8 + 1
        cdef int i
        self.reserve(trees, n, slots, columns, classes)
        self.values = <double*>self.block
        self.target = self.values + columns * n
        self.mass = self.target + n
        self.centred = self.mass + n
        self.counts = self.centred + n
        self.waiting = self.counts + 3 * classes
        self.cuts = self.waiting + classes
        self.lanes = <uint64_t*>(self.cuts + columns)
        self.groups = <Group*>(self.lanes + classes * bytes)
        self.tasks = <Task*>(self.groups + n)
        self.ranked = <int*>(self.tasks + n + 1)
        self.samples = self.ranked + columns * n
        self.copies = self.samples + n
        self.code = self.copies + n
        self.slot_of = self.code + n
        self.group = self.slot_of + n
        self.sample_of = self.group + slots
        self.columns = self.sample_of + slots
        self.bit = self.columns + columns
        self.spare = self.bit + columns
        self.group_of_leaf = self.spare + wider
        self.high = self.group_of_leaf + trees.capacity
        self.nominal = <uint8_t*>(self.high + 8 * classes * bytes)
        self.left = self.nominal + columns
        self.bits = self.left + n
        self.here.counts = self.counts
        self.there.counts = self.counts + classes
        self.node.counts = self.counts + 2 * classes
        self.trees, self.window, self.n_columns = trees, window, columns
        self.n_chosen = 0
        for i in range(self.n_columns):
            self.nominal[i] = schema.codes[i] is not None
            if chosen == NULL or chosen[i]:
                self.columns[self.n_chosen] = i
                self.n_chosen += 1
        return 0
