"""Targets of the nominal values of earlier samples. See the header."""

import numpy as np

from libc.string cimport memmove, memset

from ..allocation cimport free, resized
from ..split cimport VALUES
from ..tree cimport Node, is_leaf, move_value, turn
from ..value_sets cimport (
    MANY_VALUES, SMOOTH, ValueSet, codes_of, threshold_of, trimmed_values, values_at,
    values_go_left,
)

from ..state import (
    LARGEST_CODE, LARGEST_COUNT, LARGEST_FLOAT, fields_of, require, require_codes,
)

cdef double FADING = 1.0 - 1.0 / MEMORY


cdef void count_values(Entries* entries) noexcept nogil:
    """Count the different codes of the entries of a column."""
    cdef int i
    entries.n_values = 0
    for i in range(entries.n):
        entries.n_values += i == 0 or entries.first[i - 1].code != entries.first[i].code


cdef class ValueHistory(Part):
    """The targets of the nominal values of earlier samples.

    Parameters
    ----------
    regression
        Whether targets are numbers instead of labels.
    """

    def __init__(self, bint regression):
        self.regression, self.most = regression, MOST_ENTRIES

    def __dealloc__(self):
        cdef int column
        for column in range(self.n_columns):
            free(self.columns[column].first)

    def __sizeof__(self):
        cdef int column
        return super().__sizeof__() + sum(
            [self.columns[column].capacity * sizeof(Entry) for column in range(self.n_columns)])

    cdef int learn(self, Window window, int slot, Schema schema) except -1 nogil:
        """Learn the values of a sample of a window."""
        cdef int k, column, n, n_nominal = 0
        if schema.is_numeric():
            return 0
        self.reserve(window.n_columns)
        n = window.columns_of(slot, window.table)
        for k in range(n):
            n_nominal += schema.has_codes(window.table[k])
        for k in range(n if n_nominal <= MOST_OF_SAMPLE else 0):
            column = window.table[k]
            if schema.has_codes(column):
                self.learn_value(column, window.values_of(column)[slot], window.target[slot],
                                 window.weight[slot])
        self.n_learned += 1
        return 0

    cdef int learn_value(self, int column, double code, double target,
                         double weight) except -1 nogil:
        """Let a value of a column learn a sample."""
        cdef int i, label = 0 if self.regression else <int>target
        cdef Entries* entries = &self.columns[column]
        cdef Entry* entry = NULL
        if self.n >= self.most:
            self.evict()
        i = place_of(entries, code)
        while i < entries.n and entries.first[i].code == code:
            entries.first[i].weight *= FADING
            entries.first[i].total *= FADING
            entries.first[i].seen = self.n_learned
            if entries.first[i].label == label:
                entry = &entries.first[i]
            i += 1
        if entry == NULL:
            entries.n_values += i == 0 or entries.first[i - 1].code != code
            while i > 0 and entries.first[i - 1].code == code and (
                    entries.first[i - 1].label > label):
                i -= 1
            entry = self.insert(entries, i)
            entry.code, entry.label, entry.seen = code, label, self.n_learned
        entry.weight += weight
        if self.regression:
            entry.total += weight * target
        return 0

    cdef int reserve(self, int n_columns) except -1 nogil:
        """Make room for the entries of n_columns columns."""
        if n_columns > self.n_columns:
            self.resize(&self.columns, n_columns, sizeof(Entries))
            memset(self.columns + self.n_columns, 0,
                   (n_columns - self.n_columns) * sizeof(Entries))
            self.n_columns = n_columns
        return 0

    cdef Entry* insert(self, Entries* entries, int place) except NULL nogil:
        """An empty entry at a place among those of a column."""
        cdef Entry* entry
        cdef int capacity
        if entries.n == entries.capacity:
            capacity = max(4, entries.capacity + entries.capacity // 2)
            entries.first = <Entry*>resized(entries.first, capacity, sizeof(Entry))
            entries.capacity = capacity
        entry = entries.first + place
        memmove(entry + 1, entry, (entries.n - place) * sizeof(Entry))
        memset(entry, 0, sizeof(Entry))
        self.is_changed |= entries.n == 0
        entries.n += 1
        self.n += 1
        return entry

    cdef void evict(self) noexcept nogil:
        """Forget the values that were seen least recently, about half of the entries."""
        cdef int64_t low = -1, high = self.n_learned, middle
        while high - low > 1:       # at most half of the entries were seen after `high`
            middle = low + (high - low) // 2
            if 2 * self.count_after(middle) > self.n:
                low = middle
            else:
                high = middle
        self.keep(high, NULL)

    cdef void keep(self, int64_t sample, const uint8_t* gone) noexcept nogil:
        """Keep the entries of values seen after a sample, without those of marked labels."""
        cdef int column, i, kept
        cdef Entries* entries
        cdef const Entry* entry
        self.n, self.is_changed = 0, True
        for column in range(self.n_columns):
            entries, kept = &self.columns[column], 0
            for i in range(entries.n):
                entry = &entries.first[i]
                if entry.seen > sample and (gone == NULL or not gone[entry.label]):
                    entries.first[kept] = entry[0]
                    kept += 1
            entries.n = kept
            count_values(entries)
            self.n += kept

    cdef int count_after(self, int64_t sample) noexcept nogil:
        """The number of entries whose values were seen after a sample."""
        cdef int column, i, n = 0
        for column in range(self.n_columns):
            for i in range(self.columns[column].n):
                n += self.columns[column].first[i].seen > sample
        return n

    cdef void forget_classes(self, const uint8_t* gone) noexcept nogil:
        """Forget the marked labels."""
        self.keep(-1, gone)

    cdef void forget_columns(self, const uint8_t* held) noexcept nogil:
        """Forget the columns that are not marked."""
        cdef int column
        for column in range(self.n_columns):
            if not held[column]:
                self.is_changed |= self.columns[column].n > 0
                self.n -= self.columns[column].n
                free(self.columns[column].first)
                memset(&self.columns[column], 0, sizeof(Entries))

    # --- Values that go to the sides for which they speak -------------------------------------

    cdef bint is_well_known(self, int column, double code) noexcept nogil:
        """Whether a value has had ENOUGH samples to stay where a growth has sent it."""
        cdef const Entries* entries = self.entries_of(column)
        cdef int i = 0 if entries == NULL else place_of(entries, code)
        cdef double weight = 0.0
        while entries != NULL and i < entries.n and entries.first[i].code == code:
            weight += entries.first[i].weight
            i += 1
        return weight >= ENOUGH

    cdef int recall(self, Window window, int column, double code) except -1 nogil:
        """Add up in `said` what the history and the last samples of a window say of a value.

        The last one has the value.
        """
        cdef const Entries* entries = self.entries_of(column)
        cdef const double* values = window.values_of(column)
        cdef bint is_short = window.is_short(column)    # only the last sample has a value
        cdef int i = 0 if entries == NULL else place_of(entries, code), n = 0, slot
        cdef int end = max(0, window.n_fresh - (1 if is_short else <int>LATEST))
        self.n_said = 0
        while entries != NULL and i < entries.n and entries.first[i].code == code:
            self.say(entries.first[i].label, entries.first[i].weight, entries.first[i].total)
            i += 1
        i = window.n_fresh
        while i > end and n < MEMORY:
            i -= 1
            slot = window.fresh[i]
            if values[slot] == code:
                self.say(0 if self.regression else <int>window.target[slot], window.weight[slot],
                         window.weight[slot] * window.target[slot])
                n += 1
        return 0

    cdef int say(self, int label, double weight, double total) except -1 nogil:
        """Add samples of a label to `said`."""
        cdef int i = 0
        while i < self.n_said and self.said[i].label != label:
            i += 1
        if i == self.n_said:
            if i == self.said_capacity:
                self.resize(&self.said, 2 * i + 8, sizeof(Entry))
                self.said_capacity = 2 * i + 8
            memset(&self.said[i], 0, sizeof(Entry))
            self.said[i].label = label
            self.n_said += 1
        self.said[i].weight += weight
        self.said[i].total += total
        return 0

    cdef int send(self, Tree* tree, Window window, int slot, int column) except -1 nogil:
        """Send a value of a sample, at the splits by sets on its path, to the sides of its mean."""
        cdef double code = window.value(column, slot)
        cdef const Node* this = tree.nodes
        cdef int node = 0
        while not is_leaf(this):
            if this.feature == column and this.nominal == VALUES and self.is_astray(
                    values_at(this.threshold), code):
                self.limit(tree, node, code, self.entries_of(column))
                move_value(tree, node, code)
            node = this.left ^ <int>turn(this, window.value(this.feature, slot), False)
            this = &tree.nodes[node]
        return 0

    cdef bint is_astray(self, const ValueSet* values, double code) noexcept nogil:
        """Whether the value of which `said` tells goes to the side where its mean is not."""
        cdef double total = 0.0, weight = 0.0
        cdef int i
        for i in range(self.n_said):
            weight += self.said[i].weight
            if self.regression:
                total += self.said[i].total
            elif self.said[i].label == values.label:
                total += self.said[i].weight
        return values.border == values.border and values_go_left(values, code) != (
            total + values.prior < values.border * (weight + SMOOTH))

    cdef void limit(self, Tree* tree, int node, double code, const Entries* entries) noexcept nogil:
        """Let a large set forget the values that the history has forgotten, but for one."""
        cdef ValueSet* values = values_at(tree.nodes[node].threshold)
        cdef double* codes = codes_of(values)
        cdef int i, place, kept = 0, n = 0 if entries == NULL else entries.n
        if values.n < MANY_VALUES + 2 * (0 if entries == NULL else entries.n_values):
            return
        for i in range(values.n):
            place = 0 if n == 0 else place_of(entries, codes[i])
            codes[kept] = codes[i]
            kept += codes[i] == code or (place < n and entries.first[place].code == codes[i])
        tree.set_bytes -= (values.n - kept) * sizeof(double)
        tree.nodes[node].threshold = threshold_of(trimmed_values(values, kept))

    # --- State --------------------------------------------------------------------------------

    FIELDS = {
        "regression": ("flag",), "n_learned": ("whole",),
        "column": ("whole_numbers", np.int32, "entries", {"most": (1 << 14) - 1}),
        "code": ("numbers", "entries", {"least": 0.0, "most": float(LARGEST_CODE)}),
        "label": ("whole_numbers", np.int32, "entries", {"most": 2**31 - 1}),
        "weight": ("numbers", "entries", {"least": 0.0, "most": LARGEST_FLOAT}),
        "total": ("numbers", "entries", {"least": -LARGEST_FLOAT, "most": LARGEST_FLOAT}),
        "seen": ("whole_numbers", np.int64, "entries", {"most": LARGEST_COUNT}),
    }
    OF_ENTRIES = {"column": np.int32, "code": np.float64, "label": np.int32, "weight": np.float64,
                  "total": np.float64, "seen": np.int64}
    DEFAULTS = {"regression": False, "n_learned": 0,
                **{name: np.empty(0, kind) for name, kind in OF_ENTRIES.items()}}

    def entries(self):
        """All entries: (column, code, label, weight, total, seen)."""
        cdef int column, i
        cdef Entry* entry
        found = []
        for column in range(self.n_columns):
            for i in range(self.columns[column].n):
                entry = &self.columns[column].first[i]
                found.append((column, entry.code, entry.label, entry.weight, entry.total,
                              entry.seen))
        return found

    cdef dict fields(self):
        found = self.entries()
        return fields_of(self, self.FIELDS, {
            name: np.array([entry[i] for entry in found], kind)
            for i, (name, kind) in enumerate(self.OF_ENTRIES.items())})

    cdef int load(self, dict fields) except -1:
        """Its owner checks columns and labels (`check_codes`)."""
        cdef Entry* entry
        cdef int column
        self.__init__(fields["regression"])
        self.n_learned = fields["n_learned"]
        entries = list(zip(*[fields[name].tolist() for name in self.OF_ENTRIES]))
        places = [each[:3] for each in entries]
        require(places == sorted(set(places)) and len(entries) <= MOST_ENTRIES,
                "ValueHistory: the entries are too many or not in order")
        for column, code, label, weight, total, seen in entries:
            self.reserve(column + 1)
            entry = self.insert(&self.columns[column], self.columns[column].n)
            entry.code, entry.label, entry.weight = code, label, weight
            entry.total, entry.seen = total, seen
        for column in range(self.n_columns):
            count_values(&self.columns[column])
        return 0

    cdef int check_codes(self, Schema schema, int n_labels) except -1:
        """Raise a StateError for columns that a schema lacks, and for unknown codes and labels.

        n_labels is 1 in a regression.
        """
        found = self.entries()
        require(self.regression == (n_labels < 0), "ValueHistory: it is of another kind")
        require(all([each[0] < schema.n_columns and schema.codes[each[0]] is not None
                     for each in found]), "ValueHistory: a column is not nominal")
        require_codes("ValueHistory", schema.codes,
                      [(each[0], np.array([each[1]])) for each in found],
                      np.array([each[2] for each in found], float),
                      1 if n_labels < 0 else n_labels)
        return 0
