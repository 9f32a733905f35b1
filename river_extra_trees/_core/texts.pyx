"""Texts by their codes, read from Arrow buffers. See the header."""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy, memset, strcmp

from .memory cimport free, resized

import numpy as np

cdef extern from "Python.h":
    ctypedef struct PyHash_FuncDef:
        Py_ssize_t (*hash)(const void*, Py_ssize_t) noexcept
    const PyHash_FuncDef* PyHash_GetFuncDef() noexcept
    str PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)

cdef enum:
    ROOM = 2048     # for so many texts it is kept when a stream of more is read

# That of Python's own texts: with a secret key, so that no data can be made to collide.
cdef const PyHash_FuncDef* HASHING = PyHash_GetFuncDef()


cdef Layout layout_of(ArrowArrayStream* stream) except *:
    """Where the texts of a stream are; `NO_TEXTS` if it has anything else."""
    cdef ArrowSchema schema
    cdef Layout layout = NO_TEXTS
    if stream.get_schema(stream, &schema) != 0:
        fail(stream)
    if schema.dictionary == NULL:
        if strcmp(schema.format, b"u") == 0:
            layout = SHORT_OFFSETS
        elif strcmp(schema.format, b"U") == 0:
            layout = LONG_OFFSETS
        elif strcmp(schema.format, b"vu") == 0:
            layout = VIEWS
    schema.release(&schema)
    return layout


cdef Chunk next_of(ArrowArrayStream* stream):
    """The next array of a stream; None at the end."""
    cdef Chunk chunk = Chunk()
    if stream.get_next(stream, &chunk.array) != 0:
        fail(stream)
    return None if chunk.array.release == NULL else chunk


cdef int fail(ArrowArrayStream* stream) except -1:
    cdef const char* message = stream.get_last_error(stream)
    raise ValueError("the texts cannot be read: " + (
        "the library says no more" if message == NULL else message.decode("utf-8", "replace")))


cdef class Chunk:
    """An array of a stream, released with this object."""

    def __dealloc__(self):
        if self.array.release != NULL:
            self.array.release(&self.array)


