"""Memory of the core as numpy arrays. See the header."""

import numpy as np

from cpython.buffer cimport PyBUF_WRITE
from cpython.memoryview cimport PyMemoryView_FromMemory


cdef object view(const void* memory, object kind, tuple shape, tuple strides=None):
    """An array that shows memory.

    Parameters
    ----------
    memory
        Its first item.
    kind
        Type of the items, as numpy names it.
    shape
        Length of each dimension, as allocated.
    strides
        Bytes from one item to the next in each dimension, if the items are not adjacent.
    """
    cdef Py_ssize_t n_bytes = np.dtype(kind).itemsize, length, i
    if 0 in shape:
        return np.empty(shape, kind)
    for i, length in enumerate(shape):
        n_bytes = n_bytes * length if strides is None else n_bytes + (length - 1) * strides[i]
    return np.ndarray(
        shape, kind, PyMemoryView_FromMemory(<char*>memory, n_bytes, PyBUF_WRITE), 0, strides)
