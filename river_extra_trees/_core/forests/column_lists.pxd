"""The columns of a wide growth, which a node draws and visits one by one.

A growth is wide if it is offered many more columns than a node tries, or if its samples have few
values, such as the words of a text. The samples of a node are a list of *rows*: numbers of the
samples in the order of their classes. If they have few values, a column that at most half of the
samples have is *listed*: each node has a list of its *entries*, its rows with a value of the
column. All other columns are read from the buffer of the samples. Of a few lists that
a node draws, it visits the fullest. Two samples are split by any column, so there are no lists.

The lists are doubly linked, in ascending order of the rows. A split moves the rows of its *lighter*
child alone, and their entries: they leave the lists of the node, which become those of the other
child. So an unbalanced split costs little: an entry moves log2(rows and entries) times at most.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t

from ..split cimport Split
from .candidates cimport Candidates, Side
from .lane_rows cimport Task

cdef enum:
    MOST_COUNTED = 16       # classes of a growth whose lists count their entries per class

cdef struct Link:           # an entry or, with the number `n_values` + list, the head of a list
    double value            # of a head: that of all entries in the root; NaN if they differ
    int row                 # of a head: the number of its entries
    int next, previous      # of a head: the first and the last entry
    int list                # of an entry: its list; of a head: the column

cdef class ColumnLists(Candidates):
    cdef int max_features
    cdef bint is_wide
    cdef bint is_sparse                 # whether columns are listed
    cdef bint only_counts               # all statistics are numbers of samples per class
    cdef bint has_class_counts          # of the lists
    cdef int n_classes
    cdef int n_values                   # of the samples of the growth, if it is sparse
    cdef readonly int64_t n_steps       # number of steps since `begin`
    cdef int n_listed                   # number of columns that are listed
    cdef int n_left, n_lists_left       # columns and lists of the task that are not drawn yet
    cdef int n_visited                  # drawn ones that vary
    cdef int best_list                  # of the best candidate of a listed column
    cdef int n_picked                   # rows of the lighter child ...
    cdef bint picked_left               # ... and its side ...
    cdef int64_t picked_load            # ... and load, see `Task`

    # Per row:
    cdef int* next_row                  # the rows of a task: from `task.head` on; -1: the end
    cdef int* previous_row
    cdef int* class_of                  # code of its class
    cdef int* spot_of                   # its number among the rows of the task, if they were listed
    cdef int* picked                    # the rows of the lighter child
    cdef uint8_t* sides                 # scratch of `keep_lighter`, all 0; see `Growth`
    cdef int* bounds                    # entries_of[bounds[row] : bounds[row + 1]]: of the row
    cdef int* entries_of                # entries, by column
    # Per class, or segment of the task:
    cdef int* segment_of                # of a class: its segment in the task
    cdef int* lefts                     # samples of a segment that go left
    # Per entry of the list that is visited, if it is nominal:
    cdef double* weights_of
    cdef double* targets_of
    cdef int* segments_of
    # Per entry, by column; then per list:
    cdef Link* links
    # Per list: those of a task are table[task.table : task.table + task.n_lists]; the numbers of
    # all lists in use are below `task.top`.
    cdef int* table
    cdef int* class_counts_of           # class_counts_of[list * n_classes + class]
    cdef int* new_lists                 # scratch, all -1: of a list, the one in the lighter child;
                                        #   of that, the former
    # Per offered column, or list of the root:
    cdef int* ends                      # of its entries; before: their number

    cdef int lay_out_lists(self, size_t* end, size_t n_samples) except -1 nogil
    cdef size_t most_lists(self) noexcept nogil
    cdef void begin_lists(self) noexcept nogil
    cdef void count_entries(self, int row) noexcept nogil
    cdef void choose_lists(self) noexcept nogil
    cdef void fill_entries(self, int row) noexcept nogil
    cdef void close_lists(self) noexcept nogil
    cdef void list_rows(self, const Task* task) noexcept nogil
    cdef void open_lists(self) noexcept nogil
    cdef bint visit_columns(self) noexcept nogil
    cdef void visit_column(self, int j) noexcept nogil
    cdef void visit_list(self, int list_) noexcept nogil
    cdef void drop_list(self, int list_) noexcept nogil
    cdef void visit_constant(self, const Link* head, int list_) noexcept nogil
    cdef int read_entries(self, const Link* head) noexcept nogil
    cdef bint order_entries(self) noexcept nogil
    cdef void visit_nominal_list(self, const Link* head, int list_) noexcept nogil
    cdef bint divide_values(self, const Link* head) noexcept nogil
    cdef void divide_value(self, const Link* head, int number) noexcept nogil
    cdef void find_others(self, Side* side) noexcept nogil
    cdef void divide_entries(self, const Link* head, double threshold) noexcept nogil
    cdef void pick_entries(self, const Split* split) noexcept nogil
    cdef void pick_values(self, const Split* split) noexcept nogil
    cdef void pick(self, int row) noexcept nogil
    cdef void keep_lighter(self) noexcept nogil
    cdef void find_sides(self) noexcept nogil
    cdef void move_lighter(self, Task* lighter, Task* other, bint keeps_lighter,
                           bint keeps_other) noexcept nogil
    cdef void move_entry(self, int entry, Task* lighter, bint keeps_lighter) noexcept nogil

    @cython.final
    cdef inline void add_row(self, Side* side, int row) noexcept nogil:
        """Add a row of the task to a side."""
        if self.only_counts:
            side.n += 1
            side.weight += 1.0
            side.counts[self.segment_of[self.class_of[row]]] += 1.0
        else:
            self.add(side, self.spot_of[row])

    @cython.final
    cdef inline int load_of(self, int row) noexcept nogil:
        """1, and the number of entries of the row."""
        return 1 + (self.bounds[row + 1] - self.bounds[row] if self.is_sparse else 0)