cdef class Texts:
    """Texts <-> codes 0, 1, 2, ... in the order in which they were first told. See the header."""

    def __cinit__(self):
        self.values = []
        self.reserve(0)

    def __dealloc__(self):
        free(self.texts)
        free(self.bytes)
        free(self.slots)

    def __sizeof__(self):
        return (object.__sizeof__(self) + self.byte_capacity + self.capacity * sizeof(Text)
                + self.n_slots * sizeof(int))

    def know(self, list values):
        """Know further values, as far as they are texts that UTF-8 can represent."""
        for value in values:
            if type(value) is str:
                try:
                    encoded = (<str>value).encode()
                except UnicodeEncodeError:
                    continue        # Arrow has no such text
                self.code(encoded, len(<bytes>encoded), <str>value)
        self.n_told += len(values)

    def codes_of(self, stream):
        """The texts of an Arrow stream: their codes, -1 where missing, and the text of each code.

        The texts known before come first. A TypeError if the stream has anything else.

        Parameters
        ----------
        stream
            What `__arrow_c_stream__` of a series returns.
        """
        cdef ArrowArrayStream* arrays = <ArrowArrayStream*>PyCapsule_GetPointer(
            stream, "arrow_array_stream")
        cdef Layout layout
        cdef Chunk chunk
        cdef list codes = []
        cdef Py_ssize_t n_known = len(self.values)
        if self.is_reading:     # for another thread, or for what a finalizer broke into
            return Texts().codes_of(stream)
        if arrays.release == NULL:
            raise ValueError("the texts cannot be read: their stream was taken already")
        layout = layout_of(arrays)
        if layout == NO_TEXTS:
            raise TypeError("a stream of something else than texts")
        self.is_reading = True
        try:
            chunk = next_of(arrays)
            while chunk is not None:
                codes.append(self.codes_in(&chunk.array, layout))
                chunk = next_of(arrays)
            values = self.values.copy()
        finally:
            self.is_reading = False
            self.forget(n_known)
        return codes[0] if len(codes) == 1 else np.concatenate(
            [np.empty(0, dtype=np.intc), *codes]), values

    cdef object codes_in(self, const ArrowArray* array, Layout layout):
        """The codes of the texts of an array."""
        cdef int[::1] codes = np.empty(array.length, dtype=np.intc)
        cdef const uint8_t* validity = <const uint8_t*>array.buffers[0]
        cdef const void* where = array.buffers[1]
        cdef const char* text
        cdef const View* view
        cdef int64_t i, start, stop
        for i in range(array.offset, array.offset + array.length):
            if validity != NULL and not validity[i >> 3] >> (i & 7) & 1:
                codes[i - array.offset] = -1
                continue
            if layout == VIEWS:
                view = <const View*>where + i
                start, stop = 0, view.length
                text = <const char*>view.place.own
                if view.length > 12:
                    text = <const char*>array.buffers[2 + view.place.there[1]]
                    text += view.place.there[2]
            else:
                if layout == SHORT_OFFSETS:
                    start, stop = (<const int32_t*>where)[i], (<const int32_t*>where)[i + 1]
                else:
                    start, stop = (<const int64_t*>where)[i], (<const int64_t*>where)[i + 1]
                text = <const char*>array.buffers[2] + start
            if start == stop:
                text = b""      # of an array of such texts, there may be no buffer
            codes[i - array.offset] = self.code(text, stop - start, None)
        return codes.base

    cdef int code(self, const char* text, size_t length, str value) except -1:
        """The code of a text. A new one gets the next code and this value, or one of its own."""
        cdef Py_ssize_t hash = HASHING.hash(text, length)
        cdef int code = self.slots[self.slot_of(text, length, hash)]
        if code >= 0:
            return code
        if value is None:
            value = PyUnicode_DecodeUTF8(text, length, NULL)
        code = <int>len(self.values)
        self.reserve(length)
        self.values.append(value)
        memcpy(self.bytes + self.n_bytes, text, length)
        self.texts[code].hash, self.texts[code].length = hash, length
        self.texts[code].start = self.n_bytes
        self.n_bytes += length
        self.slots[self.slot_of(text, length, hash)] = code
        return code

    cdef size_t slot_of(self, const char* text, size_t length, Py_ssize_t hash) noexcept:
        """The slot of a text, or the free slot where it belongs."""
        cdef size_t slot = <size_t>hash & (self.n_slots - 1)
        cdef const Text* found
        while self.slots[slot] >= 0:
            found = &self.texts[self.slots[slot]]
            if found.hash == hash and found.length == length and memcmp(
                    self.bytes + found.start, text, length) == 0:
                break
            slot = (slot + 1) & (self.n_slots - 1)
        return slot

    cdef int reserve(self, size_t length) except -1:
        """Make room for one more text of so many bytes."""
        cdef size_t n_bytes = self.n_bytes + length
        if n_bytes >= self.byte_capacity:
            self.bytes = <char*>resized(self.bytes, 2 * n_bytes + 1, 1)
            self.byte_capacity = 2 * n_bytes + 1
        if <size_t>len(self.values) == self.capacity:
            self.resize(max(<size_t>16, 2 * self.capacity))
        return 0

    cdef int resize(self, size_t capacity) except -1:
        """Make room for so many texts; without memory, nothing changes."""
        cdef size_t code
        cdef const Text* text
        cdef int* slots = <int*>resized(NULL, capacity, 2 * sizeof(int))
        try:
            self.texts = <Text*>resized(self.texts, capacity, sizeof(Text))
        except MemoryError:
            free(slots)
            raise
        free(self.slots)
        self.slots, self.capacity, self.n_slots = slots, capacity, 2 * capacity
        memset(self.slots, -1, self.n_slots * sizeof(int))
        for code in range(<size_t>len(self.values)):
            text = &self.texts[code]
            self.slots[self.slot_of(self.bytes + text.start, text.length, text.hash)] = <int>code
        return 0

    cdef int forget(self, Py_ssize_t n) except -1:
        """Forget the texts from the n-th on, the latest first, and give back much unused room."""
        cdef const Text* text
        cdef Py_ssize_t code = len(self.values)
        while code > n:
            code -= 1
            text = &self.texts[code]
            self.slots[self.slot_of(self.bytes + text.start, text.length, text.hash)] = -1
            self.n_bytes = text.start
        del self.values[n:]
        if self.capacity > ROOM > 2 * n:
            self.resize(ROOM)
        if self.byte_capacity > 4 * self.n_bytes + (1 << 16):
            self.bytes = <char*>resized(self.bytes, self.n_bytes + 1, 1)
            self.byte_capacity = self.n_bytes + 1
        return 0
