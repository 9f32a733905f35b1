"""A split, and what all growths of trees share.

A split is a feature, a threshold, and the side of the missing values.

A split on a nominal feature sends one value left, or a set of values (`value_sets`).
"""

from libc.stdint cimport uint8_t

from .rng cimport Rng, uniform
from .value_sets cimport values_at, values_go_left

cdef enum:
    # `nominal` of a split:
    ONE_VALUE = 1           # compare with ==
    VALUES = 2              # a set of values
    NO_VALUE = -2           # code of no nominal value: as a threshold, only missing values go left

cdef enum Criterion:
    GINI = 0
    ENTROPY = 1             # natural logarithm
    VARIANCE = 2

cdef struct Split:          # 16 bytes
    double threshold        # numeric: left when x <= threshold; one value: when x == threshold;
                            # values: the address of a `ValueSet`
    int feature             # column of the schema; -1: there is no split
    uint8_t nominal         # 0: numeric; or a number of the list above
    uint8_t missing_left    # 1: a missing value goes left

cdef struct Candidate:      # for the split of a node
    Split split             # split.feature: a column of the growth; -1: no split found
    double score            # higher is better


cdef inline double random_threshold(Rng* rng, double low, double high) noexcept nogil:
    """A threshold between two different values, uniform on [low, high)."""
    cdef double threshold = low + uniform(rng) * (high - low)
    if not low <= threshold < high:         # rounded up, or the difference overflows
        return low
    return threshold


cdef inline bint goes_left(const Split* split, double value) noexcept nogil:
    """Whether a sample with this value of the feature goes left."""
    if value != value:
        return split.missing_left
    if split.nominal == VALUES:
        return values_go_left(values_at(split.threshold), value)
    if split.nominal:
        return value == split.threshold
    return value <= split.threshold
