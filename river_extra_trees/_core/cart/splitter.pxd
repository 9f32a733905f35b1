"""The growth of the leaves of a tree."""

cimport cython
from libc.stdint cimport uint8_t

from ..rng cimport Rng
from ..schema cimport Schema
from ..tree cimport Kind, Tree
from .workspace cimport Workspace


@cython.final
cdef class Splitter(Workspace):
    cdef int grow(self, Tree* tree, const Kind* kind, int n_values, Schema schema,
                  const int* copies, int max_features, double step, Rng rng,
                  const uint8_t* chosen=*, const int* members=*, int n_members=*,
                  const int* leaves=*) except -1 nogil
    cdef int prepare(self, Schema schema, const uint8_t* chosen, const int* members,
                     int n_members) except -1 nogil
