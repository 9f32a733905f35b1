"""Predict rows with a `MemoryForest`.

A step down a tree waits for the memory of a node, but not for the steps of other walks. So one row
goes down several trees at the same time.

Nothing changes between the rows of a batch that are not learned. So several rows are read ahead,
and go down one tree at the same time. A tree predicts all of them before the next tree does: its
nodes stay in the cache of the processor. The sums for each row have the same order as for a single
row.
"""

from ..batch cimport Reader
from .memories cimport MemoryForest

cdef int answer_rows(MemoryForest forest, Reader reader, Py_ssize_t stop,
                     int n_labels) except -1 nogil
cdef void find_leaves(MemoryForest forest) noexcept nogil
cdef void combine_numbers(MemoryForest forest, double* answers) noexcept nogil
