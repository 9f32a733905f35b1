"""Lists and dicts without the GIL. No other thread may change them at the same time."""

from cpython.object cimport PyObject

cdef extern from "Python.h":
    PyObject* item_of "PyList_GET_ITEM"(PyObject* items, Py_ssize_t i) noexcept nogil
    Py_ssize_t length_of "PyList_GET_SIZE"(PyObject* items) noexcept nogil
    Py_ssize_t size_of "PyDict_GET_SIZE"(PyObject* entries) noexcept nogil
