"""Logistic leaves. See the header."""

from libc.math cimport exp, fabs, isfinite, log, pow, sqrt
from libc.string cimport memcpy, memset

from .grove cimport Leaf
from .particles cimport Particles
from .slopes cimport Slopes

cdef int WINDOW_STEPS = 5               # of Newton's method, from zero
cdef double PRECISION = 1.0             # of both priors
cdef double LARGEST_STEP = 5.0          # sum over the coefficients; Newton's method may go too far
cdef double LARGEST_LOG_ODDS = 10.0     # no regression is surer than this


cdef int fit_window(Particles cloud) except -1:
    """The regressions on all active points, which are the prior of those in the leaves."""
    cdef Slopes slopes = cloud.slopes
    cdef int slot, model, _, n = 0
    cdef double* at
    slopes.shape(cloud.model.n_regressors, cloud.model.n_classes, cloud.pool.capacity)
    for slot in range(cloud.pool.capacity):
        if cloud.pool.arrival[slot] >= 0:
            slopes.slots[n] = slot
            slopes.weights[slot] = cloud.pool.weight[slot]
            n += 1
    with nogil:
        scale_points(cloud, slopes, n)
        for model in range(slopes.n_models):
            at = slopes.window + model * slopes.size
            memset(at, 0, slopes.size * sizeof(double))
            for _ in range(WINDOW_STEPS):
                fit_points(slopes, n, model, at)
                newton_step(cloud, slopes, slopes.slots, n, model, slopes.nothing, at)
            fit_points(slopes, n, model, at)
    return 0


cdef void scale_points(Particles cloud, Slopes slopes, int n) noexcept nogil:
    """The active points in units of each regressor's deviation, as seen from its mean."""
    cdef int i, j, slot
    cdef double gap, square, mean
    cdef const double* v = cloud.pool.v
    cdef size_t width = cloud.pool.size_v
    for j in range(slopes.size - 1):
        mean = square = 0.0
        for i in range(n):
            gap = v[slopes.slots[i] * width + j] - mean
            mean += gap / (i + 1)
            square += gap * (v[slopes.slots[i] * width + j] - mean)
        slopes.centre[j] = mean
        slopes.shrink[j] = sqrt(n / square) if square > 1e-24 * n * mean * mean else 0.0
    for i in range(n):
        slot = slopes.slots[i]
        scaled(slopes, v + slot * width, slopes.points + <size_t>slot * slopes.size)


cdef inline void scaled(Slopes slopes, const double* v, double* z) noexcept nogil:
    """A point in the scale of the window, behind a one for the intercept."""
    cdef int j
    z[0] = 1.0
    for j in range(slopes.size - 1):
        z[1 + j] = (v[j] - slopes.centre[j]) * slopes.shrink[j]


