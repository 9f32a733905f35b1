"""Batches: samples as columns, and a reader of their rows. See the header."""

from libc.math cimport NAN
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from .ahead cimport Ahead
from .columns cimport Column
from .links cimport (
    LOOK_UP, IGNORED, NEW, UNKNOWN, UNSEEN, Link, Rows, encode_codes, encode_numbers, look_up_all
)
from .memory cimport free, zeroed
from .values cimport order_of
from .shares cimport first_largest, total_of
from .schema cimport MAX_CATEGORIES, MAX_LABELS, OTHER, Labels, Schema, find_room

import numpy as np

cdef enum:
    # Places of errors in a row, in the order in which a sample is read. The columns are 0, 1, ...
    WEIGHT = -3
    TARGET = -2


cdef class Batch:
    """Samples as columns. See the header.

    Parameters
    ----------
    n
        Number of rows.
    columns
        One per feature.
    targets
        Numbers, or codes of labels; None if the samples have no targets.
    weights
        Numbers; None if all weights are 1.
    """

    def __cinit__(self, Py_ssize_t n, list columns, Column targets=None, Column weights=None):
        self.n, self.columns, self.targets, self.weights = n, columns, targets, weights
        for column in [*columns, targets, weights]:
            if column is not None and (<Column?>column).length != n:
                raise ValueError(f"a column of {column.length} rows in a batch of {n}")

    def __reduce__(self):
        return Batch, (self.n, self.columns, self.targets, self.weights)

    def __len__(self):
        return self.n

    def is_refused(self):
        """Whether a value is invalid, or a name cannot be sorted among other names."""
        for column in [*self.columns, self.targets, self.weights]:
            if column is not None and (<Column>column).refused >= 0:
                return True
        try:
            for column in self.columns:
                order_of(((<Column>column).name, False, None))
        except (TypeError, ValueError):
            return True
        return False


cdef Py_ssize_t first_of(Column column, bint nominal):
    """The first row with a number, or with a nominal value; -1 if there is none."""
    cdef object filled
    if nominal:
        filled = None if column.codes is None else column.codes >= 0
    else:
        filled = None if column.numbers is None else column.numbers == column.numbers
    return -1 if filled is None or not filled.any() else int(filled.argmax())


cdef object numbers_of(Column column):
    """The numbers of a column of targets or weights."""
    if column.numbers is None:
        raise ValueError("a column of targets or weights holds no numbers")
    return column.numbers


def order_of_first(tuple feature):
    """Sort key of a result of `Reader.new_features`."""
    return order_of(feature[0])


cdef int code_for(Schema schema, int column, object value) except? -1:
    """The code of a nominal value in a column; a new one if there is room."""
    cdef dict codes = <dict>schema.codes[column]
    if len(codes) >= MAX_CATEGORIES:
        return codes.get(value, OTHER)
    schema.before_code(column, codes)
    return codes.setdefault(value, len(codes))


