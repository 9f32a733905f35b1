"""Codes of texts in Arrow buffers: a known text is encoded without a Python object.

`Texts` finds the code of a text by its bytes, in an open hash table (linear probing, at most half
full). The schema has such an object for each nominal column that a frame provided as texts. It
registers the values of the column with `know`. Other texts in a stream of Arrow arrays get higher
codes and are removed when the stream ends. Removing the latest text only frees its slot: no
insertion moves another text, so the table is then as it was before.

The arrays come through the Arrow C stream interface, which polars and pyarrow provide. The structs
follow its specification: https://arrow.apache.org/docs/format/CStreamInterface.html
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

# Storage of the bytes of the texts.
cdef enum Layout:
    NO_TEXTS
    SHORT_OFFSETS       # one buffer with 32-bit offsets
    LONG_OFFSETS        # one buffer with 64-bit offsets
    VIEWS               # short texts in the view, others in one of several buffers

cdef union Place:
    char[12] own        # a text of up to 12 bytes
    int[3] there        # a longer text: first 4 bytes, number of the buffer, offset in it

cdef struct View:
    int length
    Place place

cdef struct Text:
    Py_ssize_t hash
    size_t start        # position in `bytes`
    size_t length

cdef class Chunk:
    """An array of a stream; it is released when this object is deallocated."""
    cdef ArrowArray array

cdef class Texts:
    cdef readonly list values   # code -> text
    cdef readonly Py_ssize_t n_told     # number of values passed to `know`, texts or not
    cdef Text* texts            # code -> its bytes
    cdef char* bytes            # bytes of all texts, concatenated
    cdef int* slots             # hash table: slot -> code; -1: free
    cdef size_t n_slots         # a power of two
    cdef size_t capacity        # of `texts`
    cdef size_t n_bytes         # number of used bytes in `bytes`
    cdef size_t byte_capacity
    cdef bint is_reading        # whether a stream is being read

    cdef object codes_in(self, const ArrowArray* array, Layout layout)
    cdef int code(self, const char* text, size_t length, str value) except -1
    cdef int reserve(self, size_t length) except -1
    cdef int resize(self, size_t capacity) except -1
    cdef size_t slot_of(self, const char* text, size_t length, Py_ssize_t hash) noexcept
    cdef int forget(self, Py_ssize_t n) except -1

cdef Chunk next_of(ArrowArrayStream* stream)
cdef int fail(ArrowArrayStream* stream) except -1
