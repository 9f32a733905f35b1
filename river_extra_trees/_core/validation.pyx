"""Validation of features, targets and weights. See the header."""

from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_CheckExact
from cpython.long cimport PyLong_Check
from libc.math cimport INFINITY, NAN, fabs

from collections.abc import Mapping
from datetime import date, time, timedelta
from time import struct_time

import numpy as np

from .codes cimport code_of, code_of_text

from . import state as limits
from .safe_repr import safe_repr, with_text

cdef double LARGEST_TARGET = limits.LARGEST_TARGET
cdef double LARGEST_WEIGHT = limits.LARGEST_WEIGHT
cdef double FAINTEST_WEIGHT = limits.FAINTEST_WEIGHT

# Each moment would be a nominal value of its own, of no use to a tree.
cdef tuple DATES = (date, time, timedelta, struct_time, np.datetime64, np.timedelta64)

# Types that numpy converts to floats, although they are not real numbers.
cdef type ARRAY = np.ndarray
cdef type FLOAT64 = np.float64
cdef tuple NO_NUMBERS = (np.datetime64, np.timedelta64, np.flexible, np.complexfloating)

cdef dict as_dict(object x):
    """The sample as a dict; if its class overrides `items`, a dict of these items."""
    if isinstance(x, dict) and type(x).items is dict.items:
        return <dict>x
    if isinstance(x, Mapping):
        return dict(x.items())
    raise TypeError(f"x must be a mapping of feature names to values, not {type(x).__name__!r}")


cdef bint is_number(object value) except -1:
    """Whether a value is a number, or an array of one, and not only to numpy."""
    if isinstance(value, ARRAY):
        return value.dtype.kind in "biuf"
    return hasattr(value, "__float__") and not isinstance(value, NO_NUMBERS)


cdef Kind classify(object name, object value, double* number) except *:
    """The kind of a feature value; write the number, or the code of a nominal value."""
    number[0] = NAN
    if value is None:
        return MISSING
    if PyFloat_CheckExact(value):
        number[0] = PyFloat_AS_DOUBLE(value)
    elif type(value) is str:
        number[0] = code_of_text(value)
        return CATEGORY
    elif isinstance(value, (str, bytes)):
        check_hashable(name, value)
        number[0] = code_of(value)
        return CATEGORY
    elif not is_number(value):
        if isinstance(value, (complex, np.complexfloating)):
            raise TypeError(
                f"feature {safe_repr(name)}: complex numbers have no order: {safe_repr(value)}"
            )
        if isinstance(value, DATES) and not is_missing(value):      # NaT is missing
            refuse_date(name, value)
        check_hashable(name, value)
        if isinstance(value, (tuple, frozenset)) and holds_nan(value):
            raise ValueError(
                f"feature {safe_repr(name)}: a nominal value must not hold NaN: {safe_repr(value)}"
            )
        if is_missing(value):
            return MISSING
        try:
            number[0] = code_of(value)
        except (TypeError, ValueError) as error:
            raise with_text(error, f"feature {safe_repr(name)}: {error}") from None
        return CATEGORY
    else:
        check_hashable(name, value)
        try:
            number[0] = float(value)
        except OverflowError:
            raise ValueError(f"feature {safe_repr(name)}: too large a number for a float") from None
        except (TypeError, ValueError) as error:
            raise with_text(error, f"feature {safe_repr(name)}: {error}") from None
    if number[0] == INFINITY or number[0] == -INFINITY:
        raise ValueError(
            f"feature {safe_repr(name)}: the value must be finite, not {safe_repr(value)}"
        )
    return NUMBER if number[0] == number[0] else MISSING


cdef int refuse_date(object name, object value) except -1:
    raise TypeError(
        f"feature {safe_repr(name)}: a date, a time or a duration is no number: "
        f"{safe_repr(value)}. Turn it into numbers first, such as the weekday, the hour or the "
        "days since a date, for instance with river.compose.FuncTransformer"
    )