cdef inline double chance(const double* at, const double* z, int size) noexcept nogil:
    """Probability of a regression with coefficients `at` for the point z."""
    cdef double log_odds = 0.0
    cdef int j
    for j in range(size):
        log_odds += at[j] * z[j]
    return 1.0 / (1.0 + exp(-min(max(log_odds, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)))


cdef void fit_points(Slopes slopes, int n, int model, const double* at) noexcept nogil:
    """What a regression says of the active points."""
    cdef int i, slot
    for i in range(n):
        slot = slopes.slots[i]
        slopes.fitted[<size_t>model * slopes.capacity + slot] = chance(
            at, slopes.points + <size_t>slot * slopes.size, slopes.size)


cdef void newton_step(
    Particles cloud, Slopes slopes, const int* slots, int n, int model, const double* prior,
    double* at,
) noexcept nogil:
    """Move the coefficients `at`, by which the points are fitted, toward the posterior mode."""
    cdef int i, j, k, slot, size = slopes.size, code = 1 if slopes.n_models == 1 else model
    cdef size_t width = cloud.pool.size_v
    cdef double p, gap, curvature, part, total = 0.0
    cdef const double* z
    cdef double* row = slopes.hessian
    memset(row, 0, size * (size + 1) // 2 * sizeof(double))
    for j in range(size):
        slopes.gradient[j] = PRECISION * (at[j] - prior[j])
        row[j] = PRECISION
        row += j + 1
    for i in range(n):
        slot = slots[i]
        z = slopes.points + <size_t>slot * size
        p = slopes.fitted[<size_t>model * slopes.capacity + slot]
        gap = slopes.weights[slot] * (p - (<int>cloud.pool.v[slot * width + width - 1] == code))
        curvature = slopes.weights[slot] * p * (1.0 - p)
        row = slopes.hessian
        for j in range(size):
            slopes.gradient[j] += gap * z[j]
            part = curvature * z[j]
            for k in range(j + 1):
                row[k] += part * z[k]
            row += j + 1
    solve(slopes.hessian, slopes.gradient, size)
    for j in range(size):
        total += fabs(slopes.gradient[j])
    if not isfinite(total):     # the weights drown the prior, and features repeat each other
        return
    part = min(1.0, LARGEST_STEP / total) if total > 0.0 else 1.0
    for j in range(size):
        at[j] -= part * slopes.gradient[j]


cdef void solve(double* matrix, double* b, int size) noexcept nogil:
    """Replace b by the solution of matrix x = b; the packed positive matrix becomes its factor."""
    cdef int i, j, k
    cdef double* row = matrix
    cdef double* other
    for i in range(size):
        other = matrix
        for j in range(i):
            for k in range(j):
                row[j] -= row[k] * other[k]
            row[j] /= other[j]
            b[i] -= row[j] * b[j]
            other += j + 1
        for k in range(i):
            row[i] -= row[k] * row[k]
        row[i] = sqrt(row[i])
        b[i] /= row[i]
        row += i + 1
    for i in range(size - 1, -1, -1):
        row -= i + 1
        b[i] /= row[i]
        for j in range(i):
            b[j] -= row[j] * b[i]


cdef const double* class_chances(
    Particles cloud, Slopes slopes, int visit
) noexcept nogil:
    """Probabilities of the classes of the point in `v`, in a leaf that was found for it."""
    cdef const Leaf* leaf = &cloud.grove.leaves[
        cloud.grove.nodes[cloud.visits[visit].node].left]
    cdef const int* slots = cloud.grove.slots + leaf.slots
    cdef const double* window
    cdef int i, model
    cdef double total = 0.0
    if slopes.n_classes == 1:
        slopes.chances[0] = 1.0
        return slopes.chances
    scaled(slopes, cloud.v, slopes.asked)
    for i in range(leaf.n_active):
        slopes.weights[slots[i]] = cloud.pool.weight[slots[i]] * pow(
            leaf.decay, <double>(cloud.n_seen + 1 - cloud.pool.arrival[slots[i]]))
    for model in range(slopes.n_models):
        window = slopes.window + model * slopes.size
        memcpy(slopes.leaf, window, slopes.size * sizeof(double))
        newton_step(cloud, slopes, slots, leaf.n_active, model, window, slopes.leaf)
        slopes.chances[model] = chance(slopes.leaf, slopes.asked, slopes.size)
        total += slopes.chances[model]
    if slopes.n_models == 1:
        slopes.chances[1] = slopes.chances[0]
        slopes.chances[0] = 1.0 - slopes.chances[1]
        return slopes.chances
    for model in range(slopes.n_models):
        slopes.chances[model] /= total
    return slopes.chances


cdef void weigh_by_chances(Particles cloud, Slopes slopes, int code) noexcept nogil:
    """The log weight of each visit: that of the class of the point in `v`."""
    cdef int visit
    for visit in range(cloud.n_visits):
        cloud.visits[visit].log_weight = log(class_chances(cloud, slopes, visit)[code])
