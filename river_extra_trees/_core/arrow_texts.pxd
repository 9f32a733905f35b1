"""Texts in Arrow arrays: how they are stored, and where each of them is.

The interface does not tell the size of the buffers, except for views. Positions of texts are
checked against the end of the last text. The library promises that this end is within the buffer,
and that the other buffers are large enough.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport strchr, strcmp

from .arrow cimport ArrowArray, ArrowArrayStream, ArrowSchema, fail

# Storage of the bytes of the texts.
cdef enum Layout:
    NO_TEXTS
    SHORT_OFFSETS       # one buffer with 32-bit offsets
    LONG_OFFSETS        # one buffer with 64-bit offsets
    VIEWS               # short texts in the view, others in one of several buffers
    OBJECTS             # not of Arrow: texts of Python, by reference

cdef union Place:
    char[12] own        # a text of up to 12 bytes
    int[3] there        # a longer text: first 4 bytes, number of the buffer, offset in it

cdef struct View:
    int length
    Place place

cdef struct Span:
    const char* start
    int64_t length


cdef inline Layout layout_of(ArrowArrayStream* stream, char* positions) except *:
    """How a stream stores its texts; `NO_TEXTS` if it has anything else.

    If the texts are in dictionaries, `positions` gets the type of the positions in them; else 0.
    """
    cdef ArrowSchema schema
    cdef const ArrowSchema* texts = &schema
    cdef inline Layout layout = NO_TEXTS
    if stream.get_schema(stream, &schema) != 0:
        fail(stream)
    positions[0] = 0
    if schema.dictionary != NULL and strchr(b"cCsSiIlL", schema.format[0]) != NULL:
        texts, positions[0] = schema.dictionary, schema.format[0]
    if texts.dictionary == NULL:
        if strcmp(texts.format, b"u") == 0:
            layout = SHORT_OFFSETS
        elif strcmp(texts.format, b"U") == 0:
            layout = LONG_OFFSETS
        elif strcmp(texts.format, b"vu") == 0:
            layout = VIEWS
    schema.release(&schema)
    return layout


cdef inline int64_t end_of(const ArrowArray* array, Layout layout) noexcept nogil:
    """The end of the last text in the buffer of the texts of an array; 0 if there is none."""
    if layout == VIEWS or layout == OBJECTS or array.length == 0:   # which may have no buffers
        return 0
    if layout == SHORT_OFFSETS:
        return (<const int32_t*>array.buffers[1])[array.offset + array.length]
    return (<const int64_t*>array.buffers[1])[array.offset + array.length]


cdef inline bint locate_view(const ArrowArray* array, const View* view, Span* span) noexcept nogil:
    """As `locate`. The last buffer of the array contains the sizes of the buffers with texts."""
    cdef int64_t n_buffers = array.n_buffers - 3, buffer, start
    span.length = view.length
    if span.length <= 12:
        span.start = &view.place.own[0]
        return span.length >= 0
    buffer, start = view.place.there[1], view.place.there[2]
    if not (0 <= buffer < n_buffers and 0 <= start and start + span.length
            <= (<const int64_t*>array.buffers[array.n_buffers - 1])[buffer]):
        return False
    span.start = <const char*>array.buffers[2 + buffer] + start
    return True


cdef inline bint locate(const ArrowArray* array, Layout layout, int64_t i, int64_t end,
                        Span* span) noexcept nogil:
    """Find the bytes of a text; return whether they are within their buffer."""
    cdef const void* where = array.buffers[1]
    cdef int64_t start, stop
    if layout == VIEWS:
        return locate_view(array, <const View*>where + i, span)
    if layout == SHORT_OFFSETS:
        start, stop = (<const int32_t*>where)[i], (<const int32_t*>where)[i + 1]
    else:
        start, stop = (<const int64_t*>where)[i], (<const int64_t*>where)[i + 1]
    if not 0 <= start <= stop <= end:
        return False
    span.start, span.length = <const char*>array.buffers[2] + start, stop - start
    if start == stop:
        span.start = b""        # an array of empty texts may have no buffer
    return True


cdef inline bint is_missing(const ArrowArray* array, int64_t i) noexcept nogil:
    """Whether an array has no value i, counted from the start of its buffers."""
    cdef const uint8_t* validity = <const uint8_t*>array.buffers[0]
    return validity != NULL and not validity[i >> 3] >> (i & 7) & 1


cdef inline int64_t position(const ArrowArray* array, char kind, int64_t i) noexcept nogil:
    """A position in a dictionary; the type is a letter of the Arrow interface."""
    cdef const void* positions = array.buffers[1]
    if kind == b"c":
        return (<const int8_t*>positions)[i]
    elif kind == b"C":
        return (<const uint8_t*>positions)[i]
    elif kind == b"s":
        return (<const int16_t*>positions)[i]
    elif kind == b"S":
        return (<const uint16_t*>positions)[i]
    elif kind == b"i":
        return (<const int32_t*>positions)[i]
    elif kind == b"I":
        return (<const uint32_t*>positions)[i]
    return (<const int64_t*>positions)[i]       # an unsigned one from 2**63 on is negative


cdef inline object object_of(const ArrowArray* array, int64_t i):
    """Object i of an array of objects. For numpy, NULL is None."""
    cdef PyObject* found = (<PyObject**>array.buffers[1])[i]
    return None if found == NULL else <object>found