cdef bint is_missing(object value) except -1:
    """Whether a value is missing: NaN, NaT and pandas' NA are not equal to themselves."""
    differs = value != value
    if isinstance(differs, (bool, np.bool_)):
        return bool(differs)
    return differs is value or bool(differs)    # a comparison with NA returns NA


cdef bint holds_nan(object value) except -1:
    """Whether a value or a tuple contains NaN, so that a dict cannot find it again."""
    cdef list inside
    if not isinstance(value, (tuple, frozenset)):
        return type(value) is not str and is_missing(value)
    inside = [value]
    while inside:
        value = inside.pop()
        if isinstance(value, (tuple, frozenset)):
            inside.extend(value)
        elif is_missing(value):
            return True
    return False


cdef int check_name(object name) except -1:
    """Raise an error for a feature name that a dict cannot find again."""
    if holds_nan(name):
        raise ValueError(f"feature {safe_repr(name)}: a name must not be NaN, nor hold one")
    return 0


cdef int check_hashable(object name, object value) except -1:
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"feature {safe_repr(name)}: a value of type {type(value).__name__!r} is neither a "
            "number nor hashable"
        ) from None
    return 0


cdef object order_of(tuple column):
    """Sort key of a new column, for names of any mixture of types."""
    kind = type(column[0]).__name__
    try:
        return kind, str(column[0]), column[1]
    except ValueError:      # Python does not write integers of more than 4,300 digits
        return kind, str(hash(column[0])), column[1]


# --- Targets and weights ---------------------------------------------------------------------

cdef double as_double(object value, str name) except? -1.0:
    """A number as a double, infinity if it is too large; or an error."""
    if PyFloat_CheckExact(value):
        return PyFloat_AS_DOUBLE(value)
    try:
        if PyFloat_Check(value):
            return float(value)     # a subclass may define `__float__`
        if PyLong_Check(value) or is_number(value):
            return value
    except OverflowError:
        return INFINITY
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{name} must be a number, not {type(value).__name__!r}")


cdef double read_weight(object w) except -1.0:
    """A sample weight as a double, 0 if it underflows; or an error."""
    cdef double weight = as_double(w, "w")
    if not 0.0 <= weight <= LARGEST_WEIGHT:
        raise ValueError(f"w must be between 0 and {LARGEST_WEIGHT:g}, not {safe_repr(w)}")
    return weight if weight >= FAINTEST_WEIGHT else 0.0


cdef double read_number(object y) except? -1.0:
    """A numeric target as a double; or an error."""
    cdef double target = as_double(y, "the target")
    if not fabs(target) <= LARGEST_TARGET:
        raise ValueError(
            f"the target must be a finite number of at most {LARGEST_TARGET:g}, not {safe_repr(y)}"
        )
    return target


def fit_of(dict x, dict layout, frozenset missing, Py_ssize_t n_columns):
    """How a sample fits columns: 2 if these are its features, 1 if some are missing, else 0.

    A value fits if it is a number, or in a nominal column a text that is certainly its own name; of
    unknown columns, only numbers fit. `layout` has by name the sum of 1 for a nominal column, 2 for
    each of the `n_columns`, and 4 for a column whose values may have to be converted.
    """
    cdef Py_ssize_t n_present = 0
    cdef int column
    for name, value in x.items():
        column = layout.get(name, 0)
        if value is None:
            continue
        if column & 4:
            return 0
        if column & 1:
            if type(value) is not str or value in missing or not is_name(value):
                return 0
        elif type(value) is float or type(value) is FLOAT64:
            if value != value:
                continue
        elif type(value) is not int and type(value) is not bool:
            return 0
        n_present += (column >> 1) & 1
    return 2 if n_present == n_columns == len(x) else 1


cdef bint is_name(str text) noexcept:
    """Whether a text is certainly no number, truth value or date, and has no blanks around it.

    It begins with a letter, or consists of digits.
    """
    cdef Py_ssize_t n = len(text)
    if n == 0 or text[n - 1].isspace():
        return False
    if text[0].isalpha():
        return text[0] not in "tTfF" or not 4 <= n <= 5
    return text.isdigit()
