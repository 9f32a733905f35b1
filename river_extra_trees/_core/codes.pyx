"""The codes of nominal values. See the header."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

from .rng cimport mix

import numbers

import numpy as np

cdef extern from "Python.h":
    int kind_of "PyUnicode_KIND"(object) noexcept
    const void* data_of "PyUnicode_DATA"(object) noexcept
    Py_ssize_t length_of "PyUnicode_GET_LENGTH"(object) noexcept

# The kinds of values: the first words of their hashes. Never change these numbers, nor those below:
# the codes are in model files.
cdef enum:
    TEXT = 1
    BYTES = 2
    NUMBER = 3
    TUPLE = 4
    SET = 5
    OBJECT = 6

# Fowler, Noll and Vo: FNV-1a with 64 bits, over characters instead of bytes.
cdef uint64_t BASIS = 0xCBF29CE484222325
cdef uint64_t PRIME = 0x100000001B3

cdef tuple NUMBERS = (numbers.Number, np.bool_)

ctypedef fused Character:
    uint8_t
    uint16_t
    uint32_t


cdef inline uint64_t hash_characters(const Character* characters, Py_ssize_t n) noexcept nogil:
    cdef uint64_t found = BASIS
    cdef Py_ssize_t i
    for i in range(n):
        found = (found ^ characters[i]) * PRIME
    return found


cdef inline uint64_t joined(uint64_t kind, uint64_t content) noexcept nogil:
    return mix(mix(kind) ^ content)


cdef uint64_t hash_text(object text) noexcept:
    """The hash of a text: by its characters, in however many bytes Python stores them."""
    cdef Py_ssize_t n = length_of(text)
    cdef int width = kind_of(text)
    cdef uint64_t content
    if width == 1:
        content = hash_characters(<const uint8_t*>data_of(text), n)
    elif width == 2:
        content = hash_characters(<const uint16_t*>data_of(text), n)
    else:
        content = hash_characters(<const uint32_t*>data_of(text), n)
    return joined(TEXT, content)


cdef uint64_t hash_number(object value) except? 0:
    """The hash of a number: Python's is the same for equal numbers, in every process.

    That of -1 is the one of -2, because -1 stands for an error.
    """
    cdef Py_hash_t found = hash(value)
    return joined(NUMBER, <uint64_t>(-1 if found == -2 and value == -1 else found))


cdef uint64_t hash_object(object value) except? 0:
    """The hash of an object of another type, by its `repr`."""
    hash(value)     # raises if it may change
    kind, text = type(value), repr(value)
    if hex(id(value))[2:] in text.lower():
        raise TypeError(
            f"a value of type {kind.__name__!r} is not told from others by its repr, which is its "
            "address; use a text, or define __repr__"
        )
    return joined(OBJECT, hash_text(f"{kind.__module__}.{kind.__qualname__} {text}"))


cdef uint64_t hash_of(object value, int depth) except? 0:
    cdef uint64_t found = 0
    cdef const uint8_t[::1] content
    if isinstance(value, str):
        return hash_text(value)
    if isinstance(value, bytes):
        content = value
        return joined(BYTES, hash_characters(&content[0], len(value)) if len(value) else BASIS)
    if isinstance(value, NUMBERS):
        return hash_number(value)
    if not isinstance(value, (tuple, frozenset)):
        return hash_object(value)
    if depth == DEEPEST:
        raise ValueError(f"a nominal value must not have more than {DEEPEST} levels of tuples")
    if isinstance(value, frozenset):
        for each in value:
            found += hash_of(each, depth + 1)   # in any order
        return joined(SET, found)
    for each in value:
        found = joined(found, hash_of(each, depth + 1))
    return joined(TUPLE, found)


cdef double code_of(object value) except -1.0:
    """The code of a nominal value; raises if the value has none."""
    return <double>(hash_of(value, 0) >> (64 - CODE_BITS))


cdef double code_of_text(object text) noexcept:
    """`code_of` of a str."""
    return <double>(hash_text(text) >> (64 - CODE_BITS))
