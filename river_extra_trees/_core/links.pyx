"""Links from the columns of a batch to the columns of a schema. See the header."""

from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from libc.math cimport NAN
from libc.stdint cimport uint8_t

from .lists cimport item_of
from .schema cimport OTHER


cdef int look_up_all(dict codes, list values, Link* link) except -1:
    """Look up the codes of nominal values.

    The first values need no look-up if they are the same objects as the keys of `codes`, in the
    same order. That is the case for lists from `Schema.texts_of`.
    """
    cdef PyObject* value
    cdef Py_ssize_t position = 0
    cdef int code = 0
    while (code < link.n_values and PyDict_Next(codes, &position, &value, NULL)
           and value == item_of(<PyObject*>values, code)):
        link.known[code] = code
        code += 1
    for code in range(code, link.n_values):
        link.known[code] = codes.get(values[code], UNKNOWN)
    return 0


cdef inline Py_ssize_t row_of(const Rows* rows, int i) noexcept nogil:
    """The i-th of the rows."""
    return rows.chosen[i] if rows.chosen != NULL else rows.first + i


cdef void encode_numbers(const Link* link, const Rows* rows, double* values, Py_ssize_t step,
                         uint8_t* marks) noexcept nogil:
    """Encode the numbers of a column; mark the rows that have one if the column is new.

    The numbers are checked again, because the caller may have changed the arrays.
    """
    cdef const char* numbers
    cdef double number
    cdef int i
    if link.numbers == NULL or link.numeric == IGNORED:
        return
    if link.numeric >= 0 and rows.chosen == NULL:   # the usual case, in a short loop
        numbers = link.numbers + rows.first * link.number_step
        values += link.numeric * step
        for i in range(rows.n):
            number = (<const double*>numbers)[0]
            values[i] = number if number - number == 0.0 else NAN
            numbers += link.number_step
        return
    for i in range(rows.n):
        number = (<const double*>(link.numbers + row_of(rows, i) * link.number_step))[0]
        if number - number != 0.0:
            continue
        if link.numeric >= 0:
            values[link.numeric * step + i] = number
        else:
            marks[i] |= NEW


cdef void encode_codes(const Link* link, const Rows* rows, bint learns, double* values,
                       Py_ssize_t step, uint8_t* marks) noexcept nogil:
    """Encode the nominal values of a column, and mark the rows that have new ones."""
    cdef int i, code
    if link.codes == NULL or link.nominal == IGNORED:
        return
    values += max(link.nominal, 0) * step
    for i in range(rows.n):
        code = (<const int*>(link.codes + row_of(rows, i) * link.code_step))[0]
        if not 0 <= code < link.n_values:
            continue
        if link.nominal < 0:
            marks[i] |= NEW
            continue
        code = link.known[code]
        values[i] = OTHER if code < 0 else code
        if code == UNSEEN or (learns and code == UNKNOWN):
            marks[i] |= FOUND
        if code == UNKNOWN:
            marks[i] |= NEW
