"""The running sums `gram` and `hits`, which give the gradient of the squared error of classes."""

from libc.math cimport fabs
from libc.string cimport memset

from ..trees cimport HEADER, WEIGHT
from .answers cimport gather
from .ensemble cimport SQUARED_ERROR, Ensemble


cdef bint sums_run(Ensemble shrubs) noexcept nogil:
    """Whether `gram` and `hits` give the gradient."""
    return shrubs.loss == SQUARED_ERROR and not shrubs.trees.regression


cdef void count(Ensemble shrubs, int slot, double sign) noexcept nogil:
    """Add the outputs for a remembered sample to `gram` and `hits`, or take them away."""
    cdef Py_ssize_t places = shrubs.n_models + 1, n = shrubs.trees.n_roots, j, k, c
    cdef double weight = sign * shrubs.window.weight[slot], output
    cdef const double* h
    cdef double* row
    gather(shrubs, shrubs.leaves + slot, shrubs.window_size)
    for c in range(shrubs.width):
        h = shrubs.outputs + c * places
        for j in range(n):
            if h[j] != 0.0:
                output = weight * h[j]
                row = shrubs.gram + j * places
                for k in range(n):
                    row[k] += output * h[k]
    h = shrubs.outputs + <Py_ssize_t>shrubs.window.target[slot] * places
    for k in range(n):
        shrubs.hits[k] += weight * h[k]


cdef void count_newcomer(Ensemble shrubs, int newcomer) noexcept nogil:
    """Give the newcomer its row of `gram` and its `hits`.

    Where its leaf is pure, h is the indicator of y and <h, h_k> = h_k[y], of which `hits` is
    the sum already. Only samples in impure leaves differ from that.
    """
    cdef Py_ssize_t places = shrubs.n_models + 1, k, c
    cdef int i, slot
    cdef double weight, output
    cdef double* row = shrubs.gram + newcomer * places
    cdef const double* stats
    cdef const double* h
    shrubs.hits[newcomer] = shrubs.total_weight
    row[newcomer] = 0.0
    for k in range(newcomer):
        row[k] = shrubs.hits[k]
    for i in range(shrubs.window.n_sorted):
        slot = shrubs.window.by_arrival[i]
        stats = shrubs.trees.row(shrubs.leaves[newcomer * shrubs.window_size + slot])
        if stats[HEADER + <int>shrubs.window.target[slot]] == stats[WEIGHT]:
            continue
        weight = shrubs.window.weight[slot]
        gather(shrubs, shrubs.leaves + slot, shrubs.window_size)
        for c in range(shrubs.width):
            h = shrubs.outputs + c * places
            output = weight * h[newcomer]
            if c == <int>shrubs.window.target[slot]:
                output -= weight
                shrubs.hits[newcomer] += output
            if output != 0.0:
                for k in range(newcomer + 1):
                    row[k] += output * h[k]
    row[newcomer] += shrubs.hits[newcomer]
    for k in range(newcomer):
        shrubs.gram[k * places + newcomer] = row[k]


cdef void rebuild(Ensemble shrubs) noexcept nogil:
    """Sum everything over the window afresh."""
    cdef Py_ssize_t places = shrubs.n_models + 1, n = shrubs.trees.n_roots, k
    cdef int i
    for k in range(n):      # memory for trees that are not there is not touched
        memset(shrubs.gram + k * places, 0, n * sizeof(double))
    memset(shrubs.hits, 0, n * sizeof(double))
    shrubs.total_weight = 0.0
    shrubs.since_rebuild = 0
    for i in range(shrubs.window.n_sorted):
        shrubs.total_weight += shrubs.window.weight[shrubs.window.by_arrival[i]]
        if sums_run(shrubs):
            count(shrubs, shrubs.window.by_arrival[i], 1.0)


cdef double fill_sums(Ensemble shrubs, const double[::1] hits, const double[:, ::1] gram,
                      double total_weight, int since_rebuild) except -1:
    """Take over running sums; return the most that one differs by from a fresh sum.

    Sums that do not run stay zero.
    """
    cdef Py_ssize_t places = shrubs.n_models + 1, j, k, n = shrubs.trees.n_roots
    cdef bint run = sums_run(shrubs)
    rebuild(shrubs)
    cdef double worst = fabs(shrubs.total_weight - total_weight)
    for k in range(n):
        worst = max(worst, fabs(shrubs.hits[k] - hits[k]))
        shrubs.hits[k] = hits[k] if run else 0.0
        for j in range(n):
            worst = max(worst, fabs(shrubs.gram[k * places + j] - gram[k, j]))
            shrubs.gram[k * places + j] = gram[k, j] if run else 0.0
    shrubs.total_weight, shrubs.since_rebuild = total_weight, since_rebuild
    return worst
