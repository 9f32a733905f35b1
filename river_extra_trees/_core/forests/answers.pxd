"""Predict rows with a `MemoryForest`.

A step down a tree has to wait for the memory of a node, but not for the steps of other walks. So a
row that is learned goes down several trees at the same time.

If no row is learned, the trees stay as they are from row to row. So several rows are read ahead and
go down a tree at the same time. A tree predicts all these rows before the next tree does, so that
its nodes stay in the cache of the processor. The terms of each row are added in the same order as
for a single row, so that the predictions are equal to the bit.
"""

from ..table cimport Reader
from .memories cimport MemoryForest

cdef int answer_rows(MemoryForest forest, Reader reader, Py_ssize_t stop,
                     int n_labels) except -1 nogil
cdef void find_leaves(MemoryForest forest) noexcept nogil
cdef void combine_numbers(MemoryForest forest, double* answers) noexcept nogil
