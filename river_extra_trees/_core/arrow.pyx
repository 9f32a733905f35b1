"""Tables of doubles, read from Arrow buffers. See the header.

A table comes through the Arrow C stream interface in chunks. Each chunk is an array of structs,
whose children are the columns.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, strcmp

import numpy as np


cdef Chunk next_of(ArrowArrayStream* stream):
    """The next array of a stream; None at the end."""
    cdef Chunk chunk = Chunk()
    if stream.get_next(stream, &chunk.array) != 0:
        fail(stream)
    return None if chunk.array.release == NULL else chunk


cdef int fail(ArrowArrayStream* stream) except -1:
    cdef const char* message = stream.get_last_error(stream)
    raise ValueError("the Arrow stream cannot be read: " + (
        "the library says no more" if message == NULL else message.decode("utf-8", "replace")))


cdef class Chunk:
    """An array of a stream, released with this object."""

    def __dealloc__(self):
        if self.array.release != NULL:
            self.array.release(&self.array)


cdef bint holds_doubles(ArrowArrayStream* stream, Py_ssize_t n_columns) except -1:
    """Whether a stream contains tables of n_columns columns, all of doubles.

    A column with metadata does not count: it may be of an extension type, with another meaning.
    """
    cdef ArrowSchema schema
    cdef const ArrowSchema* column
    cdef Py_ssize_t i
    cdef bint holds
    if stream.get_schema(stream, &schema) != 0:
        fail(stream)
    holds = strcmp(schema.format, b"+s") == 0 and schema.n_children == n_columns
    for i in range(n_columns if holds else 0):
        column = schema.children[i]
        holds &= strcmp(column.format, b"g") == 0 and column.metadata == NULL
    schema.release(&schema)
    return holds


cdef void copy_column(
        const ArrowArray* column, int64_t first, int64_t n, double* to) noexcept nogil:
    """Copy n doubles of a column, from the first one on; NaN where missing."""
    cdef const uint8_t* validity = <const uint8_t*>column.buffers[0]
    cdef int64_t i, start = column.offset + first
    memcpy(to, <const double*>column.buffers[1] + start, n * sizeof(double))
    if validity != NULL and column.null_count != 0:
        for i in range(n):
            if not validity[(start + i) >> 3] >> ((start + i) & 7) & 1:
                to[i] = NAN


def block_of_stream(stream, Py_ssize_t n_rows, Py_ssize_t n_columns):
    """The columns of a table as an array [row, column], NaN where missing; None if a type differs.

    Parameters
    ----------
    stream
        What `__arrow_c_stream__` of the table returns.
    n_rows, n_columns
        Size of the table. Raises a ValueError if the stream has more or fewer rows.
    """
    cdef ArrowArrayStream* arrays = <ArrowArrayStream*>PyCapsule_GetPointer(
        stream, "arrow_array_stream")
    cdef double[:, ::1] columns
    cdef Py_ssize_t row = 0, i
    cdef Chunk chunk
    if arrays.release == NULL:
        raise ValueError("the table cannot be read: its stream was taken already")
    if not holds_doubles(arrays, n_columns):
        return None
    columns = np.empty((n_columns, n_rows))
    chunk = next_of(arrays)
    while chunk is not None:
        if chunk.array.length > n_rows - row:
            raise ValueError(f"the stream of a table of {n_rows} rows has more rows")
        with nogil:
            for i in range(n_columns if chunk.array.length else 0):
                copy_column(chunk.array.children[i], chunk.array.offset, chunk.array.length,
                            &columns[i, row])
        row += chunk.array.length
        chunk = next_of(arrays)
    if row < n_rows:
        raise ValueError(f"the stream of a table of {n_rows} rows has only {row}")
    return columns.base.T
