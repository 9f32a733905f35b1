"""Codes of texts in Arrow buffers: a known text is encoded without a Python object.

`Texts` finds the code of a text by its bytes, in an open hash table (linear probing, at most a
quarter full). The schema has such an object for each nominal column that a frame provided as texts.
It registers the values of the column with `know`. Other texts in a stream of Arrow arrays get
higher codes. They are removed before the next stream, unless the schema has learned them meanwhile.
Removing the latest text only frees its slot: no insertion moves another text, so the table is then
as it was before.

Nobody can choose texts that share slots without knowing the random keys of this process. Short
texts are hashed as two words by NH, whose results differ with high probability (Black, Halevi,
Krawczyk, Krovetz, Rogaway 1999, "UMAC: Fast and secure message authentication", section 3), and
then by multiply-shift (Dietzfelbinger, Hagerup, Katajainen, Penttonen 1997). For longer texts
Python's own hash function replaces the first word.

A text of a dictionary is found when its position first occurs. Learners usually meet a dictionary
again. So its texts are first compared with those that the last dictionary had in the same places,
which is faster than the table.

The arrays come through the Arrow C stream interface (see `arrow_texts`), which polars and pyarrow
provide; pandas provides the codes and categories of a categorical separately. Positions in a
dictionary are checked against its length. If another thread changes the bytes meanwhile, any text
may be read, but each code has one text, and all texts are valid.
"""

cimport cython
from libc.stdint cimport int64_t, uint64_t

from .arrow cimport ArrowArray
from .arrow_texts cimport Layout

cdef struct Key:            # equal for equal texts
    uint64_t first, last    # up to 16 bytes: the text itself; the words may overlap
    size_t length           # more bytes: a hash, and the last 8 bytes

cdef struct Text:
    Key key
    size_t start            # position of its bytes in `bytes`

@cython.final
cdef class Texts:
    cdef readonly list values   # code -> known text; it only grows, so that columns can share it
    cdef list news              # further texts of the latest stream
    cdef readonly Py_ssize_t n_told     # number of values passed to `know`, texts or not
    cdef Text* texts            # code -> its bytes
    cdef char* bytes            # bytes of all texts, concatenated
    cdef int* slots             # hash table: slot -> code; -1: free
    cdef size_t n_slots         # a power of two
    cdef int shift              # 64 minus the number of bits of a slot
    cdef size_t capacity        # of `texts`
    # Place in the dictionary that is read -> 1 + code of its text. Until the text is found: the
    # bitwise complement of that of an earlier dictionary, or -1.
    cdef int* places
    cdef size_t n_places
    cdef size_t n_read          # number of places of the latest dictionary
    cdef size_t n_bytes         # number of used bytes in `bytes`
    cdef size_t byte_capacity
    cdef bint is_busy           # whether a stream is being read, or values become known

    cdef int take(self, list values) except -1
    cdef object codes_in_stream(self, stream, what, places)
    cdef object codes_in_objects(self, texts, what, places)
    cdef object codes_in_places(self, ArrowArray* dictionary, Layout layout, what, places)
    cdef object codes_in(self, const ArrowArray* array, Layout layout)
    cdef object codes_by_dictionary(self, const ArrowArray* array, Layout layout, char kind,
                                    int64_t row, what)
    cdef int recall(self, const ArrowArray* dictionary, Layout layout, int64_t end,
                    size_t n) except -1
    cdef int code_at(self, const ArrowArray* dictionary, Layout layout, int64_t place,
                     int64_t end) except -2
    cdef bint is_object(self, int code, const ArrowArray* dictionary, int64_t i) except -1
    cdef bint is_text(self, int code, const ArrowArray* dictionary, Layout layout, int64_t i,
                      int64_t end) noexcept nogil
    cdef int code_of_value(self, value) except -1
    cdef int code(self, const char* text, size_t length) except -1
    cdef int add(self, const char* text, size_t length, str value, list values) except -1
    cdef size_t slot_of(self, const Key* key, const char* text) noexcept nogil
    cdef int reserve(self, size_t length) except -1
    cdef int resize(self, size_t capacity) except -1

    cdef inline str value_of(self, int code):
        cdef int n = <int>len(self.values)
        return <str>self.values[code] if code < n else <str>self.news[code - n]

    cdef inline size_t n_texts(self) noexcept:
        return len(self.values) + len(self.news)

    cdef inline bint has_codes_of_schema(self) noexcept:
        """Whether all values that `know` received are texts, so that their codes are the same."""
        return self.n_told == len(self.values)

    cdef void forget_news(self) noexcept
    cdef int shrink(self) except -1
