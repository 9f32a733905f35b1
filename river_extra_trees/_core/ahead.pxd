"""Rows of a batch that are read ahead, and the leaves that they reach.

A step down a tree waits for the step before it, but not for those of other rows. So several rows go
down a tree at once.
"""

from cpython.object cimport PyObject

cdef extern from "Python.h":
    # Items of a list without Python's lock: nobody else may change the list meanwhile.
    PyObject* item_of "PyList_GET_ITEM"(PyObject* items, Py_ssize_t i) noexcept nogil
    Py_ssize_t length_of "PyList_GET_SIZE"(PyObject* items) noexcept nogil

cdef enum:
    AHEAD = 8   # rows

cdef class Ahead:
    cdef double* rows           # rows[i * n_columns + column]
    cdef int* leaves            # leaves[tree * AHEAD + i]
    cdef double[AHEAD] targets
    cdef double[AHEAD] weights  # 0: the row is only answered
    cdef size_t n_cells         # doubles allocated in `rows`
    cdef size_t n_trees         # that `leaves` has room for

    cdef int reserve(self, size_t n_columns, size_t n_trees) except -1
