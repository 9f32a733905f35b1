"""Texts by their codes, read from Arrow buffers: no Python object for a text that is known.

`Texts` knows texts that it was told, and finds them by their bytes in an open hash table (linear
probing, at most half full). Other texts of a stream of Arrow arrays get codes after these, and are
forgotten when the stream ends. To forget the latest text is to free its slot: no insertion moves
another text, so the table is then what it was before. The schema has such an object for each
nominal column that frames brought as texts, and tells it the values of the column.

The arrays come through the Arrow C stream interface, which polars and pyarrow speak; the structs
are those of its specification: https://arrow.apache.org/docs/format/CStreamInterface.html
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
    const void** buffers    # the first one: a bit per value, 0 where it is missing; or NULL
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

# Where the bytes of the texts are.
cdef enum Layout:
    NO_TEXTS
    SHORT_OFFSETS       # in one buffer, between 32-bit offsets
    LONG_OFFSETS        # ... 64-bit offsets
    VIEWS               # short ones in the view, others in one of several buffers

cdef union Place:
    char[12] own        # of a text of up to 12 bytes
    int[3] there        # the first bytes; else number of the buffer, and where in it

cdef struct View:
    int length
    Place place

cdef struct Text:
    Py_ssize_t hash
    size_t start        # in `bytes`
    size_t length

cdef class Chunk:
    """An array of a stream, released with this object."""
    cdef ArrowArray array

cdef class Texts:
    cdef readonly list values   # code -> text
    cdef readonly Py_ssize_t n_told     # values that `know` was told of, texts or not
    cdef Text* texts            # code -> its bytes
    cdef char* bytes            # of all texts, one after the other
    cdef int* slots             # hash -> code; -1: free
    cdef size_t n_slots         # a power of two
    cdef size_t capacity        # of `texts`
    cdef size_t n_bytes         # used
    cdef size_t byte_capacity
    cdef bint is_reading        # a stream

    cdef object codes_in(self, const ArrowArray* array, Layout layout)
    cdef int code(self, const char* text, size_t length, str value) except -1
    cdef int reserve(self, size_t length) except -1
    cdef int resize(self, size_t capacity) except -1
    cdef size_t slot_of(self, const char* text, size_t length, Py_ssize_t hash) noexcept
    cdef int forget(self, Py_ssize_t n) except -1
