"""The samples of a growth as rows, in which each column has a lane; see `lanes.h`.

A lane holds floats or bytes; of a nominal column the number of a value among those of the growth,
which are found once: nodes number their values by it. Doubles that floats do not represent are
rounded; if all values of a column are within a factor of two, such as times, their smallest is
subtracted before.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from ..schema cimport Schema
from .buffer cimport Buffer

cdef extern from "lanes.h":
    ctypedef struct Lanes:
        int n_bytes, n_full, n_other, size, n_fast, n_lanes

    ctypedef struct Segment:
        int code, n

cdef enum:
    GATHERED = 64           # samples whose values are read together

cdef enum:                  # the kind of a column in the rows:
    BYTES = 0               # whole numbers from 0 to 255
    FULL = 1                # other numbers, none is missing
    OTHERS = 2              # nominal, with missing values, or all columns if not `is_plain`

cdef enum:
    MOST_COLUMNS = 1024     # of which a growth takes those, too, that one sample has
    LEAST_EVIDENCE = 1      # of a candidate; a column has it before its first growth

cdef struct Range:          # of the values of a column in a growth
    double low, high
    int has_missing
    bint is_small           # whole numbers from 0 to 255, none is missing
    bint is_exact           # a float represents each value ...
    bint is_short           # ... or does so but for a power of two
    int kind                # see above
    int number              # of a nominal column among those

cdef struct Lane:           # a column in the rows; a value x is encoded as (x - offset) * scale
    int column
    bint is_byte
    double offset, scale
    bint is_exact           # offset 0, scale 1, and no value is rounded
    int number              # of a nominal column among those

cdef struct Task:           # a leaf to be split
    int node, depth
    int start, n            # its rows
    int side                # the buffer of its rows
    int n_segments          # its segments are on top of `segments`
    # Wide, see `column_lists`:
    int n_active            # columns[:n_active] contains all columns that may vary in it
    int head                # its first row; it is then in `items`[1], if it was listed
    int table, n_lists      # its lists
    int top                 # the numbers of all lists that are in use are below
    int64_t load            # number of its rows and of their entries

cdef inline float float_at(const uint8_t* at) noexcept nogil:
    """A float of a row. Rows also hold bytes, so it may not be aligned."""
    cdef float value
    memcpy(&value, at, sizeof(float))
    return value

cdef class LaneRows:
    cdef readonly int criterion
    cdef Buffer buffer                  # the samples
    cdef int n_samples
    cdef bint is_plain                  # all weights are the same power of two
    cdef double unit                    # power of two by which weights are multiplied in scores
    cdef Task task                      # current task
    cdef Lanes lanes
    cdef int n_runs                     # of samples that are read together, from `spare` on
    cdef bint is_scattered              # whether these are not adjacent
    cdef bint is_complete               # no sample lacks a value; not told of every such growth

    # Memory per column, kept.
    cdef int* columns                   # those that were offered
    cdef int n_offered
    cdef bint has_nominal               # whether one of these is nominal
    cdef int n_numbered                 # of these, whose values have numbers, ...
    cdef int most_values                # ... of a column at most so many
    cdef uint8_t* nominal               # by number of the column: whether it is nominal
    cdef double* evidence               # that a column tells something, see `candidates`
    cdef int* list_of                   # in `column_lists`: number in `columns`, then of its
                                        # list in the root; -1: it is not listed
    # Sets of columns, see `offer_marked`, which empties them:
    cdef uint64_t* marks                # those that a sample has ...
    cdef uint64_t* marks_again          # ... or two samples have
    cdef int column_capacity
    # All other arrays of a growth are parts of one memory block, see `Growth.lay_out`.
    cdef Lane* of_lanes                 # per lane
    cdef Range* ranges                  # per offered column
    # Per sample, in the order in which they were given:
    cdef int* places
    cdef int* positions                 # in the root
    cdef int* spare
    # Per row:
    cdef (uint8_t*)[2] rows             # until ENCODE, `numbers_of` are in the second one
    cdef (int*)[2] items                # numbers of the samples

    cdef int reserve_columns(self, int n_columns) except -1 nogil
    cdef void forget_evidence(self, const uint8_t* held) noexcept nogil
    cdef void offer_column(self, Schema schema, int column) noexcept nogil
    cdef bint mark_entries(self, int place) noexcept nogil
    cdef void offer_marked(self, Schema schema, int wide) noexcept nogil
    cdef void offer_set(self, Schema schema, const uint64_t* set, int most) noexcept nogil
    cdef void find_runs(self) noexcept nogil
    cdef void measure_column(self, int k) noexcept nogil
    cdef bint is_told(self, const Range* range_, int width) noexcept nogil
    cdef void assign_lanes(self) noexcept nogil
    cdef void add_lanes(self, int kind, int lane, int stop) noexcept nogil
    cdef void touch_rows(self, int at, int n) noexcept nogil
    cdef void encode_run(self, int run) noexcept nogil
    cdef void encode_lanes(self, int lane, int at, int n) noexcept nogil
    cdef void encode_byte_lanes(self, int lane, int at, int n) noexcept nogil

    @cython.final
    cdef inline void mark(self, int column) noexcept nogil:
        cdef uint64_t bit = <uint64_t>1 << (column & 63)
        self.marks_again[column >> 6] |= self.marks[column >> 6] & bit
        self.marks[column >> 6] |= bit

    @cython.final
    cdef inline int adjacent_from(self, int i) noexcept nogil:
        """How many samples from sample i on are adjacent in a block of the buffer."""
        cdef const int* places = self.places + i
        cdef int n = self.buffer.n_adjacent(places[0], self.n_samples - i)
        if places[n - 1] != places[0] + n - 1:      # places are in the order of arrival
            n = 1
            while places[n] == places[0] + n:
                n += 1
        return n

    @cython.final
    cdef inline size_t byte_of(self, int lane) noexcept nogil:
        """The place of a lane in a row."""
        return lane + 3 * max(0, lane - 16 * self.lanes.n_bytes)

    @cython.final
    cdef inline uint8_t* numbers_of(self, int number) noexcept nogil:
        """The numbers of the values of a nominal column, as floats."""
        return self.rows[1] + <size_t>number * self.n_samples * sizeof(float)

    @cython.final
    cdef inline const uint8_t* own_rows(self) noexcept nogil:
        """The rows of the task."""
        return self.rows[self.task.side] + <size_t>self.task.start * self.lanes.size

    @cython.final
    cdef inline const int* own_items(self) noexcept nogil:
        """The samples of the task."""
        return self.items[self.task.side] + self.task.start

    @cython.final
    cdef inline double weight(self, int item) noexcept nogil:
        """The weight of a sample in scores."""
        return self.unit * self.buffer.weight(self.places[item])

cdef double largest_at(float threshold, double offset, double scale) noexcept nogil
