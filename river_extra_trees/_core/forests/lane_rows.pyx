"""The samples of a growth as rows of lanes. See the header."""

from libc.math cimport INFINITY, NAN, fabs
from libc.string cimport memcpy, memset

from ..allocation cimport resized
from ..split cimport VARIANCE
from .buffer cimport BYTE, DOUBLE, Entry, is_extreme, is_missing

cdef extern from "bits.h":
    int lowest_bit(uint64_t word) nogil

cdef extern from "lanes.h":
    void extend_extremes(double* low, double* high, int* has_missing, const double* values,
                         int n) nogil
    void encode(const double* const* values, int n, const int* positions, uint8_t* lane, int size,
                const double* offsets, const double* scales) nogil
    void encode_bytes(const uint8_t* const* values, int n, const int* positions, uint8_t* lane,
                      int size) nogil
    float encoded(double value, double offset, double scale) nogil
    float next_float(float x) nogil
    double next_double(double x, int direction) nogil
    double power_below(double magnitude) nogil

cdef enum:
    MEASURED = 4            # samples that tell enough of most columns
    PAGE = 4096             # bytes: a page of memory has at least so many


cdef inline const double* read_values(LaneRows rows, int column, int at, int n,
                                      double* gathered) noexcept nogil:
    """The values of n samples of a run from number `at` on, at most GATHERED.

    NULL if all of them are missing, since their block has no value of the column.
    """
    cdef const void* values
    if rows.is_scattered:
        rows.buffer.gather(column, rows.places + at, n, gathered, 1)
        return gathered
    values = rows.buffer.values_at(column, rows.places[at])
    if values == NULL or rows.buffer.has_doubles(column):
        return <const double*>values
    rows.buffer.widen(column, values, n, gathered, 1)
    return gathered


cdef inline const uint8_t* read_bytes(LaneRows rows, int column, int at, int n,
                                      uint8_t* gathered) noexcept nogil:
    """The values of n samples of a run, which are whole numbers from 0 to 255, or no column's."""
    cdef double[GATHERED] own
    cdef const double* values
    cdef int i
    if column < 0:
        memset(gathered, 0, n)
        return gathered
    if not rows.is_scattered and rows.buffer.columns[column].width == BYTE:
        return <const uint8_t*>rows.buffer.values_at(column, rows.places[at])
    values = read_values(rows, column, at, n, own)
    for i in range(n):
        gathered[i] = <uint8_t><int>values[i]
    return gathered


cdef inline void extend(Range* range_, const double* values, int n,
                        bint are_doubles) noexcept nogil:
    """Extend a range by n values, which floats represent if they are not stored as doubles."""
    cdef int i
    cdef double x
    for i in range(n):
        if not range_.is_small and not (are_doubles and range_.is_exact | range_.is_short):
            break
        x = values[i]
        range_.is_small = range_.is_small and 0.0 <= x <= 255.0 and x == <double><int>x
        if are_doubles:
            range_.is_exact &= is_missing(x) or (fabs(x) < 3e38 and x == <double><float>x)
            range_.is_short &= (bits_of(x) & 0x1fffffff) == 0
    extend_extremes(&range_.low, &range_.high, &range_.has_missing, values, n)


cdef inline uint64_t bits_of(double x) noexcept nogil:
    cdef uint64_t bits
    memcpy(&bits, &x, sizeof(bits))
    return bits


cdef inline bint is_narrow(const Range* range_) noexcept nogil:
    """Whether all values are within a factor of two: then differences are exact."""
    return (range_.low > 0.0 and range_.high <= 2.0 * range_.low
            or range_.high < 0.0 and range_.low >= 2.0 * range_.high)


cdef inline double largest_of(const Range* range_, double offset) noexcept nogil:
    return max(fabs(range_.low - offset), fabs(range_.high - offset))


cdef inline bint is_tiny(double largest) noexcept nogil:
    """Whether values up to this one nearly underflow as floats."""
    return largest <= 1e-30


