"""Targets of the nominal values of earlier samples. See the header."""

import numpy as np

from libc.math cimport log
from libc.string cimport memcpy, memmove, memset

from ..allocation cimport free, raise_memory_error, resized
from ..parts cimport Owner
from ..sorting cimport sort_slots
from ..split cimport VALUES
from ..tree cimport Node, add_leaf, is_leaf, next_below, replace_set, turn
from ..value_sets cimport (
    MANY_VALUES, SMOOTH, ValueSet, codes_of, new_values, trimmed_values, values_at, values_go_left,
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


# --- Sets that follow the history -----------------------------------------------------------------


cdef struct Reached:        # which[start : end] are the numbers of the values that reach a node
    int node
    int start, end


cdef int renew_sets(Tree* tree, int n_values, ValueHistory history, int64_t since) except -1:
    """Send the values that were seen since a sample to the sides that they speak for."""
    cdef Renewal renewal = Renewal()
    cdef int column
    renewal.reserve(tree, n_values, history)
    for column in range(history.n_columns):
        if history.columns[column].n_values > MANY_VALUES:
            renewal.renew_column(column, &history.columns[column], since)
    return 0


cdef class Renewal(Owner):
    """The memory of a renewal of the sets of a tree."""

    cdef Tree* tree
    cdef int n_values               # as in `Trees`
    cdef const Entries* known       # of the column
    # Of each value of the column that is sent, ascending:
    cdef double* codes
    cdef int* firsts                # its first entry
    cdef int* which
    cdef int* spare
    cdef Reached* waiting
    # Of both sides of a split: their weights, and those of the classes, or the sum of targets.
    cdef double[2] weights
    cdef (double*)[2] values

    cdef int reserve(self, Tree* tree, int n_values, ValueHistory history) except -1:
        """Allocate memory for all values of the history."""
        cdef size_t n = history.n + 1
        self.tree, self.n_values = tree, n_values
        self.resize(&self.codes, n, sizeof(double))
        self.resize(&self.firsts, 3 * n, sizeof(int))
        self.which, self.spare = self.firsts + n, self.firsts + 2 * n
        self.resize(&self.waiting, tree.n_used, sizeof(Reached))
        self.resize(&self.values[0], 2 * <size_t>n_values + 1, sizeof(double))
        self.values[1] = self.values[0] + n_values
        return 0

    cdef int renew_column(self, int column, const Entries* known, int64_t since) except -1 nogil:
        """Renew the sets of a column, parents first."""
        cdef int n_waiting = 1, n = 0, i, left, right
        cdef Reached here
        cdef const Node* this
        self.known = known
        for i in range(known.n):
            if known.first[i].seen >= since and (
                    n == 0 or self.codes[n - 1] != known.first[i].code):
                self.codes[n], self.firsts[n], self.which[n] = known.first[i].code, i, n
                n += 1
        self.waiting[0] = Reached(0, 0, n)
        while n_waiting > 0:
            n_waiting -= 1
            here = self.waiting[n_waiting]
            this = &self.tree.nodes[here.node]
            if here.start == here.end or is_leaf(this):
                continue
            left, right = here.end, here.start      # other columns send all values both ways
            if this.feature == column:
                if this.nominal == VALUES:
                    self.renew_set(here.node, self.which + here.start, here.end - here.start)
                left = right = here.start + self.divide(
                    this, self.which + here.start, here.end - here.start)
            self.waiting[n_waiting] = Reached(this.left ^ 1, right, here.end)
            self.waiting[n_waiting + 1] = Reached(this.left, here.start, left)
            n_waiting += 2
        return 0

    cdef int divide(self, const Node* split, int* which, int n) noexcept nogil:
        """Put the values that go left before the others; return how many they are."""
        cdef int i, n_left = 0
        for i in range(n):
            self.spare[i - n_left] = which[n_left] = which[i]
            n_left += not turn(split, self.codes[which[i]], False)
        memcpy(which + n_left, self.spare, (n - n_left) * sizeof(int))
        return n_left

    cdef int renew_set(self, int node, int* which, int n) except -1 nogil:
        """Send some values anew at a split; its set forgets those that the history forgot."""
        cdef const ValueSet* old = values_at(self.tree.nodes[node].threshold)
        cdef ValueSet* renewed = new_values(old.n + n, old.others_left)
        cdef int i = 0, k = 0, size = 0
        cdef double code
        cdef bint is_named
        if renewed == NULL:
            raise_memory_error()
        sort_slots(which, self.spare, self.codes, n)
        self.add_up(node)
        while i < old.n or k < n:
            if k == n or (i < old.n and codes_of(old)[i] < self.codes[which[k]]):
                code = codes_of(old)[i]
                is_named = self.is_known(code)
                i += 1
            else:
                code = self.codes[which[k]]
                is_named = self.goes_left(old, which[k]) != old.others_left
                i += i < old.n and codes_of(old)[i] == code
                k += 1
            codes_of(renewed)[size] = code
            size += is_named
        replace_set(self.tree, node, trimmed_values(renewed, size))
        return 0

    cdef bint is_known(self, double code) noexcept nogil:
        """Whether the history has a value."""
        cdef int place = place_of(self.known, code)
        return place < self.known.n and self.known.first[place].code == code

    cdef bint goes_left(self, const ValueSet* old, int value) noexcept nogil:
        """Whether a value goes left from now on."""
        cdef const Entry* entry = self.known.first + self.firsts[value]
        cdef const Entry* end = self.known.first + self.known.n
        cdef double side = 0.0, both, mean
        if self.tree.moments != NULL:
            both = (self.values[0][0] + self.values[1][0]) / (self.weights[0] + self.weights[1])
            mean = (entry.total + SMOOTH * both) / (entry.weight + SMOOTH)
            side = abs(mean - self.share(0, 0)) - abs(mean - self.share(1, 0))
        else:
            while entry != end and entry.code == self.codes[value]:
                if self.values[0][entry.label] + self.values[1][entry.label] > 0.0:
                    side += entry.weight * log(
                        self.share(1, entry.label) / self.share(0, entry.label))
                entry += 1
        return side < 0.0 or (not side > 0.0 and values_go_left(old, self.codes[value]))

    cdef inline double share(self, int side, int k) noexcept nogil:
        """The share of a class on a side, or the mean target."""
        cdef double of_both = (self.values[0][k] + self.values[1][k]) / (
            self.weights[0] + self.weights[1])
        return (self.values[side][k] + SMOOTH * of_both) / (self.weights[side] + SMOOTH)

    cdef void add_up(self, int node) noexcept nogil:
        """Add up the leaves below both sides of a split."""
        cdef int side, top, below
        for side in range(2):
            top = below = self.tree.nodes[node].left ^ side
            self.weights[side] = 0.0
            memset(self.values[side], 0, self.n_values * sizeof(double))
            while below >= 0:
                if is_leaf(&self.tree.nodes[below]):
                    add_leaf(self.tree, below, &self.weights[side], self.values[side])
                below = next_below(self.tree, below, top)
            if self.tree.moments != NULL:
                self.values[side][0] *= self.weights[side]
