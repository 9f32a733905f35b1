"""Cuts of nominal columns: one value against the others, or a set of values."""

from ..rng cimport Rng
from .particles cimport Cut, Met, Particles
from .shared_trees cimport Leaf

cdef bint place_nominal(Particles filter, Rng* rng, const Leaf* leaf, Cut* cut,
                        double u) noexcept nogil
cdef int reserve_values(Particles filter) except -1 nogil
cdef int send_values(Particles filter, int slot) except -1 nogil
cdef void sum_again(Particles filter, Leaf* leaf) noexcept nogil
cdef int cut_order(Met* met, int n, int least, double squares, double* correction,
                   double* middle) noexcept nogil
