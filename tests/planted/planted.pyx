"""Bugs planted on purpose: checks that do not stop at them are not at work."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.limits cimport INT_MAX
from libc.stdlib cimport free, malloc

cdef extern from "assert.h":
    void c_assert "assert"(bint condition) noexcept nogil


def heap_overflow(int n):
    """Read one double behind a block of n."""
    cdef double* block = <double*>malloc(n * sizeof(double))
    cdef double value
    block[0] = 1.0
    value = block[n]
    free(block)
    return value


def signed_overflow(int n):
    """Add n to the largest int."""
    cdef int largest = INT_MAX
    return largest + n


def bad_shift(int n):
    """Shift an int by n bits, of which it has fewer."""
    cdef int one = 1
    return one << n


def read_behind_a_view(int n):
    """Read one double behind a view of n."""
    cdef double* block = <double*>PyMem_Malloc(n * sizeof(double))
    cdef double[::1] view = <double[:n]>block
    try:
        return view[n]
    finally:
        PyMem_Free(block)


def read_behind_a_list(int n):
    """Read one item behind a list of n."""
    cdef list items = [None] * n
    return items[n]


def false_c_assert(int n):
    """Assert that n is less than 8, in C."""
    c_assert(n < 8)
