"""The trees of a learner: a table of `Tree`.

A table gives new trees their kind, describes trees as Python values, saves and restores them.
"""

from libc.stdint cimport uint8_t

from .parts cimport Part
from .tree cimport Kind, Tree

cdef enum:
    MAX_CLASSES = 1 << 24   # of restored trees, so that sizes do not overflow

cdef class Trees(Part):
    cdef Tree* trees
    cdef readonly int n_trees
    cdef int capacity               # trees for which there is memory; those from n_trees on have no
                                    #   nodes in use, but keep their memory
    cdef Kind kind
    cdef readonly int n_values      # number of known classes, or 2 (moments)

    cdef int reserve_trees(self, int n) except -1 nogil
    cdef void widen(self, int n_values) noexcept nogil
    cdef int new_tree(self) except -1 nogil
    cdef void hold_columns(self, uint8_t* held) noexcept nogil
    cdef void mark_classes(self, uint8_t* met) noexcept nogil
    cdef void forget_classes(self, const uint8_t* gone) noexcept nogil
    cdef void remove(self, int tree) noexcept nogil
    cdef dict fields_of_all_sets(self)
    cdef int fill_sets(self, nominal, dict fields) except -1
    cdef list below(self, const Tree* tree, int node)
    cdef dict views_of(self, const Tree* tree)

cdef object threshold_in(double threshold, int nominal)
