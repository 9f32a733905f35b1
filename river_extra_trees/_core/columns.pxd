"""Columns of samples: numbers, nominal values by their codes, or both.

A `Column` holds one value of every row: a number, a nominal value by its code in a dictionary, or
neither where the value is missing. What counts as which, `classify` of the schema says. A value
that learners refuse is noted as the column is made, and refused when a learner reads it. Targets
are columns of numbers or of labels, and weights columns of numbers, without a name.
"""

cdef class Column:
    cdef readonly object name
    cdef readonly object numbers        # float64 array, NaN where there is no number; or None
    cdef readonly object codes          # int32 array, -1 where there is no nominal value; or None
    cdef readonly list values           # code -> nominal value
    cdef readonly Py_ssize_t length
    cdef readonly Py_ssize_t refused    # the first row whose value is refused; -1 if there is none
    cdef readonly object error          # ... and why
    cdef const double[:] number_view
    cdef const int[:] code_view
