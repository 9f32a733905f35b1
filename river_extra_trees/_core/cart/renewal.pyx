"""Sets of nominal values that follow the history. See the header."""

from libc.math cimport log
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..allocation cimport free, raise_memory_error, resized
from ..sorting cimport sort_slots
from ..split cimport VALUES
from ..tree cimport Node, Tree, add_leaf, is_leaf, next_below, replace_set, turn
from ..value_sets cimport (
    SMOOTH, ValueSet, codes_of, new_values, trimmed_values, values_at, values_go_left,
)
from .value_history cimport Entries, Entry, ValueHistory, place_of

cdef struct Reached:        # which[start : end] are the numbers of the values that reach a node
    int node
    int start, end


cdef int renew_sets(Tree* tree, int n_values, ValueHistory history, int64_t since) except -1:
    """Send the values that were seen since a sample to the sides that they speak for."""
    cdef Renewal renewal = Renewal()
    cdef int column
    renewal.reserve(tree, n_values, history)
    for column in range(history.n_columns):
        renewal.renew(column, &history.columns[column], since)
    return 0


cdef class Renewal:
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

    def __dealloc__(self):
        free(self.codes)
        free(self.firsts)
        free(self.waiting)
        free(self.values[0])

    cdef int reserve(self, Tree* tree, int n_values, ValueHistory history) except -1:
        """Allocate memory for all values of the history."""
        cdef size_t n = history.n + 1
        self.tree, self.n_values = tree, n_values
        self.codes = <double*>resized(NULL, n, sizeof(double))
        self.firsts = <int*>resized(NULL, 3 * n, sizeof(int))
        self.which, self.spare = self.firsts + n, self.firsts + 2 * n
        self.waiting = <Reached*>resized(NULL, tree.n_used, sizeof(Reached))
        self.values[0] = <double*>resized(NULL, 2 * <size_t>n_values + 1, sizeof(double))
        self.values[1] = self.values[0] + n_values
        return 0

    cdef int renew(self, int column, const Entries* known, int64_t since) except -1 nogil:
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
