"""Targets of the nominal values of earlier samples. See the header."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memmove, memset

from ..allocation cimport free, resized
from ..parts cimport Part
from ..schema cimport Schema
from ..window cimport Window

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
        entries.n += 1
        self.n += 1
        return entry

    cdef void evict(self) noexcept nogil:
        """Forget the values that were seen least recently, about half of the entries."""
        cdef int64_t low = -1, high = self.n_learned, middle
        cdef int column, i, kept
        cdef Entries* entries
        while high - low > 1:       # at most half of the entries were seen after `high`
            middle = low + (high - low) // 2
            if 2 * self.count_after(middle) > self.n:
                low = middle
            else:
                high = middle
        self.n = 0
        for column in range(self.n_columns):
            entries, kept = &self.columns[column], 0
            for i in range(entries.n):
                if entries.first[i].seen > high:
                    entries.first[kept] = entries.first[i]
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
        cdef int column, i, kept
        cdef Entries* entries
        self.n = 0
        for column in range(self.n_columns):
            entries, kept = &self.columns[column], 0
            for i in range(entries.n):
                if not gone[entries.first[i].label]:
                    entries.first[kept] = entries.first[i]
                    kept += 1
            entries.n = kept
            count_values(entries)
            self.n += kept

    cdef void forget_columns(self, const uint8_t* held) noexcept nogil:
        """Forget the columns that are not marked."""
        cdef int column
        for column in range(self.n_columns):
            if not held[column]:
                self.n -= self.columns[column].n
                free(self.columns[column].first)
                memset(&self.columns[column], 0, sizeof(Entries))

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
