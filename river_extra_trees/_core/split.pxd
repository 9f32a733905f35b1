"""A split, and what all growths of trees share.

A split is a feature, a threshold, and the side of the missing values.

A split on a nominal feature sends one value left, or a group of values. A group is a set of
buckets: a random function, which the salt names, puts each value into one of N_BUCKETS.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from .rng cimport Rng, mix, uniform

cdef enum:
    # `nominal` of a split:
    ONE_VALUE = 1           # compare with ==
    GROUP = 2               # a group of values with salt 0; of salt s: GROUP + s
    N_SALTS = 254
    N_BUCKETS = 52          # every set of so many is a whole number that a double represents
    MANY_VALUES = 16        # number of nominal values above which their splits follow other rules
    NO_VALUE = -2           # code of no nominal value: as a threshold, only missing values go left

cdef enum Criterion:
    GINI = 0
    ENTROPY = 1             # natural logarithm
    VARIANCE = 2

cdef struct Split:          # 16 bytes
    double threshold        # numeric: left when x <= threshold; one value: when x == threshold;
                            # group: the sum of 2 ** b over the buckets b that go left
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


cdef inline int bucket_of(int salt, double code) noexcept nogil:
    """The bucket of a nominal value, from 0 to N_BUCKETS - 1."""
    return <int>(mix((<uint64_t>code << 8) | <uint64_t>salt) % N_BUCKETS)


cdef inline bint is_in_group(double group, int salt, double code) noexcept nogil:
    """Whether a nominal value belongs to a group."""
    return (<int64_t>group >> bucket_of(salt, code)) & 1


cdef inline bint goes_left(const Split* split, double value) noexcept nogil:
    """Whether a sample with this value of the feature goes left."""
    if value != value:
        return split.missing_left
    if split.nominal >= GROUP:
        return is_in_group(split.threshold, split.nominal - GROUP, value)
    if split.nominal:
        return value == split.threshold
    return value <= split.threshold
