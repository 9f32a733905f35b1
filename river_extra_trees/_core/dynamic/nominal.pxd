"""Cuts of nominal columns: one value against the others, or a group of values."""

from ..rng cimport Rng
from .particles cimport Cut, Particles
from .shared_trees cimport Leaf

cdef struct Bucket:
    int number
    int n               # samples
    double weight
    double total        # sum of weight times signal, about the mean of the leaf
    double mean         # regularised

cdef bint place_nominal(Particles filter, Rng* rng, const Leaf* leaf, Cut* cut,
                        double u) noexcept nogil
cdef int cut_buckets(Bucket* buckets, int n, int least, double squares,
                     double* correction) noexcept nogil
