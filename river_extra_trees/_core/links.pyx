"""Links from the columns of a batch to the columns of a schema. See the header."""

from cpython.object cimport PyObject
from libc.math cimport NAN
from libc.stdint cimport uint8_t

from .columns cimport Column
from .lists cimport item_of
from .schema cimport OTHER, Schema
from .texts cimport Texts


cdef int look_up_all(Schema schema, Column column, Link* link) except -1:
    """Look up the codes of all nominal values of a column.

    The first values need no look-up, as long as they are the same objects, in the same order, as
    the values of the schema. Columns of `Schema.texts_of` begin with all values of the schema.
    """
    cdef dict codes = <dict>schema.codes[link.nominal]
    cdef Texts texts = schema.texts.get(column.name)
    cdef list values = column.values
    cdef int code = 0
    if texts is not None and texts.has_codes_of_schema():
        while code < min(link.n_values, len(texts.values)) and (
                item_of(<PyObject*>values, code) == item_of(<PyObject*>texts.values, code)):
            link.known[code] = code
            code += 1
    if column.are_distinct and code == len(codes):      # no value of the schema is left
        for code in range(code, link.n_values):
            link.known[code] = UNKNOWN
    else:
        for code in range(code, link.n_values):
            link.known[code] = codes.get(values[code], UNKNOWN)
    return 0


cdef inline Py_ssize_t row_of(const Rows* rows, int i) noexcept nogil:
    """The i-th of the rows."""
    return rows.chosen[i] if rows.chosen != NULL else rows.first + i


cdef void encode_numbers(const Link* link, const Rows* rows, double* values, Py_ssize_t stride,
                         uint8_t* marks) noexcept nogil:
    """Encode the numbers of a column. If the column is new, mark the rows that have a number.

    An infinite number is missing here: the batch was checked, but the caller may have changed its
    arrays since.
    """
    cdef const char* numbers
    cdef double number
    cdef int i
    if link.numbers == NULL or link.numeric == IGNORED:
        return
    if link.numeric >= 0 and rows.chosen == NULL:   # the usual case, in a short loop
        numbers = link.numbers + rows.first * link.number_stride
        values += link.numeric * stride
        for i in range(rows.n):
            number = (<const double*>numbers)[0]
            values[i] = number if number - number == 0.0 else NAN
            numbers += link.number_stride
        return
    for i in range(rows.n):
        number = (<const double*>(link.numbers + row_of(rows, i) * link.number_stride))[0]
        if number - number != 0.0:
            continue
        if link.numeric >= 0:
            values[link.numeric * stride + i] = number
        else:
            marks[i] |= NEW


cdef void encode_codes(const Link* link, const Rows* rows, bint learns, double* values,
                       Py_ssize_t stride, uint8_t* marks) noexcept nogil:
    """Encode the nominal values of a column, and mark the rows that have new ones."""
    cdef int i, code
    if link.codes == NULL or link.nominal == IGNORED:
        return
    values += max(link.nominal, 0) * stride
    for i in range(rows.n):
        code = (<const int*>(link.codes + row_of(rows, i) * link.code_stride))[0]
        if not 0 <= code < link.n_values:
            continue
        if link.nominal < 0:
            marks[i] |= NEW
            continue
        code = link.known[code]
        values[i] = OTHER if code < 0 else code
        if code == UNSEEN or (learns and code == UNKNOWN and not link.are_distinct):
            marks[i] |= LOOK_UP
        if code == UNKNOWN:
            marks[i] |= NEW
