"""A split: a feature, a threshold, and the side of the missing values."""

from libc.stdint cimport uint8_t

cdef struct Split:          # 16 bytes
    double threshold        # numeric: left when x <= threshold; nominal: left when x == threshold
    int feature             # column of the schema; -1: there is no split
    uint8_t nominal         # 1: compare with ==
    uint8_t missing_left    # 1: a missing value goes left


cdef inline bint goes_left(const Split* split, double value) noexcept nogil:
    """Whether a sample with this value of the feature goes left."""
    if value != value:
        return split.missing_left
    if split.nominal:
        return value == split.threshold
    return value <= split.threshold


cdef inline int goes_left_branchless(const Split* split, double value) noexcept nogil:
    """As `goes_left`, without branches: faster if several rows go down a tree together.

    A value equal to the threshold is `below` and `above`; a missing value is neither.
    """
    cdef int below = value <= split.threshold, above = value >= split.threshold
    return (below & (above | (split.nominal ^ 1))) | (((below | above) ^ 1) & split.missing_left)
