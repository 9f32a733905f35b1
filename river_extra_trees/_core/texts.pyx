"""Texts by their codes, read from Arrow buffers. See the header."""

cimport cython
from cpython.buffer cimport PyBUF_ND, PyBuffer_Release, PyObject_GetBuffer
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from .arrow cimport ArrowArray, ArrowArrayStream, Chunk, next_of
from .arrow_texts cimport (
    NO_TEXTS, OBJECTS, Layout, Span, end_of, is_missing, layout_of, locate, object_of, position,
)
from .memory cimport free, resized

import numpy as np

cdef extern from "Python.h":
    ctypedef struct PyHash_FuncDef:
        Py_ssize_t (*hash)(const void*, Py_ssize_t) noexcept nogil
    const PyHash_FuncDef* PyHash_GetFuncDef() noexcept
    str PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)

cdef enum:
    SHORT = 16      # number of bytes that a key holds
    ROOM = 2048     # a stream of more texts, or of more bytes, does not enlarge the table for good
    BYTES = 1 << 16
    PLACES = 1      # kind of positions, beside the letters of Arrow: 64 bits, -1 where missing

cdef str OUTSIDE = "the texts cannot be read: the position of one is outside of their buffer"

# The hash function of Python's texts, and random numbers that it makes from its secret key.
cdef const PyHash_FuncDef* HASHING = PyHash_GetFuncDef()
cdef uint64_t[4] RANDOM
for _i in range(4):
    RANDOM[_i] = <uint64_t><Py_ssize_t>hash(bytes([_i]))
cdef uint64_t ODD = RANDOM[3] | 1


cdef inline uint64_t eight(const char* bytes) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, bytes, sizeof(word))
    return word


cdef inline uint32_t four(const char* bytes) noexcept nogil:
    cdef uint32_t word
    memcpy(&word, bytes, sizeof(word))
    return word


cdef inline Key key_of(const char* text, size_t length) noexcept nogil:
    cdef Key key
    cdef size_t i
    key.length = length
    if length > SHORT:
        key.first, key.last = <uint64_t>HASHING.hash(text, length), eight(text + length - 8)
    elif length >= 8:
        key.first, key.last = eight(text), eight(text + length - 8)
    elif length >= 4:
        key.first, key.last = four(text), four(text + length - 4)
    else:
        key.first = key.last = 0
        for i in range(length):
            key.first = key.first << 8 | <uint8_t>text[i]
    return key


cdef inline uint64_t hash_of(const Key* key) noexcept nogil:
    """NH of the key. A slot is given by the leading bits of its product with `ODD`."""
    return (
        <uint64_t><uint32_t>(key.first + RANDOM[0])
        * <uint32_t>((key.first >> 32) + (RANDOM[0] >> 32))
        + <uint64_t><uint32_t>(key.last + RANDOM[1])
        * <uint32_t>((key.last >> 32) + (RANDOM[1] >> 32))
        + key.length * RANDOM[2]
    )