cdef double largest_at(float threshold, double offset, double scale) noexcept nogil:
    """The largest double that is encoded as the threshold or less."""
    cdef double x = (0.5 * threshold + 0.5 * next_float(threshold)) / scale + offset
    while encoded(x, offset, scale) > threshold:
        x = next_double(x, -1)
    while encoded(next_double(x, 1), offset, scale) <= threshold:
        x = next_double(x, 1)
    return x


cdef class LaneRows:
    """The samples of a growth, as rows of lanes. See the header."""

    cdef int reserve_columns(self, int n_columns) except -1 nogil:
        """Allocate memory to offer any of so many columns."""
        cdef int i
        if n_columns > self.column_capacity:
            self.columns = <int*>resized(self.columns, n_columns, sizeof(int))
            self.nominal = <uint8_t*>resized(self.nominal, n_columns, 1)
            self.list_of = <int*>resized(self.list_of, n_columns, sizeof(int))
            self.marks = <uint64_t*>resized(
                self.marks, 2 * <size_t>(n_columns // 64 + 1), sizeof(uint64_t))
            self.marks_again = self.marks + n_columns // 64 + 1
            memset(self.list_of, 0, n_columns * sizeof(int))
            memset(self.marks, 0, 2 * <size_t>(n_columns // 64 + 1) * sizeof(uint64_t))
            self.evidence = <double*>resized(self.evidence, n_columns, sizeof(double))
            for i in range(self.column_capacity, n_columns):
                self.evidence[i] = LEAST_EVIDENCE
            self.column_capacity = n_columns
        return 0

    cdef void forget_evidence(self, const uint8_t* held) noexcept nogil:
        """Forget the evidence of all columns that are not held."""
        cdef int column
        for column in range(self.column_capacity):
            if not held[column]:
                self.evidence[column] = LEAST_EVIDENCE

    cdef void offer_column(self, Schema schema, int column) noexcept nogil:
        """Add a column to those of the next growth."""
        self.nominal[column] = schema.has_codes(column)
        self.has_nominal = self.nominal[column] or (self.n_offered > 0 and self.has_nominal)
        self.columns[self.n_offered] = column
        self.n_offered += 1

    cdef bint mark_entries(self, int place) noexcept nogil:
        """Mark the columns that a sample has; return False if it has no entries."""
        cdef const Entry* entries = self.buffer.entries_at(place)
        cdef int i
        for i in range(self.buffer.n_present_at(place) if entries != NULL else 0):
            self.mark(entries[i].column)
        return entries != NULL

    cdef void offer_marked(self, Schema schema, int wide) noexcept nogil:
        """Offer the columns that are marked, in ascending order; mark none.

        If these are too many, only those that two samples have: what one sample alone has only
        tells this sample from all others. `wide` is the place of a sample that has too many and
        has not marked them, or -1.
        """
        cdef uint64_t word
        cdef int i, column
        for i in range((schema.n_columns + 63) // 64 if wide >= 0 else 0):
            word = self.marks[i]
            while word:
                column = 64 * i + lowest_bit(word)
                if not is_missing(self.buffer.value(column, wide)):
                    self.mark(column)
                word &= word - 1
        self.offer_set(schema, self.marks, -1 if wide >= 0 else MOST_COLUMNS)
        if wide >= 0 or self.n_offered > MOST_COLUMNS:
            self.n_offered = 0
            self.offer_set(schema, self.marks_again, schema.n_columns)
        if schema.n_columns > 0:        # else there is no memory of marks
            memset(self.marks, 0, 2 * (self.marks_again - self.marks) * sizeof(uint64_t))

    cdef void offer_set(self, Schema schema, const uint64_t* set, int most) noexcept nogil:
        """Offer the columns of a set, in ascending order; one more than `most` ends it."""
        cdef int i
        cdef uint64_t word
        for i in range((schema.n_columns + 63) // 64):      # none, if there is no feature
            word = set[i]
            while word and self.n_offered <= most:
                self.offer_column(schema, 64 * i + lowest_bit(word))
                word &= word - 1

    cdef void find_runs(self) noexcept nogil:
        """List where the runs of samples begin that are read together.

        These are adjacent in a block of the buffer; or any, if most samples have no neighbours.
        """
        cdef int i = 0
        self.n_runs = 0
        while i < self.n_samples:
            self.spare[self.n_runs] = i
            self.n_runs += 1
            i += self.adjacent_from(i)
        self.is_scattered = 4 * self.n_runs > self.n_samples
        if self.is_scattered:
            self.n_runs = (self.n_samples + GATHERED - 1) // GATHERED
            for i in range(self.n_runs):
                self.spare[i] = i * GATHERED
        self.spare[self.n_runs] = self.n_samples

    cdef void measure_column(self, int k) noexcept nogil:
        """Find the range of the values of an offered column, as far as it decides about a lane."""
        cdef Range* range_ = &self.ranges[k]
        cdef int column = self.columns[k], width = self.buffer.columns[column].width, run, at, n
        cdef int most = MEASURED
        cdef bint is_told
        cdef const double* values
        cdef double[GATHERED] gathered
        range_.low, range_.high, range_.has_missing = INFINITY, -INFINITY, False
        range_.is_small = range_.is_exact = range_.is_short = True
        range_.kind = OTHERS
        if self.nominal[column]:
            return
        is_told = self.is_told(range_, width)
        for run in range(self.n_runs):
            at = self.spare[run]
            while at < self.spare[run + 1] and not is_told:
                n = min(self.spare[run + 1] - at, most)
                values = read_values(self, column, at, n, gathered)
                if values == NULL:
                    range_.has_missing = True
                else:
                    extend(range_, values, n, width == DOUBLE)
                at, most = at + n, GATHERED
                is_told = self.is_told(range_, width)
        if self.is_plain and not range_.has_missing:
            range_.kind = BYTES if range_.is_small and self.criterion != VARIANCE else FULL

    cdef inline bint is_told(self, const Range* range_, int width) noexcept nogil:
        """Whether the other values of a column change nothing; see `add_lanes`."""
        if not range_.has_missing and not (self.is_complete and (
                width == BYTE or self.criterion == VARIANCE or not range_.is_small)):
            return False
        return width != DOUBLE or not (
            range_.is_exact or is_narrow(range_) or self.buffer.has_extremes
            or is_tiny(largest_of(range_, 0.0)))

    cdef void assign_lanes(self) noexcept nogil:
        """Give each column a lane."""
        cdef int k, n_units
        cdef int[3] n
        n[0] = n[1] = n[2] = 0
        for k in range(self.n_offered):
            n[self.ranges[k].kind] += 1
        n_units = (n[BYTES] + n[FULL] + 3) // 4
        if (n[BYTES] + 15) // 16 + (n[FULL] + 3) // 4 >= n_units:       # bytes save nothing
            n[FULL] += n[BYTES]
            n[BYTES] = 0
            for k in range(self.n_offered):
                self.ranges[k].kind = max(self.ranges[k].kind, <int>FULL)
        self.lanes.n_bytes, self.lanes.n_full = (n[BYTES] + 15) // 16, (n[FULL] + 3) // 4
        self.lanes.n_other = (n[OTHERS] + 3) // 4
        self.lanes.size = 16 * (self.lanes.n_bytes + self.lanes.n_full + self.lanes.n_other)
        self.lanes.n_fast = 16 * self.lanes.n_bytes + 4 * self.lanes.n_full
        self.lanes.n_lanes = self.lanes.n_fast + 4 * self.lanes.n_other
        self.add_lanes(BYTES, 0, 16 * self.lanes.n_bytes)
        self.add_lanes(FULL, 16 * self.lanes.n_bytes, self.lanes.n_fast)
        self.add_lanes(OTHERS, self.lanes.n_fast, self.lanes.n_lanes)

    cdef void add_lanes(self, int kind, int lane, int stop) noexcept nogil:
        """Give the columns of a kind the lanes from `lane` on; those left up to `stop` get none."""
        cdef int k
        cdef Lane* this
        cdef const Range* range_
        cdef double largest
        for k in range(self.n_offered):
            if self.ranges[k].kind != kind:
                continue
            this, range_ = &self.of_lanes[lane], &self.ranges[k]
            this.column, this.is_byte, this.is_exact = self.columns[k], kind == BYTES, True
            this.offset, this.scale, this.number = 0.0, 1.0, range_.number
            if not range_.is_exact:
                this.is_exact = False
                if not range_.is_short and is_narrow(range_):
                    this.offset = range_.low
                largest = largest_of(range_, this.offset)
                if largest == 0.0:      # one value: later ones may differ from it
                    largest = fabs(range_.low)
                if is_extreme(largest) or is_tiny(largest):
                    this.scale = power_below(largest)
            lane += 1
        while lane < stop:
            this = &self.of_lanes[lane]
            this.column, this.is_byte, this.is_exact = -1, kind == BYTES, True
            this.offset, this.scale = 0.0, 1.0
            lane += 1

    cdef void touch_rows(self, int at, int n) noexcept nogil:
        """Write to the pages of n rows that the first split fills, or it would get all at once."""
        cdef size_t first = max(at * <size_t>self.lanes.size,
                                self.n_numbered * <size_t>self.n_samples * sizeof(float))
        cdef size_t stop = (at + n) * <size_t>self.lanes.size
        while first < stop:
            self.rows[1][first] = 0
            first += PAGE

    cdef void encode_run(self, int run) noexcept nogil:
        """Encode a run of samples, four lanes at a time."""
        cdef int lane, at, stop = self.spare[run + 1]
        for lane in range(0, self.lanes.n_lanes, 4):
            at = self.spare[run]
            while at < stop:
                if lane < 16 * self.lanes.n_bytes:
                    self.encode_byte_lanes(lane, at, min(stop - at, <int>GATHERED))
                else:
                    self.encode_lanes(lane, at, min(stop - at, <int>GATHERED))
                at += GATHERED

    cdef void encode_lanes(self, int lane, int at, int n) noexcept nogil:
        """Encode n samples in four lanes of floats; those without a column are missing."""
        cdef const Lane* these = &self.of_lanes[lane]
        cdef (const double*)[4] values
        cdef double[4][GATHERED] gathered
        cdef double[4] offsets, scales
        cdef int k, i
        for k in range(4):
            offsets[k], scales[k], values[k] = these[k].offset, these[k].scale, NULL
            if these[k].column >= 0 and self.nominal[these[k].column]:
                values[k] = gathered[k]
                for i in range(n):
                    gathered[k][i] = float_at(
                        self.numbers_of(these[k].number) + (at + i) * sizeof(float))
            elif these[k].column >= 0:
                values[k] = read_values(self, these[k].column, at, n, gathered[k])
            if values[k] != NULL:
                continue
            values[k] = gathered[k]
            for i in range(n):
                gathered[k][i] = NAN
        encode(values, n, self.positions + at, self.rows[0] + self.byte_of(lane), self.lanes.size,
               offsets, scales)

    cdef void encode_byte_lanes(self, int lane, int at, int n) noexcept nogil:
        """Encode n samples in four lanes of bytes; those without a column are 0."""
        cdef (const uint8_t*)[4] values
        cdef uint8_t[4][GATHERED] gathered
        cdef int k
        for k in range(4):
            values[k] = read_bytes(self, self.of_lanes[lane + k].column, at, n, gathered[k])
        encode_bytes(values, n, self.positions + at, self.rows[0] + lane, self.lanes.size)
