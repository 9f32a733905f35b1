# cython: boundscheck=False, language_level=3
"""Bugs planted on purpose: sanitizers that do not stop at them are not at work."""

from libc.limits cimport INT_MAX
from libc.stdlib cimport free, malloc


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