cdef class Reader:
    """A reader of the rows of a batch for a learner. See the header.

    Parameters
    ----------
    batch
        The samples.
    learns
        Whether the learner learns them.
    chosen
        Array of the numbers of the rows to read, in this order; None: all rows.
    """

    def __cinit__(self, Batch batch, bint learns, chosen=None):
        cdef size_t n_known = 0
        cdef int* known
        cdef int i
        cdef Column column
        self.batch, self.n, self.learns = batch, batch.n, learns
        if chosen is not None:
            self.choose(chosen)
        self.n_chosen = self.n
        self.ahead = Ahead()
        self.links = <Link*>zeroed(max(1, len(batch.columns)), sizeof(Link))
        self.n_labels = -1
        if learns:
            self.take_targets()
        for column in batch.columns if batch.n else ():
            link = &self.links[self.n_links]
            if column.number_view is not None:
                link.numbers = <const char*>&column.number_view[0]
                link.number_stride = column.number_view.strides[0]
            if column.codes is not None:
                link.codes = <const char*>&column.code_view[0]
                link.code_stride = column.code_view.strides[0]
            link.n_values = <int>len(column.values)
            link.are_distinct = column.are_distinct
            n_known += link.n_values
            self.n_links += 1
        self.known = known = <int*>zeroed(max(<size_t>1, n_known), sizeof(int))
        for i in range(self.n_links):
            self.links[i].known = known
            known += self.links[i].n_values

    cdef int choose(self, chosen) except -1:
        """Restrict the reader to these rows."""
        self.chosen, self.is_chosen = chosen, True
        self.n = self.chosen.shape[0]
        if self.n and not 0 <= chosen.min() <= chosen.max() < self.batch.n:
            raise IndexError(f"there is no such row: the batch has {self.batch.n}")
        return 0

    cdef int take_targets(self) except -1:
        cdef Column targets = self.batch.targets, weights = self.batch.weights
        if targets is None:
            raise ValueError("this batch has no targets to learn")
        self.has_labels = targets.codes is not None
        if self.has_labels:
            self.label_targets = targets.codes
            self.label_codes = <int*>zeroed(max(1, len(targets.values)), sizeof(int))
        else:
            self.number_targets = numbers_of(targets)
        self.is_weighted = weights is not None
        if self.is_weighted:
            self.weights = numbers_of(weights)
        return 0

    def __dealloc__(self):
        free(self.links)
        free(self.known)
        free(self.label_codes)

    def ask(self, bint regression, n_labels=None):
        """Store predictions: numbers or labels; if n_labels is given, shares of the labels."""
        self.asks = True
        self.asks_shares = n_labels is not None
        self.asks_numbers = regression and not self.asks_shares
        self.asks_labels = not regression and not self.asks_shares
        if n_labels is not None:
            self.shares = self.share_answers = np.full((self.n_chosen, n_labels), NAN)
        elif regression:
            self.numbers = self.number_answers = np.empty(self.n_chosen)
        else:
            self.labels = self.label_answers = np.empty(self.n_chosen, dtype=np.intp)

    cdef int link(self, Schema schema, Labels labels) except -1:
        """Look up the columns of the schema, unless the links are valid."""
        cdef Link* link
        cdef Column column
        cdef int i, code
        cdef bint is_full = schema.n_columns == schema.max_columns
        if self.schema is not schema or self.version != schema.version:
            for i in range(self.n_links):
                link, column = &self.links[i], <Column>self.batch.columns[i]
                link.numeric = schema.numeric.get(column.name, IGNORED if is_full else UNKNOWN)
                link.nominal = schema.nominal.get(column.name, IGNORED if is_full else UNKNOWN)
                if link.nominal >= 0 and not self.is_chosen:
                    look_up_all(schema, column, link)
                else:                   # chosen rows may not contain all values
                    for code in range(link.n_values):
                        link.known[code] = UNKNOWN if link.nominal < 0 else UNSEEN
            if self.schema is not schema:
                self.n_labels = -1      # another learner
            self.schema, self.version = schema, schema.version
        if self.has_labels and self.n_labels != len(labels.labels):
            self.link_labels(labels)
        return 0

    cdef int link_labels(self, Labels labels) except -1:
        cdef list values = self.batch.targets.values
        cdef int code
        for code in range(len(values)):
            self.label_codes[code] = labels.known.get(values[code], UNKNOWN)
        self.n_labels = len(labels.labels)
        return 0

    cdef bint read(self) except -1:
        """Encode the next row as `Schema.encode` does.

        Returns whether the schema knows all its features and nominal values.
        """
        cdef uint8_t mark
        self.encode(self.schema.row, 1, 1, &mark)
        if mark & LOOK_UP:
            self.look_up()
            self.encode(self.schema.row, 1, 1, &mark)
        return not mark & NEW

    cdef int look_up(self) except -1:
        """Look up the nominal values of the next row whose codes are UNSEEN or UNKNOWN.

        A value may no longer be unknown: the schema may have learned an equal value of another
        type since the last look-up, unless the values of the column are distinct.
        """
        cdef Py_ssize_t place = self.place(self.row)
        cdef const Link* link
        cdef int i, code
        for i in range(self.n_links):
            link = &self.links[i]
            if link.codes == NULL or link.nominal < 0:
                continue
            code = (<const int*>(link.codes + place * link.code_stride))[0]
            if 0 <= code < link.n_values and link.known[code] in (UNSEEN, UNKNOWN):
                link.known[code] = (<dict>self.schema.codes[link.nominal]).get(
                    (<Column>self.batch.columns[i]).values[code], UNKNOWN)
        return 0

    cdef int read_ahead(self, Py_ssize_t stop, int room, bint regression) noexcept nogil:
        """Read the next rows that need no Python code into `ahead`; return their number.

        At most `room` of them have a positive weight, so that the learner has memory for them.
        """
        cdef int i, n = <int>min(stop - self.row, <Py_ssize_t>self.ahead.most)
        self.ahead.most = min(2 * self.ahead.most, self.ahead.stride)
        if self.learns:
            n = self.read_targets(n, room, regression)
        self.encode(self.ahead.values, self.ahead.stride, n, self.ahead.marks)
        for i in range(n):
            if self.ahead.marks[i] & LOOK_UP or (
                    self.ahead.marks[i] and self.ahead.weights[i] > 0.0):
                self.ahead.most = max(i, 1)     # new values often come in succession
                return i
        return n

    cdef int read_targets(self, int n, int room, bint regression) noexcept nogil:
        """Read the targets and weights of the next n rows; return how many were read.

        Fewer are read before a new label, and after the last row for which the learner has room.
        """
        cdef Py_ssize_t start = self.row
        cdef int i
        for i in range(n):
            self.row = start + i
            self.ahead.weights[i] = self.weight()
            if self.ahead.weights[i] > 0.0:
                self.ahead.targets[i] = self.target()
                if room <= 0 or (not regression and self.ahead.targets[i] < 0.0):
                    n = i
                    break
                room -= 1
                if room == 0:       # trees may grow before the next row is predicted
                    n = i + 1
                    break
        self.row = start
        return n

    cdef void encode(self, double* values, Py_ssize_t stride, int n, uint8_t* marks) noexcept nogil:
        """Encode the next n rows: values[column * stride + i] is a value of the i-th of them.

        marks[i] tells what only Python code can do for that row; see `links`.
        """
        cdef Rows rows
        cdef Py_ssize_t column
        cdef int i
        rows.n, rows.first, rows.chosen = n, self.row, NULL
        if self.is_chosen:
            rows.chosen = &self.chosen[self.row]
        memset(marks, 0, n)
        for i in range(n):
            values[i] = NAN
        for column in range(1, self.schema.n_columns):
            memcpy(values + column * stride, values, n * sizeof(double))
        for i in range(self.n_links):
            encode_numbers(&self.links[i], &rows, values, stride, marks)
            encode_codes(&self.links[i], &rows, self.learns, values, stride, marks)

    cdef int admit(self) except -1:
        """Add new features and values of the next row, as `Schema.admit` does; encode the row.

        The row has been encoded by `read`.
        """
        cdef Py_ssize_t place = self.place(self.row)
        cdef list fresh = self.new_features() if self.has_new_features() else None
        cdef Link* link
        cdef int i, code
        self.schema.extend([feature for feature, _, _ in fresh] if fresh else None)
        self.version = self.schema.version
        try:
            if fresh:
                self.relink(fresh)
            for i in range(self.n_links):
                link = &self.links[i]
                if link.codes != NULL and link.nominal >= 0:
                    code = (<const int*>(link.codes + place * link.code_stride))[0]
                    if 0 <= code < link.n_values and link.known[code] == UNKNOWN:
                        link.known[code] = code_for(
                            self.schema, link.nominal, (<Column>self.batch.columns[i]).values[code])
                        self.schema.row[link.nominal] = link.known[code]
            if fresh:
                self.read()
        except BaseException:
            self.schema.retract()       # `link` then repeats all look-ups
            raise
        return 0

    cdef bint has_new_features(self) noexcept:
        """Whether a feature that may have a value in the next row has no column."""
        cdef int i
        for i in range(self.n_links):
            if ((self.links[i].numbers != NULL and self.links[i].numeric == UNKNOWN)
                    or (self.links[i].codes != NULL and self.links[i].nominal == UNKNOWN)):
                return True
        return False

    cdef list new_features(self):
        """The new features of the next row, in the order of their columns.

        Each is what `Schema.extend` takes, with the number of the column in the batch and the code.
        """
        cdef Py_ssize_t place = self.place(self.row)
        cdef list found = []
        cdef const Link* link
        cdef Column column
        cdef double number
        cdef int i, code
        for i in range(self.n_links):
            link, column = &self.links[i], <Column>self.batch.columns[i]
            if link.numbers != NULL and link.numeric == UNKNOWN:
                number = (<const double*>(link.numbers + place * link.number_stride))[0]
                if number - number == 0.0:
                    found.append(((column.name, False, None), i, 0))
            if link.codes != NULL and link.nominal == UNKNOWN:
                code = (<const int*>(link.codes + place * link.code_stride))[0]
                if 0 <= code < link.n_values:
                    found.append(((column.name, True, column.values[code]), i, code))
        if found:
            found.sort(key=order_of_first)
        return found

    cdef int relink(self, list fresh) except -1:
        """Update the links after `admit` added new features, or had no room for them."""
        cdef Link* link
        cdef int i, code
        for (name, is_nominal, value), i, code in fresh:
            link = &self.links[i]
            if not is_nominal:
                link.numeric = self.schema.numeric.get(name, IGNORED)
                continue
            link.nominal = self.schema.nominal.get(name, IGNORED)
            if link.nominal >= 0:
                link.known[code] = (<dict>self.schema.codes[link.nominal]).get(value, OTHER)
        return 0

    cdef void answer(self, Py_ssize_t row, const double* shares, int n) noexcept nogil:
        """Store the prediction for a row from the shares of n labels, or from one number."""
        if self.asks_numbers:
            self.number_answers[row] = shares[0]
        elif self.asks_shares:
            self.put_shares(row, shares, n)
        elif self.asks_labels:
            self.label_answers[row] = first_largest(shares, n) if n else -1

    cdef void put_shares(self, Py_ssize_t row, const double* shares, int n) noexcept nogil:
        """Store the shares of the first n labels as the prediction for a row."""
        cdef double total = total_of(shares, n)
        cdef int code
        # Between two calls of `go_on`, another thread may learn labels that have no column here.
        for code in range(<int>min(n, self.share_answers.shape[1])):
            self.share_answers[row, code] = shares[code] / total

    cdef double find_label(self, Labels labels) except? -1.0:
        """The code of the next label if the learner has learned an equal one by now; or -1."""
        cdef int code = self.label_targets[self.place(self.row)]
        self.label_codes[code] = labels.known.get(self.label(), UNKNOWN)
        return max(-1, self.label_codes[code])

    cdef object label(self):
        return self.batch.targets.values[self.label_targets[self.place(self.row)]]

    cdef void name_label(self, int code) noexcept nogil:
        """Record the code that the label of the next row received."""
        self.label_codes[self.label_targets[self.place(self.row)]] = code
        self.n_labels += 1

    # --- Errors -------------------------------------------------------------------------------

    cdef list refusals(self):
        """(row, place in the row, error) of invalid weights, targets, features and names."""
        cdef list found = []
        cdef Column column
        cdef int i
        for i in range(self.n_links):
            column = <Column>self.batch.columns[i]
            if column.refused >= 0:
                found.append((column.refused, i, column.error))
        if self.learns:
            for i, column in ((WEIGHT, self.batch.weights), (TARGET, self.batch.targets)):
                if column is not None and column.refused >= 0:
                    found.append((column.refused, i, column.error))
            self.refuse_names(found)
        return found

    cdef int go_between(self, Py_ssize_t start, Py_ssize_t stop) except -1:
        """Set the range of positions that the next learner reads."""
        if not 0 <= start <= stop <= self.n_chosen:
            raise IndexError(
                f"there are no rows {start} to {stop}: the reader has {self.n_chosen} rows")
        self.row, self.n, self.answered = start, stop, False
        return 0

    cdef int refuse_names(self, list found) except -1:
        """Add the errors of new feature names that cannot be sorted among other names."""
        cdef Column column
        cdef int i
        for i in range(self.n_links):
            column = <Column>self.batch.columns[i]
            for is_nominal in (False, True):
                if (self.links[i].nominal if is_nominal else self.links[i].numeric) >= 0 or (
                        column.codes if is_nominal else column.numbers) is None:
                    continue
                try:
                    order_of((column.name, is_nominal, None))
                except (TypeError, ValueError) as error:
                    row = first_of(column, is_nominal)
                    if row >= 0:
                        found.append((row, self.n_links, error))
        return 0

    cdef int refuse_labels(self, Labels labels, list found) except -1:
        """Add an error for the first label that would exceed MAX_LABELS.

        Raises an IndexError if a code before the first error is no code of a label.
        """
        cdef Column targets = self.batch.targets
        cdef Py_ssize_t row, stop, place
        cdef int code, n_values = <int>len(targets.values)
        stop = min([row for row, _, _ in found], default=self.n)
        for row in range(self.row, stop):
            code = self.label_targets[self.place(row)]
            if not 0 <= code < n_values:
                raise IndexError(f"row {row}: the target has code {code}, of {n_values} labels")
        if len(labels.labels) + len(targets.values) <= MAX_LABELS:
            return 0
        coming = set()
        stop = min([row for row, _, _ in found], default=self.n - 1)
        for row in range(self.row, stop + 1):
            place = self.place(row)
            code = self.label_targets[place]
            if code < 0 or self.label_codes[code] >= 0 or targets.values[code] in coming:
                continue
            try:
                find_room(targets.values[code], len(labels.labels) + len(coming))
            except ValueError as error:
                found.append((row, self.n_links + 1, error))
                break
            if not self.is_weighted or self.weights[place] > 0.0:
                coming.add(targets.values[code])
        return 0
