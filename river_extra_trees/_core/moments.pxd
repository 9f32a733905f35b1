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

cdef inline void follow_all(double* means, double* squares, const double* values, int n,
                            double weight, double total) noexcept nogil:
    """Add a value to each of n such pairs with one total; two are stored at once, for SIMD."""
    cdef double share = weight / total, first, second
    cdef int j
    for j in range(0, n - 1, 2):
        first, second = values[j] - means[j], values[j + 1] - means[j + 1]
        means[j], means[j + 1] = means[j] + first * share, means[j + 1] + second * share
        first = squares[j] + weight * first * (values[j] - means[j])
        second = squares[j + 1] + weight * second * (values[j + 1] - means[j + 1])
        squares[j], squares[j + 1] = first, second
    if n & 1:
        follow_moments(means + n - 1, squares + n - 1, values[n - 1], weight, total)

cdef inline void join_moments(double* mean, double* squares, double weight, double other_mean,
                              double other_squares, double other_weight) noexcept nogil:
    """Add the moments of other values to those of values with the total `weight`."""
    cdef double before = mean[0]
    if not other_weight > 0.0:
        return
    follow_mean(mean, other_mean, other_weight, weight + other_weight)
    squares[0] += other_squares + weight * (other_mean - before) * (mean[0] - before)
