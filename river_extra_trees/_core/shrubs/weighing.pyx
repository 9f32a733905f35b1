"""Lines 9 to 12: gradient steps on the weights, their projection, and pruning."""

from libc.math cimport INFINITY
from libc.string cimport memmove

from .simplex cimport (
    NEGLIGIBLE, hard_threshold, position_to_drop, project_simplex, soft_threshold,
)
from .ensemble cimport Ensemble
from .gradient cimport find_gradient, standardise

# Weights never leave this range, whatever the step: rounds of a far too long step would end in NaN.
cdef double HUGE = 1e150


cdef void weigh(Ensemble shrubs, double step_size, double l2) noexcept nogil:
    """Gradient steps on all weights, and the projection that leaves at most `n_models`."""
    cdef int k, step
    if shrubs.trees.regression:
        standardise(shrubs)
    for step in range(shrubs.rounds):
        find_gradient(shrubs, l2)
        for k in range(shrubs.trees.n_roots):
            shrubs.weights[k] -= step_size * shrubs.gradient[k]
            shrubs.weights[k] = max(-HUGE, min(HUGE, shrubs.weights[k]))
        if shrubs.project_each_round or step == shrubs.rounds - 1:
            project(shrubs, step_size)


cdef void project(Ensemble shrubs, double step_size) noexcept nogil:
    """Eq. (8): the largest weights go to the simplex, the others become zero."""
    cdef int n = shrubs.trees.n_roots
    if n > shrubs.n_models:
        shrubs.weights[position_to_drop(shrubs.weights, n)] = -INFINITY
    if shrubs.l0 > 0.0 or shrubs.l1 > 0.0:
        threshold(shrubs, step_size)
    project_simplex(shrubs.weights, n)


cdef void threshold(Ensemble shrubs, double step_size) noexcept nogil:
    """Keep the weights that the L1 and L0 regularisers leave; the largest one in any case."""
    cdef int k, largest = 0
    cdef double weight
    for k in range(1, shrubs.trees.n_roots):
        if shrubs.weights[k] > shrubs.weights[largest]:
            largest = k
    for k in range(shrubs.trees.n_roots):
        weight = soft_threshold(shrubs.weights[k], shrubs.l1, step_size)
        weight = hard_threshold(weight, shrubs.l0, step_size)
        shrubs.weights[k] = weight if weight != 0.0 or k == largest else -INFINITY


cdef void prune(Ensemble shrubs) noexcept nogil:
    """Remove the trees without weight."""
    cdef Py_ssize_t places = shrubs.n_models + 1, spacing = shrubs.window_size
    cdef int j, k, kept = 0, n = shrubs.trees.n_roots
    for k in range(n):
        if shrubs.weights[k] <= NEGLIGIBLE:
            shrubs.trees.remove(kept)
            continue
        if kept < k:
            shrubs.weights[kept] = shrubs.weights[k]
            shrubs.hits[kept] = shrubs.hits[k]
            shrubs.births[kept] = shrubs.births[k]
            shrubs.sizes[kept] = shrubs.sizes[k]
            memmove(shrubs.leaves + kept * spacing, shrubs.leaves + k * spacing,
                    spacing * sizeof(int))
            memmove(shrubs.gram + kept * places, shrubs.gram + k * places,
                    places * sizeof(double))
            for j in range(n):      # columns of all rows, those still to move included
                shrubs.gram[j * places + kept] = shrubs.gram[j * places + k]
        kept += 1
