"""Links from the columns of a batch to the columns of a schema. See the header."""

from cpython.dict cimport PyDict_Next
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
    the values of the schema. Columns that were made for this schema begin with all of these.
    """
    cdef dict codes = <dict>schema.codes[link.nominal]
    cdef Texts texts = schema.texts.get(column.name)
    cdef list values = column.values
    cdef PyObject* found = <PyObject*>values
    cdef PyObject* told
    cdef PyObject* value
    cdef int* known = link.known
    cdef int code = 0, n = link.n_values
    cdef Py_ssize_t position = 0
    if texts is not None and texts.has_codes_of_schema():       # faster than the dict
        told, n = <PyObject*>texts.values, <int>min(<Py_ssize_t>n, len(texts.values))
        while code < n and item_of(found, code) == item_of(told, code):
            known[code] = code
            code += 1
    else:
        while (code < n and PyDict_Next(codes, &position, &value, NULL)
                and item_of(found, code) == value):
            known[code] = code
            code += 1
    if column.are_distinct and code == len(codes):      # no value of the schema is left
        for code in range(code, link.n_values):
            known[code] = UNKNOWN
    else:
        for code in range(code, link.n_values):
            known[code] = codes.get(values[code], UNKNOWN)
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
    cdef const char* codes = link.codes
    cdef const int* known = link.known
    cdef Py_ssize_t code_stride = link.code_stride
    cdef int i, code, nominal = link.nominal, n = rows.n, n_values = link.n_values
    cdef uint8_t unknown = NEW if link.are_distinct or not learns else NEW | LOOK_UP
    if codes == NULL or nominal == IGNORED:
        return
    values += max(nominal, 0) * stride
    for i in range(n):
        code = (<const int*>(codes + row_of(rows, i) * code_stride))[0]
        if not 0 <= code < n_values:
            continue
        if nominal < 0:
            marks[i] |= NEW
            continue
        code = known[code]
        values[i] = max(code, <int>OTHER)
        if code < OTHER:
            marks[i] |= LOOK_UP if code == UNSEEN else unknown
