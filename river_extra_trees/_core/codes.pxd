"""The codes of nominal values.

The code of a value is a hash of 52 bits, which a double represents exactly. It depends on nothing
but the value: it is the same in every process and file, and there is no table of codes that could
be full. Two of n values have the same code with a probability of n ** 2 / 2 ** 53.

Values that are equal as keys of a dict have the same code: texts by their characters, bytes, tuples
and frozensets by their parts, numbers within these by their value. Any other object is known by its
type and its `repr`, which therefore must not contain its address.
"""

from libc.stdint cimport int64_t, uint64_t

cdef enum:
    CODE_BITS = 52
    DEEPEST = 40            # levels of tuples in a nominal value

cdef double code_of(object value) except -1.0
cdef double code_of_text(object text) noexcept
