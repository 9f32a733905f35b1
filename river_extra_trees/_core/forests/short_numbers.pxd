"""Non-negative numbers in a few bytes: small whole numbers take one or three, all others nine."""

from libc.stdint cimport uint16_t
from libc.string cimport memcpy

cdef enum:
    SHORT_NUMBER = 254          # first byte: a whole number in the next two bytes
    LONG_NUMBER = 255           # first byte: a double in the next eight bytes
    MOST_NUMBER_BYTES = 9       # of a number


cdef inline unsigned char* put(unsigned char* at, double value) noexcept nogil:
    """Write a non-negative number; return the position after it."""
    cdef uint16_t whole
    if value < SHORT_NUMBER and value == <int>value:
        at[0] = <unsigned char>value
        return at + 1
    if value < 65536.0 and value == <int>value:
        at[0], whole = SHORT_NUMBER, <uint16_t>value
        memcpy(at + 1, &whole, sizeof(whole))
        return at + 1 + sizeof(whole)
    at[0] = LONG_NUMBER
    memcpy(at + 1, &value, sizeof(value))
    return at + 1 + sizeof(value)


cdef inline const unsigned char* get(const unsigned char* at, double* value) noexcept nogil:
    """Read a number; return the position after it."""
    cdef uint16_t whole
    if at[0] < SHORT_NUMBER:
        value[0] = at[0]
        return at + 1
    if at[0] == SHORT_NUMBER:
        memcpy(&whole, at + 1, sizeof(whole))
        value[0] = whole
        return at + 1 + sizeof(whole)
    memcpy(value, at + 1, sizeof(double))
    return at + 1 + sizeof(double)
