"""Leaps: the walk of a row that has few of the features.

In a tree grown on such rows, most splits separate the few samples that have a value from all
others, so the nodes that a row without any value would reach are a long *chain*. A chain begins at
the root, or at a child to which missing values do not go; each next node is the child to which they
go; the end is a leaf. A row leaves a chain only at a split on a feature that it has. So it leaps
there: a hash table finds the next split of a chain on a feature.

    from the head of a chain        to the next split on a feature; to the end
    from another split              to the next one on the same feature
    from the end of a chain         it tells the head

The leaps of a tree are made of all chains of LEAST_CHAIN splits or more. If the leaf at the end of
a chain is split, the chain goes on; without room in the table, the walk goes on from the former
end, until the leaps are made anew. If splits are removed, they are forgotten. They are not saved:
the leaf is always the one that the steps of a walk find.
"""

from libc.stdint cimport uint64_t

from .tree cimport MISSING_RIGHT, UNUSED, Node, Tree
from .schema cimport Schema

cdef enum:
    MOST_PRESENT = 8        # values of a row that leaps
    LEAST_CHAIN = 16        # splits
    LEAST_OF_VALUES = 2     # so many splits per value of the row, or it walks down a chain
    RARE = 4                # at most one of so many columns has a value
    END = UNUSED            # the "feature" of the leap to the end of a chain ...
    HEAD = UNUSED - 1       # ... and of that which tells its head

cdef struct Present:        # the values of a row
    uint64_t marks          # of columns, modulo 64
    int n
    int[MOST_PRESENT] columns
    double[MOST_PRESENT] values

cdef int make_leaps(Tree* tree) except -1 nogil
cdef void extend_leaps(Tree* tree, int end) noexcept nogil
cdef int leap(const Tree* tree, const Present* present) noexcept nogil
cdef void leap_trees(const Tree* trees, int n, Schema schema, int* leaves) noexcept nogil


cdef inline bint can_leap(int n_present, int n_columns) noexcept nogil:
    """Whether rows with so many values leap."""
    return n_present <= MOST_PRESENT and RARE * n_present <= n_columns


cdef inline void add_present(Present* present, int column, double value) noexcept nogil:
    present.marks |= <uint64_t>1 << (column & 63)
    present.columns[present.n], present.values[present.n] = column, value
    present.n += 1


cdef inline int missing_side(const Node* split) noexcept nogil:
    """The child to which missing values go."""
    return split.left ^ <int>((split.turns & MISSING_RIGHT) != 0)
