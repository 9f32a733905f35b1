"""Links from the columns of a batch to the columns of a schema."""

from libc.stdint cimport uint8_t

from .columns cimport Column
from .schema cimport Schema

cdef enum:
    UNKNOWN = -2    # not in the schema yet; known codes are OTHER or >= 0
    IGNORED = -3    # the schema has the maximum number of columns
    UNSEEN = -4     # not looked up yet

cdef enum:
    # Marks of a row, as bits: what only Python code can do for it.
    LOOK_UP = 1     # a nominal value has to be looked up
    NEW = 2         # a feature or a nominal value is not in the schema

cdef struct Link:
    # A column of the batch, and the columns of the schema to which its values belong.
    const char* numbers     # first number, or NULL if the column has none; strides are in bytes
    Py_ssize_t number_stride
    const char* codes       # first code of a nominal value, or NULL if the column has none
    Py_ssize_t code_stride
    int numeric             # column of the schema for the numbers, UNKNOWN or IGNORED
    int nominal             # column of the schema for the nominal values, UNKNOWN or IGNORED
    int n_values
    bint are_distinct       # see `Column.are_distinct`
    int* known              # code in the batch -> code in the schema, or UNKNOWN or UNSEEN

cdef struct Rows:
    # Rows of a batch that are encoded together.
    int n
    Py_ssize_t first            # the first of consecutive rows, if `chosen` is NULL
    const Py_ssize_t* chosen    # the rows, or NULL

cdef int look_up_all(Schema schema, Column column, Link* link) except -1
cdef void encode_numbers(const Link* link, const Rows* rows, double* values, Py_ssize_t stride,
                         uint8_t* marks) noexcept nogil
cdef void encode_codes(const Link* link, const Rows* rows, bint learns, double* values,
                       Py_ssize_t stride, uint8_t* marks) noexcept nogil
