"""Running means and sums of squares of weighted values (West 1979)."""

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
