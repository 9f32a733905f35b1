"""Running means and sums of squares of weighted values (West 1979).

A `Running` is the mean and variance of a column, by which its values are standardised.
"""

from libc.math cimport sqrt

cdef enum:
    RUNNING_MEMORY = 1000
    LARGEST_Z = 3           # of a standardised value

cdef struct Running:
    double n                    # number of values, at most RUNNING_MEMORY
    double mean, variance

cdef inline void follow_mean(double* mean, double value, double weight,
                             double total) noexcept nogil:
    """Add a value to a mean; `total` is the sum of all weights, with that of the value."""
    mean[0] += (value - mean[0]) * (weight / total)

cdef inline void follow_moments(double* mean, double* squares, double value, double weight,
                                double total) noexcept nogil:
    """Add a value to a mean and to the sum of squares about it."""
    cdef double delta = value - mean[0]
    follow_mean(mean, value, weight, total)
    squares[0] += weight * delta * (value - mean[0])

cdef inline void join_moments(double* mean, double* squares, double weight, double other_mean,
                              double other_squares, double other_weight) noexcept nogil:
    """Add the moments of other values to those of values with the total `weight`."""
    cdef double before = mean[0]
    if not other_weight > 0.0:
        return
    follow_mean(mean, other_mean, other_weight, weight + other_weight)
    squares[0] += other_squares + weight * (other_mean - before) * (mean[0] - before)

cdef inline double standardised(const Running* running, double value) noexcept nogil:
    """A value, standardised and limited; 0 if it is missing, or if all values were equal."""
    cdef double z
    if not running.variance > 0.0:
        return 0.0
    z = (value - running.mean) / sqrt(running.variance)
    return min(max(z, -<double>LARGEST_Z), <double>LARGEST_Z) if z == z else 0.0

cdef inline void follow_value(Running* running, double value) noexcept nogil:
    """Add a value; its difference from the mean is limited, so that squares are finite."""
    cdef double share, difference = min(max(value - running.mean, -1e150), 1e150)
    running.n = min(running.n + 1.0, <double>RUNNING_MEMORY)
    share = 1.0 / running.n
    running.mean += share * difference
    running.variance = (1.0 - share) * (running.variance + share * difference * difference)
