"""The gradient of the loss by the weights, eq. (5)."""

from libc.math cimport exp, sqrt
from libc.string cimport memset

from ..trees cimport HEADER, WEIGHT
from .answers cimport answer, gather
from .ensemble cimport Ensemble
from .sums cimport sums_run


cdef void standardise(Ensemble shrubs) noexcept nogil:
    """Centre and scale of the targets in the window."""
    cdef double total = 0.0, delta, squares = 0.0
    cdef int i, slot
    shrubs.centre, shrubs.scale = 0.0, 1.0
    if not shrubs.standardised:
        return
    for i in range(shrubs.window.n_sorted):       # West (1979)
        slot = shrubs.window.by_arrival[i]
        total += shrubs.window.weight[slot]
        delta = shrubs.window.target[slot] - shrubs.centre
        shrubs.centre += delta * (shrubs.window.weight[slot] / total)
        squares += shrubs.window.weight[slot] * delta * (shrubs.window.target[slot] - shrubs.centre)
    if squares > 0.0:
        shrubs.scale = sqrt(squares / total)


cdef void find_gradient(Ensemble shrubs, double l2) noexcept nogil:
    """The gradient of eq. (5) and of the smooth regularisers at the present weights."""
    cdef int k
    cdef double share = 1.0 / (shrubs.total_weight * shrubs.width)
    if sums_run(shrubs):
        gradient_from_sums(shrubs)
    elif shrubs.trees.regression:
        gradient_of_numbers(shrubs)
    else:
        gradient_of_entropy(shrubs)
    shrubs.reach *= share
    for k in range(shrubs.trees.n_roots):
        shrubs.gradient[k] = (shrubs.gradient[k] * share + 2.0 * l2 * shrubs.weights[k]
                              + shrubs.node_penalty * shrubs.sizes[k])


cdef void gradient_from_sums(Ensemble shrubs) noexcept nogil:
    """The gradient of the squared error, not yet divided by W C, from `gram` and `hits`."""
    cdef Py_ssize_t places = shrubs.n_models + 1, j, k, n = shrubs.trees.n_roots
    cdef const double* row
    cdef double total, hit = 0.0
    for k in range(n):
        row = shrubs.gram + k * places
        total = 0.0
        for j in range(n):
            total += row[j] * shrubs.weights[j]
        shrubs.gradient[k] = 2.0 * (total - shrubs.hits[k])
        hit += shrubs.weights[k] * shrubs.hits[k]
    shrubs.reach = 2.0 * (shrubs.total_weight - hit)


cdef void gradient_of_numbers(Ensemble shrubs) noexcept nogil:
    """The gradient of the squared error of standardised targets, not yet divided by W."""
    cdef int i, k, slot, n = shrubs.trees.n_roots
    cdef double slope, target
    memset(shrubs.gradient, 0, n * sizeof(double))
    for i in range(shrubs.window.n_sorted):
        slot = shrubs.window.by_arrival[i]
        gather(shrubs, shrubs.leaves + slot, shrubs.window_size)
        for k in range(n):
            shrubs.outputs[k] = (shrubs.outputs[k] - shrubs.centre) / shrubs.scale
        target = (shrubs.window.target[slot] - shrubs.centre) / shrubs.scale
        slope = 2.0 * shrubs.window.weight[slot] * (answer(shrubs, 0) - target)
        for k in range(n):
            shrubs.gradient[k] += slope * shrubs.outputs[k]


cdef void gradient_of_entropy(Ensemble shrubs) noexcept nogil:
    """The gradient of the cross-entropy, not yet divided by W C, summed over the window."""
    cdef Py_ssize_t spacing = shrubs.window_size
    cdef int i, k, c, slot, n = shrubs.trees.n_roots
    cdef double share, total
    cdef const double* row
    memset(shrubs.gradient, 0, n * sizeof(double))
    shrubs.reach = 0.0
    for i in range(shrubs.window.n_sorted):
        slot = shrubs.window.by_arrival[i]
        memset(shrubs.slopes, 0, shrubs.width * sizeof(double))
        for k in range(n):
            shrubs.answering[k] = shrubs.leaves[k * spacing + slot]
            row = shrubs.trees.row(shrubs.answering[k])
            shrubs.outputs[k] = 1.0 / row[WEIGHT]
            share = shrubs.weights[k] * shrubs.outputs[k]
            for c in range(shrubs.width):
                shrubs.slopes[c] += share * row[HEADER + c]
        softmax(shrubs)
        shrubs.slopes[<int>shrubs.window.target[slot]] -= 1.0
        shrubs.reach -= shrubs.window.weight[slot] * shrubs.slopes[<int>shrubs.window.target[slot]]
        for k in range(n):
            row = shrubs.trees.row(shrubs.answering[k])
            total = 0.0
            for c in range(shrubs.width):
                total += shrubs.slopes[c] * row[HEADER + c]
            shrubs.gradient[k] += shrubs.window.weight[slot] * (total * shrubs.outputs[k])


cdef void softmax(Ensemble shrubs) noexcept nogil:
    """Replace `slopes` by its softmax."""
    cdef int c
    cdef double largest = shrubs.slopes[0], total = 0.0
    for c in range(1, shrubs.width):
        largest = max(largest, shrubs.slopes[c])
    for c in range(shrubs.width):
        shrubs.slopes[c] = exp(shrubs.slopes[c] - largest)
        total += shrubs.slopes[c]
    for c in range(shrubs.width):
        shrubs.slopes[c] /= total
