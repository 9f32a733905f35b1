"""Targets and weights of samples as numbers, or an error that says what is wrong with them."""

from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_CheckExact
from cpython.long cimport PyLong_Check
from libc.math cimport INFINITY, fabs

from .feature_values cimport is_number

from . import state as limits
from .safe_repr import safe_repr

cdef double LARGEST_TARGET = limits.LARGEST_TARGET
cdef double LARGEST_WEIGHT = limits.LARGEST_WEIGHT
cdef double FAINTEST_WEIGHT = limits.FAINTEST_WEIGHT


cdef double as_double(object value, str name) except? -1.0:
    """A number, infinity where it is too large for a double, or an error that names it."""
    if PyFloat_CheckExact(value):
        return PyFloat_AS_DOUBLE(value)
    try:
        if PyFloat_Check(value):
            return float(value)     # a subclass may have its own
        if PyLong_Check(value) or is_number(value):
            return value
    except OverflowError:
        return INFINITY
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{name} must be a number, not {type(value).__name__!r}")


cdef double read_weight(object w) except -1.0:
    """A sample weight, 0 if it underflows, or an error that says what is wrong with it."""
    cdef double weight = as_double(w, "w")
    if not 0.0 <= weight <= LARGEST_WEIGHT:
        raise ValueError(f"w must be between 0 and {LARGEST_WEIGHT:g}, not {safe_repr(w)}")
    return weight if weight >= FAINTEST_WEIGHT else 0.0


cdef double read_number(object y) except? -1.0:
    """A numeric target, or an error that says what is wrong with it."""
    cdef double target = as_double(y, "the target")
    if not fabs(target) <= LARGEST_TARGET:
        raise ValueError(
            f"the target must be a finite number of at most {LARGEST_TARGET:g}, not {safe_repr(y)}"
        )
    return target
