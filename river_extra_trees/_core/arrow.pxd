"""The Arrow C stream interface, through which libraries share the memory of their columns.

The structs follow its specification: https://arrow.apache.org/docs/format/CStreamInterface.html
"""

from libc.stdint cimport int64_t

cdef struct ArrowSchema:
    const char* format
    const char* name
    const char* metadata
    int64_t flags
    int64_t n_children
    ArrowSchema** children
    ArrowSchema* dictionary
    void (*release)(ArrowSchema*) noexcept
    void* private_data

cdef struct ArrowArray:
    int64_t length
    int64_t null_count
    int64_t offset
    int64_t n_buffers
    int64_t n_children
    const void** buffers    # the first one: a bit per value, 0 if missing; NULL: none missing
    ArrowArray** children
    ArrowArray* dictionary
    void (*release)(ArrowArray*) noexcept
    void* private_data

cdef struct ArrowArrayStream:
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*) noexcept
    int (*get_next)(ArrowArrayStream*, ArrowArray*) noexcept
    const char* (*get_last_error)(ArrowArrayStream*) noexcept
    void (*release)(ArrowArrayStream*) noexcept
    void* private_data

cdef class Chunk:
    """An array of a stream; it is released when this object is deallocated."""
    cdef ArrowArray array

cdef Chunk next_of(ArrowArrayStream* stream)
cdef int fail(ArrowArrayStream* stream) except -1
