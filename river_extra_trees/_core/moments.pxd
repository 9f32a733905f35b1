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
