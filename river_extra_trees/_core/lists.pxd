"""Items of a list without Python's lock: nobody else may change the list meanwhile."""

from cpython.object cimport PyObject

cdef extern from "Python.h":
    PyObject* item_of "PyList_GET_ITEM"(PyObject* items, Py_ssize_t i) noexcept nogil
    Py_ssize_t length_of "PyList_GET_SIZE"(PyObject* items) noexcept nogil
