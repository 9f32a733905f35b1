"""Tables: samples as columns, and a reader of their rows. See the header."""

from libc.math cimport NAN
from libc.string cimport memcpy, memset

from .shares cimport first_largest
from .codes cimport code_of
from .allocation cimport product
from .schema cimport MAX_LABELS

import numpy as np

cdef enum:
    # Places of errors in a row, in the order in which a sample is read. The columns are 0, 1, ...
    WEIGHT = -3
    TARGET = -2
    CELLS = 1 << 14     # number of values (128 KB) that limits the rows of many columns ...
    FEWEST = 8          # ... and the minimum number of rows, whatever the number of columns


cdef class Table:
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
        for column in self.all_columns():
            if (<Column?>column).length != n:
                raise ValueError(f"a column of {column.length} rows in a table of {n}")

    def __len__(self):
        return self.n

    cdef list all_columns(self):
        return [each for each in [*self.columns, self.targets, self.weights] if each is not None]


cdef object numbers_of(Column column):
    """The numbers of a column of targets or weights."""
    if column.numbers is None:
        raise ValueError("a column of targets or weights holds no numbers")
    return column.numbers


cdef class Ahead(Owner):
    """Rows of a batch that are read ahead. See the header."""

    def __cinit__(self):
        self.n_columns = -1

    cdef int reserve(self, size_t n_columns) except -1:
        """Allocate memory for rows of n_columns columns, all missing if there was none."""
        cdef size_t cell, n_cells, n_rows = min(<size_t>AHEAD, CELLS // max(n_columns, <size_t>1))
        if <int>n_columns == self.n_columns and self.least <= self.stride:
            return 0
        self.n_columns = -1
        n_rows = max(n_rows, <size_t>FEWEST, <size_t>self.least)
        n_cells = product(max(n_columns, <size_t>1), n_rows)
        if n_cells > self.n_cells:
            self.resize(&self.values, n_cells, sizeof(double))
            self.n_cells = n_cells
        self.stride = <int>n_rows
        self.most = self.stride if self.most == 0 else min(self.most, self.stride)
        for cell in range(n_cells):
            self.values[cell] = NAN
        self.n_columns = <int>n_columns
        return 0

    cdef int reserve_leaves(self, size_t n_trees, size_t n_labels) except -1:
        """Allocate memory for the leaves in n_trees trees, and their votes for n_labels labels.

        There is memory even without trees or labels, because C functions accept no null pointers.
        """
        cdef size_t n_leaves = product(max(n_trees, <size_t>1), self.stride)
        cdef size_t n_votes = product(max(n_labels, <size_t>1), self.stride)
        if n_leaves > self.n_leaves:
            self.resize(&self.leaves, n_leaves, sizeof(int))
            self.n_leaves = n_leaves
        if n_votes > self.n_votes:
            self.resize(&self.votes, n_votes, sizeof(double))
            self.n_votes = n_votes
        return 0

    cdef void copy(self, int i, double* row, const int* columns, int n) noexcept nogil:
        """Copy the values of row i in n columns to `row`."""
        cdef int k
        for k in range(n):
            row[columns[k]] = self.values[<Py_ssize_t>columns[k] * self.stride + i]


cdef class RowReader(Owner):
    """A reader of the rows of a table for a learner. See the header.

    Parameters
    ----------
    table
        The samples.
    learns
        Whether the learner learns them.
    """

    def __cinit__(self, Table table, bint learns):
        cdef Link* link
        cdef Column column
        self.table, self.n, self.learns = table, table.n, learns
        self.ahead, self.team = Ahead(), Team()
        self.renew(&self.links, max(1, len(table.columns)), sizeof(Link))
        self.renew(&self.columns, max(1, 2 * len(table.columns)), sizeof(int))
        self.names, self.numbers_of_names = [], {}
        if learns:
            self.read_targets_of(table)
        for column in table.columns if table.n else ():
            link = &self.links[self.n_links]
            if column.number_view is not None:
                link.numbers = <const char*>&column.number_view[0]
                link.stride = column.number_view.strides[0]
            if column.code_view is not None and column.refused < 0:
                link.numbered = &column.code_view[0]
                link.n_values = <int>len(column.values)
                self.n_codes += link.n_values
            self.n_links += 1
        self.compute_codes()

    cdef int compute_codes(self) except -1:
        """Compute the code of every nominal value."""
        cdef Link* link
        cdef double* codes
        cdef long* noted
        cdef int i, k
        self.renew(&self.codes, max(<size_t>1, self.n_codes), sizeof(double))
        self.renew(&self.noted, max(<size_t>1, self.n_codes), sizeof(long))
        codes, noted = self.codes, self.noted
        for i in range(self.n_links):
            link = &self.links[i]
            link.codes, link.noted = codes, noted
            codes += link.n_values
            noted += link.n_values
            for k in range(link.n_values):
                link.codes[k] = code_of((<Column>self.table.columns[i]).values[k])
        return 0

    cdef int read_targets_of(self, Table table) except -1:
        cdef Column targets = table.targets, weights = table.weights
        if targets is None:
            raise ValueError("this table has no targets to learn")
        self.has_labels = targets.codes is not None
        if self.has_labels:
            self.label_targets = targets.codes
            self.renew(&self.label_codes, max(1, len(targets.values)), sizeof(int))
        else:
            self.number_targets = numbers_of(targets)
        self.is_weighted = weights is not None
        if self.is_weighted:
            self.weights = numbers_of(weights)
        return 0

    def ask(self, bint regression, Labels labels, bint shares):
        """Store predictions: numbers, labels, or shares of the labels."""
        cdef Py_ssize_t n = self.table.n, n_labels = len(labels.known)
        self.asks, self.asks_shares = True, shares
        self.asks_numbers = regression and not shares
        self.asks_labels = not regression and not shares
        self.resize(&self.answer_of, MAX_LABELS, sizeof(int))
        if self.asks_shares:
            if self.learns:
                n_labels = min(n_labels + len(self.table.targets.values), <Py_ssize_t>MAX_LABELS)
            self.shares = self.share_answers = np.full((n, n_labels), NAN)
        elif regression:
            self.numbers = self.number_answers = np.empty(n)
        else:
            self.labels = self.label_answers = np.empty(n, dtype=np.intp)
        self.name_codes(labels)

    # --- Links to the schema ------------------------------------------------------------------

    cdef int link(self, Schema schema, Labels labels, int64_t n_seen) except -1:
        """Look up names and labels after n_seen samples, unless the links are valid."""
        cdef size_t k
        cdef bint is_closed = schema.is_closed(n_seen)
        if (self.schema is not schema or self.version != schema.version
                or self.is_closed != is_closed):
            if self.schema is not schema or self.n_searches != schema.n_searches:
                for k in range(self.n_codes):
                    self.noted[k] = -1
            self.job = None             # it holds values of the columns linked before
            self.schema, self.version = schema, ~schema.version     # in case that a look-up fails
            self.is_closed, self.n_searches = is_closed, schema.n_searches
            self.link_columns()
            self.ahead.n_columns = -1       # it holds values of the columns linked before
            self.version = schema.version
        if self.known_labels is not labels or self.label_version != labels.version:
            self.link_labels(labels)
        return 0

    cdef int link_columns(self) except -1:
        """Look up the names of the columns, and list those with a link, each once.

        Names may be equal to each other.
        """
        cdef Schema schema = self.schema
        cdef int i, column, missing = IGNORED if self.is_closed else UNKNOWN
        cdef set found = set()
        for i in range(self.n_links):
            name = (<Column>self.table.columns[i]).name
            self.links[i].numeric = schema.numeric.get(name, missing)
            self.links[i].nominal = schema.nominal.get(name, missing)
            found.update((self.links[i].numeric, self.links[i].nominal))
        self.n_columns = 0
        for column in sorted(found):
            if column >= 0:
                self.columns[self.n_columns] = column
                self.n_columns += 1
        return 0

    cdef int link_labels(self, Labels labels) except -1:
        """Look up the labels of the table, and name the codes in predictions."""
        cdef list values = self.table.targets.values if self.has_labels else []
        cdef int code
        self.known_labels = None        # in case that a look-up fails
        for code in range(len(values)):
            self.label_codes[code] = labels.known.get(values[code], UNKNOWN)
        self.name_codes(labels)
        self.known_labels, self.label_version = labels, labels.version
        return 0

    cdef int name_codes(self, Labels labels) except -1:
        """Number the labels of the codes, if labels or shares are predicted."""
        cdef int code
        if self.asks and not self.asks_numbers:
            for code in range(len(labels.labels)):
                self.name_code(code, labels.labels[code])
        return 0

    cdef int name_code(self, int code, object label) except -1:
        """Number the label of a code, or None. Shares get another column if they have too few.

        Frames that are only predicted have the columns of the labels that were known at first.
        """
        cdef Py_ssize_t n = len(self.names)
        self.answer_of[code] = -1 if label is None else self.numbers_of_names.get(label, -1)
        if label is None or self.answer_of[code] >= 0 or (
                self.asks_shares and not self.learns and n >= self.share_answers.shape[1]):
            return 0
        if self.asks_shares and n >= self.share_answers.shape[1]:
            self.shares = self.share_answers = np.hstack(
                [self.shares, np.full((self.n, max(1, n)), NAN)])
        self.numbers_of_names[label] = self.answer_of[code] = <int>n
        self.names.append(label)
        return 0

    # --- One row ------------------------------------------------------------------------------

    cdef bint read(self) except -1:
        """Encode the next row as `Schema.encode` does.

        Returns whether the schema knows all its features.
        """
        cdef uint8_t is_new
        self.blank_row()
        self.encode(self.row, 1, self.schema.row, 1, &is_new)
        if is_new:
            self.link_columns()         # an earlier row may have brought an equal name
            self.blank_row()
            self.encode(self.row, 1, self.schema.row, 1, &is_new)
        return not is_new

    cdef void blank_row(self) noexcept nogil:
        """Let the row of the schema hold the columns with a link, all missing yet."""
        self.schema.blank()
        memcpy(self.schema.filled, self.columns, self.n_columns * sizeof(int))
        self.schema.n_filled = self.n_columns

    cdef int note_values(self, Py_ssize_t start) except -1:
        """Let the schema remember the nominal values of the learned rows since `start`."""
        cdef Py_ssize_t row
        cdef Link* link
        cdef int i, k
        for row in range(start if self.learns else self.row, self.row):
            if self.is_weighted and self.weights[row] <= 0.0:
                continue
            for i in range(self.n_links):
                link = &self.links[i]
                if link.numbered == NULL or link.nominal < 0 or link.numbered[row] < 0:
                    continue
                k = link.numbered[row]
                if link.noted[k] != self.schema.n_noted[link.nominal]:
                    self.schema.note(link.nominal, link.codes[k],
                                     (<Column>self.table.columns[i]).values[k])
                    link.noted[k] = self.schema.n_noted[link.nominal]
        return 0

    cdef int note_labels(self, Labels labels, Py_ssize_t start) except -1:
        """Note when the labels of the rows since `start`, which are known, were learned."""
        cdef Py_ssize_t row
        for row in range(start if self.learns and self.has_labels else self.row, self.row):
            if not self.is_weighted or self.weights[row] > 0.0:
                labels.note(self.label_codes[self.label_targets[row]])
        return 0

    cdef dict sample(self):
        """The next row as a dict, without its missing values."""
        cdef dict x = {}
        cdef const Link* link
        cdef double number
        cdef int i
        for i in range(self.n_links):
            link, column = &self.links[i], <Column>self.table.columns[i]
            if link.numbered != NULL and link.numbered[self.row] >= 0:
                x[(<Column>column).name] = (<Column>column).values[link.numbered[self.row]]
            elif link.numbers != NULL:
                number = (<const double*>(link.numbers + self.row * link.stride))[0]
                if number - number == 0.0:
                    x[(<Column>column).name] = number
        return x

    # --- Several rows -------------------------------------------------------------------------

    cdef int read_ahead(self, Py_ssize_t stop, int room, bint regression) noexcept nogil:
        """Read the next rows that need no Python code into `ahead`; return their number.

        At most `room` of them have a positive weight, so that the learner has memory for them.
        """
        cdef int i, n = <int>min(stop - self.row, <Py_ssize_t>self.ahead.most)
        self.ahead.most = min(2 * self.ahead.most, self.ahead.stride)
        if self.learns:
            n = self.read_targets(n, room, regression)
        self.encode(self.row, n, self.ahead.values, self.ahead.stride, self.ahead.marks)
        for i in range(n):
            if self.ahead.marks[i]:
                self.ahead.most = max(i, 1)     # new features often come in succession
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

    cdef void encode(self, Py_ssize_t row, int n, double* values, Py_ssize_t stride,
                     uint8_t* marks) noexcept nogil:
        """Encode n rows: values[column * stride + i] is a value of the i-th of them.

        marks[i] tells whether that row needs Python code, to learn a new feature.
        """
        cdef int i
        memset(marks, 0, n)
        for i in range(self.n_links):
            encode_numbers(&self.links[i], row, n, self.learns, values, stride, marks)
            encode_codes(&self.links[i], row, n, self.learns, values, stride, marks)

    # --- Predictions and labels ---------------------------------------------------------------

    cdef void store_prediction(self, Py_ssize_t row, const double* shares, int n) noexcept nogil:
        """Store the prediction for a row from the shares of n labels, or from one number."""
        if self.asks_numbers:
            self.number_answers[row] = shares[0]
        elif self.asks_shares:
            self.store_shares(row, shares, n)
        elif self.asks_labels:
            self.store_label(row, first_largest(shares, n) if n else -1, n)

    cdef void store_label(self, Py_ssize_t row, int code, int n) noexcept nogil:
        """Store a code, or -1, as the prediction for a row: see `Labels.named`."""
        cdef int k = 0
        while code >= 0 and self.answer_of[code] < 0:
            code, k = k if k < n else -1, k + 1
        self.label_answers[row] = self.answer_of[code] if code >= 0 else -1

    cdef void store_shares(self, Py_ssize_t row, const double* shares, int n) noexcept nogil:
        """Store the shares of n labels as the prediction for a row: see `normalised`."""
        cdef double total = 0.0
        cdef int code, n_named = 0
        for code in range(n):
            if self.answer_of[code] >= 0:
                total += shares[code]
                n_named += 1
        for code in range(n):
            if self.answer_of[code] >= 0:
                self.share_answers[row, self.answer_of[code]] = (
                    shares[code] / total if total != 0.0 else 1.0 / n_named)

    cdef double find_label(self, Labels labels) except? -1.0:
        """The code of the next label if the learner has learned an equal one by now; or -1."""
        cdef int code = self.label_targets[self.row]
        self.label_codes[code] = labels.known.get(self.label(), UNKNOWN)
        return max(-1, self.label_codes[code])

    cdef object label(self):
        return self.table.targets.values[self.label_targets[self.row]]

    cdef int name_label(self, Labels labels) except -1:
        """Record the code that the label of the next row received."""
        cdef int code = labels.known[self.label()]
        self.label_codes[self.label_targets[self.row]] = code
        if self.asks and not self.asks_numbers:
            self.name_code(code, labels.labels[code])
        self.label_version = labels.version
        return 0

    # --- Errors -------------------------------------------------------------------------------

    cdef list refusals(self):
        """(row, place in the row, error) of invalid weights, targets and features."""
        cdef list found = []
        cdef Column column
        cdef int i
        for i in range(self.n_links):
            column = <Column>self.table.columns[i]
            if column.refused >= 0:
                found.append((column.refused, i, column.error))
        if self.learns:
            for i, column in ((WEIGHT, self.table.weights), (TARGET, self.table.targets)):
                if column is not None and column.refused >= 0:
                    found.append((column.refused, i, column.error))
        return found

    cdef int check_labels(self, list found) except -1:
        """Raise an IndexError if a row before the first error has no label."""
        cdef Py_ssize_t row, stop = min([row for row, _, _ in found], default=self.n)
        for row in range(self.row, stop):
            if self.label_targets[row] < 0:
                raise IndexError(f"row {row}: the target is no label")
        return 0


# --- Columns of rows --------------------------------------------------------------------------

cdef void encode_numbers(const Link* link, Py_ssize_t row, int n, bint learns, double* values,
                         Py_ssize_t stride, uint8_t* marks) noexcept nogil:
    """Encode the numbers of n rows. If the feature is new, mark the rows that have a number.

    An infinite number is missing here: the table was checked, but the caller may have changed its
    arrays since.
    """
    cdef const char* numbers
    cdef double number
    cdef int i
    if link.numbers == NULL:
        return
    numbers = link.numbers + row * link.stride
    if link.numeric >= 0:
        values += link.numeric * stride
        for i in range(n):
            number = (<const double*>numbers)[0]
            values[i] = number if number - number == 0.0 else NAN
            numbers += link.stride
    elif link.numeric == UNKNOWN and learns:
        for i in range(n):
            number = (<const double*>(numbers + i * link.stride))[0]
            marks[i] |= number - number == 0.0


cdef void encode_codes(const Link* link, Py_ssize_t row, int n, bint learns, double* values,
                       Py_ssize_t stride, uint8_t* marks) noexcept nogil:
    """Encode the nominal values of n rows. If the feature is new, mark the rows that have one."""
    cdef const int* numbered
    cdef int i
    if link.numbered == NULL:
        return
    numbered = link.numbered + row
    if link.nominal >= 0:
        values += link.nominal * stride
        for i in range(n):
            values[i] = link.codes[numbered[i]] if numbered[i] >= 0 else NAN
    elif link.nominal == UNKNOWN and learns:
        for i in range(n):
            marks[i] |= numbered[i] >= 0