@cython.final
cdef class Texts:
    """Texts <-> codes 0, 1, 2, ... in the order in which `know` received them. See the header."""

    def __cinit__(self):
        self.values, self.news = [], []
        self.reserve(0)

    def __dealloc__(self):
        free(self.texts)
        free(self.bytes)
        free(self.slots)
        free(self.places)

    def __sizeof__(self):
        return (object.__sizeof__(self) + self.byte_capacity + self.capacity * sizeof(Text)
                + (self.n_slots + self.n_places) * sizeof(int))

    def know(self, list values):
        """Register further values, as far as they are texts that UTF-8 can represent.

        A learner often learns the texts of the latest stream, in the same order. They keep their
        codes then.
        """
        if self.is_busy:        # `texts_of` calls again, with these values
            return
        self.is_busy = True
        try:
            self.take(values)
        finally:
            self.is_busy = False

    cdef int take(self, list values) except -1:
        """As `know`. After a MemoryError, `n_told` is the number of values that are registered."""
        cdef Py_ssize_t n = 0
        cdef list known, news
        while n < min(len(values), len(self.news)) and values[n] is self.news[n]:
            n += 1
        known, news = self.news[:n], self.news[n:]      # before anything changes
        self.values += known
        self.news = news
        self.n_told += n
        if n < len(values):
            self.forget_news()
        for value in values[n:]:
            if type(value) is str:
                try:
                    encoded = (<str>value).encode()
                except UnicodeEncodeError:
                    pass            # Arrow has no such text
                else:
                    self.add(encoded, len(<bytes>encoded), <str>value, self.values)
            self.n_told += 1
        return 0

    def codes_of(self, texts, str what="the column", places=None):
        """The texts of an Arrow stream: their codes, -1 where missing, and the text of each code.

        The known texts come first. Raises a TypeError if there is anything but texts, or
        dictionaries of texts; a UnicodeEncodeError if UTF-8 cannot represent one.

        Parameters
        ----------
        texts
            What `__arrow_c_stream__` of a series returns. With `places`, that of an array of
            categories, or these as an array of objects.
        what
            What an error calls the series.
        places
            Array with the position of each row in the categories, -1 where missing.
        """
        cdef list values
        if self.is_busy:        # called by another thread or a finalizer
            return Texts().codes_of(texts, what, places)
        self.is_busy = True
        self.forget_news()
        try:
            codes = (self.codes_in_objects(texts, what, places) if isinstance(texts, np.ndarray)
                     else self.codes_in_stream(texts, what, places))
            values = self.values + self.news if self.news else self.values
        finally:
            self.is_busy = False
            self.shrink()
        return codes, values

    cdef object codes_in_stream(self, stream, what, places):
        """The codes of the texts of a stream, or of those of its only array in some places."""
        cdef ArrowArrayStream* arrays = <ArrowArrayStream*>PyCapsule_GetPointer(
            stream, "arrow_array_stream")
        cdef Layout layout
        cdef char positions
        cdef int64_t row = 0
        cdef Chunk chunk
        cdef list codes = []
        if arrays.release == NULL:
            raise ValueError("the texts cannot be read: their stream was taken already")
        layout = layout_of(arrays, &positions)
        if layout == NO_TEXTS or (places is not None and positions != 0):
            raise TypeError("a stream of something else than texts")
        chunk = next_of(arrays)
        if places is not None:
            chunk = chunk or Chunk()        # empty
            return self.codes_in_places(&chunk.array, layout, what, places)
        while chunk is not None:
            codes.append(self.codes_in(&chunk.array, layout) if positions == 0 else
                         self.codes_by_dictionary(&chunk.array, layout, positions, row, what))
            row += chunk.array.length
            chunk = next_of(arrays)
        return codes[0] if len(codes) == 1 else np.concatenate(
            [np.empty(0, dtype=np.intc), *codes])

    cdef object codes_in_objects(self, texts, what, places):
        """The codes of those texts of an array of objects that are in some places."""
        cdef ArrowArray array
        cdef const void* buffers[2]
        cdef Py_buffer objects
        PyObject_GetBuffer(np.ascontiguousarray(texts, dtype=object), &objects, PyBUF_ND)
        try:
            memset(&array, 0, sizeof(array))
            buffers[0], buffers[1] = NULL, objects.buf
            array.length, array.buffers = objects.shape[0], buffers
            return self.codes_in_places(&array, OBJECTS, what, places)
        finally:
            PyBuffer_Release(&objects)

    cdef object codes_in_places(self, ArrowArray* dictionary, Layout layout, what, places):
        """As `codes_by_dictionary`, of an array of positions, -1 where missing."""
        cdef const int64_t[::1] positions = places.astype(np.int64, order="C")
        cdef ArrowArray array
        cdef const void* buffers[2]
        memset(&array, 0, sizeof(array))
        buffers[0], buffers[1] = NULL, &positions[0] if len(positions) else NULL
        array.length, array.buffers, array.dictionary = len(positions), buffers, dictionary
        return self.codes_by_dictionary(&array, layout, PLACES, 0, what)

    cdef object codes_in(self, const ArrowArray* array, Layout layout):
        """The codes of the texts of an array."""
        cdef int[::1] codes = np.empty(array.length, dtype=np.intc)
        cdef int64_t i, end = end_of(array, layout)
        cdef Span span
        for i in range(array.offset, array.offset + array.length):
            if is_missing(array, i):
                codes[i - array.offset] = -1
                continue
            if not locate(array, layout, i, end, &span):
                raise ValueError(OUTSIDE)
            codes[i - array.offset] = self.code(span.start, span.length)
        return codes.base

    cdef object codes_by_dictionary(self, const ArrowArray* array, Layout layout, char kind,
                                    int64_t row, what):
        """As `codes_in`, if the array has positions in a dictionary; `row` is its first row.

        A text is found when its position first occurs, and texts that do not occur get no codes. If
        the dictionary is much longer than the array, each text is found where its position occurs.
        """
        cdef int[::1] codes = np.empty(array.length, dtype=np.intc)
        cdef const ArrowArray* dictionary = array.dictionary
        cdef int64_t i, place, end = end_of(dictionary, layout)
        cdef int64_t n = dictionary.length if dictionary.length <= 4 * array.length else 0
        self.recall(dictionary, layout, end, n)
        for i in range(array.offset, array.offset + array.length):
            place = position(array, kind, i)
            if is_missing(array, i) or (place == -1 and kind == PLACES):
                codes[i - array.offset] = -1
                continue
            if not 0 <= place < dictionary.length:
                raise ValueError(
                    f"row {row + i - array.offset}: {what}: no category has the code "
                    f"{<object>place % 2**64 if kind == b'L' else <object>place}")
            if place >= n:
                codes[i - array.offset] = self.code_at(dictionary, layout, place, end)
                continue
            if self.places[place] < 0:
                self.places[place] = 1 + self.code_at(dictionary, layout, place, end)
            codes[i - array.offset] = self.places[place] - 1
        return codes.base

    cdef int recall(self, const ArrowArray* dictionary, Layout layout, int64_t end,
                    size_t n) except -1:
        """Find those of the first n texts of a dictionary that the last one had in the same places.

        That is faster than to find them in the table.
        """
        cdef int guess, n_texts = <int>self.n_texts()
        cdef size_t i
        for i in range(self.n_read):
            self.places[i] = min(self.places[i], ~self.places[i])
        self.n_read = 0
        if n > self.n_places:
            self.places = <int*>resized(self.places, n, sizeof(int))
            memset(self.places + self.n_places, 0xFF, (n - self.n_places) * sizeof(int))
            self.n_places = n
        self.n_read = n
        for i in range(n):
            guess = ~self.places[i] - 1
            if not 0 <= guess < n_texts:
                continue
            if not (self.is_object(guess, dictionary, i) if layout == OBJECTS else
                    self.is_text(guess, dictionary, layout, dictionary.offset + i, end)):
                memset(self.places + i, 0xFF, (n - i) * sizeof(int))
                break       # most likely all further texts are others, too
            self.places[i] = 1 + guess
        return 0

    cdef bint is_object(self, int code, const ArrowArray* dictionary, int64_t i) except -1:
        """Whether a code is that of an object of a dictionary."""
        value = object_of(dictionary, i)
        return type(value) is str and <str>value == self.value_of(code)

    cdef inline bint is_text(self, int code, const ArrowArray* dictionary, Layout layout, int64_t i,
                             int64_t end) noexcept nogil:
        """Whether a code is that of a text of a dictionary."""
        cdef const Text* known = &self.texts[code]
        cdef Span span
        cdef Key key
        if (is_missing(dictionary, i) or not locate(dictionary, layout, i, end, &span)
                or known.key.length != <size_t>span.length):
            return False
        if span.length > SHORT:
            return memcmp(self.bytes + known.start, span.start, span.length) == 0
        key = key_of(span.start, span.length)
        return key.first == known.key.first and key.last == known.key.last

    cdef int code_at(self, const ArrowArray* dictionary, Layout layout, int64_t place,
                     int64_t end) except -2:
        """The code of a text of a dictionary, -1 if it is missing."""
        cdef int64_t i = dictionary.offset + place
        cdef Span span
        if layout == OBJECTS:
            return self.code_of_value(object_of(dictionary, i))
        if is_missing(dictionary, i):
            return -1
        if not locate(dictionary, layout, i, end, &span):
            raise ValueError(OUTSIDE)
        return self.code(span.start, span.length)

    cdef int code_of_value(self, value) except -1:
        """As `code`, for a text of Python."""
        cdef bytes text
        if type(value) is not str:
            raise TypeError("something else than a text")
        text = (<str>value).encode()
        return self.add(text, len(text), <str>value, self.news)

    cdef inline int code(self, const char* text, size_t length) except -1:
        """The code of a text; a new one gets the next code."""
        cdef Key key = key_of(text, length)
        cdef int code = self.slots[self.slot_of(&key, text)]
        return code if code >= 0 else self.add(text, length, None, self.news)

    cdef int add(self, const char* text, size_t length, str value, list values) except -1:
        """Add a text to a list of values unless it is known; return its code.

        All is done with a copy of the bytes, because another thread may change them. The value is
        made of the copy if it is None.
        """
        cdef Text new
        cdef size_t slot, code = self.n_texts()
        self.reserve(length)
        memcpy(self.bytes + self.n_bytes, text, length)
        text = self.bytes + self.n_bytes
        new.key, new.start = key_of(text, length), self.n_bytes
        slot = self.slot_of(&new.key, text)
        if self.slots[slot] < 0:
            values.append(PyUnicode_DecodeUTF8(text, length, NULL) if value is None else value)
            self.slots[slot], self.texts[code] = <int>code, new
            self.n_bytes += length
        return self.slots[slot]

    cdef inline size_t slot_of(self, const Key* key, const char* text) noexcept nogil:
        """The slot of a text, or the free slot where it belongs."""
        cdef size_t slot = (hash_of(key) * ODD) >> self.shift
        cdef const Text* found
        while self.slots[slot] >= 0:
            found = &self.texts[self.slots[slot]]
            if (found.key.first == key.first and found.key.last == key.last
                    and found.key.length == key.length
                    and (key.length <= SHORT
                         or memcmp(self.bytes + found.start, text, key.length) == 0)):
                break
            slot = (slot + 1) & (self.n_slots - 1)
        return slot

    cdef int reserve(self, size_t length) except -1:
        """Make room for one more text of `length` bytes."""
        cdef size_t n_bytes = self.n_bytes + length
        if n_bytes >= self.byte_capacity:
            self.bytes = <char*>resized(self.bytes, 2 * n_bytes + 1, 1)
            self.byte_capacity = 2 * n_bytes + 1
        if self.n_texts() == self.capacity:
            self.resize(max(<size_t>16, 2 * self.capacity))
        return 0

    cdef int resize(self, size_t capacity) except -1:
        """Make room for `capacity` texts, a power of two. A MemoryError changes nothing."""
        cdef size_t code
        cdef const Text* text
        cdef int* slots = <int*>resized(NULL, capacity, 4 * sizeof(int))
        try:
            self.texts = <Text*>resized(self.texts, capacity, sizeof(Text))
        except MemoryError:
            free(slots)
            raise
        free(self.slots)
        self.slots, self.capacity, self.n_slots = slots, capacity, 4 * capacity
        self.shift = 64
        while <uint64_t>1 << (64 - self.shift) < self.n_slots:
            self.shift -= 1
        memset(self.slots, -1, self.n_slots * sizeof(int))
        for code in range(self.n_texts()):
            text = &self.texts[code]
            self.slots[self.slot_of(&text.key, self.bytes + text.start)] = <int>code
        return 0

    cdef void forget_news(self) noexcept:
        """Forget the new texts of a stream, the latest first."""
        cdef const Text* text
        cdef size_t code = self.n_texts()
        while code > <size_t>len(self.values):
            code -= 1
            text = &self.texts[code]
            self.slots[self.slot_of(&text.key, self.bytes + text.start)] = -1
            self.n_bytes = text.start
        self.news.clear()

    cdef int shrink(self) except -1:
        """Free memory if there is much of it; forget the news of a long stream first."""
        if self.capacity > ROOM or self.byte_capacity > BYTES:
            self.forget_news()
        if self.capacity > ROOM > 2 * self.n_texts():
            self.resize(ROOM)
        if self.n_places > ROOM:
            free(self.places)
            self.places, self.n_places, self.n_read = NULL, 0, 0
        if self.byte_capacity > 4 * self.n_bytes + BYTES:
            self.bytes = <char*>resized(self.bytes, self.n_bytes + 1, 1)
            self.byte_capacity = self.n_bytes + 1
        return 0
