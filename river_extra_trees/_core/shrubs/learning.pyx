"""Lines 3 to 8: a sample enters the window, and a shrub is trained on it."""

from libc.stdint cimport int64_t, uint64_t

from ..rng cimport FEATURES, rng_for
from .answers cimport answer, evaluate, gather
from .ensemble cimport REBUILD, Ensemble
from .gradient cimport find_gradient
from .sums cimport count, count_newcomer, rebuild, sums_run
from .weighing cimport prune, weigh

# A tree is left unplanted only if its weight would miss the smallest old one by more than this.
cdef double MARGIN = 1e-9
# A sample this much heavier than all others leaves rounding errors behind when it goes.
cdef double HEAVY = 1e3


cdef void widen(Ensemble shrubs, int width) noexcept nogil:
    """Give more classes their places. Room was made by `reserve_outputs` and the trees."""
    shrubs.trees.widen(width)
    shrubs.width = width


cdef bint push(Ensemble shrubs, double target, double weight) noexcept nogil:
    """Let the row that the schema encoded last into the window, the oldest out.

    Returns whether the ensemble answers it wrongly. Without trees every answer is wrong, in a
    regression none.
    """
    cdef int slot = -1, c, best = 0
    cdef Py_ssize_t spacing = shrubs.window_size
    if shrubs.window.size == shrubs.window_size:
        slot = shrubs.window.by_arrival[0]
        shrubs.total_weight -= shrubs.window.weight[slot]
        if shrubs.window.weight[slot] > HEAVY * shrubs.total_weight:
            shrubs.since_rebuild = REBUILD * shrubs.window_size
        if sums_run(shrubs):
            count(shrubs, slot, -1.0)
    shrubs.window.extend(shrubs.schema.n_columns)
    slot = shrubs.window.slide(shrubs.schema.row, target, weight, slot)
    shrubs.total_weight += weight
    evaluate(shrubs, shrubs.window.data + slot, shrubs.window.capacity, shrubs.window.n_columns,
             shrubs.leaves + slot, spacing)
    if sums_run(shrubs):
        count(shrubs, slot, 1.0)
    shrubs.since_rebuild += 1
    if shrubs.since_rebuild >= REBUILD * shrubs.window_size:
        rebuild(shrubs)
    if shrubs.trees.n_roots == 0:
        return True
    if shrubs.trees.regression:
        return False
    if not sums_run(shrubs):
        gather(shrubs, shrubs.leaves + slot, spacing)
    for c in range(1, shrubs.width):
        if answer(shrubs, c) > answer(shrubs, best):
            best = c
    return best != <int>target


cdef int update(Ensemble shrubs, bint train, double step_size, double l2, uint64_t seed,
                int max_features) except -1:
    """Lines 6 to 12: train a shrub if asked to, and weigh all of them."""
    if step_size == 0.0:
        step_size = 1.0 / (shrubs.trees.n_roots + train + 1)
    if train and not (shrubs.lazy and is_hopeless(shrubs, step_size, l2)):
        train_shrub(shrubs, seed, max_features)
    with nogil:
        weigh(shrubs, step_size, l2)
        prune(shrubs)
    return 0


cdef bint is_hopeless(Ensemble shrubs, double step_size, double l2) noexcept nogil:
    """Whether no tree whatsoever could take the place of one of the present ones.

    After one step from zero the newcomer's weight is at most that of a tree without a fault,

        step * sum_i w_i (1 - f(x_i)[y_i]) * (2 for the squared error) / (W C),

    because sum_c (y_c - f_c) h_c never exceeds 1 - f_y while no f_c is negative (for
    cross-entropy, softmax(f) stands in place of f). The regularisers only make it smaller.
    """
    cdef double smallest
    cdef int k, n = shrubs.trees.n_roots
    if n < shrubs.n_models:
        return False
    find_gradient(shrubs, l2)
    smallest = shrubs.weights[0] - step_size * shrubs.gradient[0]
    for k in range(1, n):
        smallest = min(smallest, shrubs.weights[k] - step_size * shrubs.gradient[k])
    return step_size * shrubs.reach < smallest - MARGIN


cdef int train_shrub(Ensemble shrubs, uint64_t seed, int max_features) except -1:
    """Grow a shrub on the window; its weight is zero. Needs no memory that is not there."""
    cdef int tree, root, i, slot, k
    cdef int64_t step = shrubs.window.n_seen
    cdef int* leaves
    tree = shrubs.trees.new_root()
    root = shrubs.trees.roots[tree]
    for i in range(shrubs.window.n_sorted):
        slot = shrubs.window.by_arrival[i]
        if shrubs.trees.regression:
            shrubs.trees.add_number(root, shrubs.window.target[slot], shrubs.window.weight[slot],
                                    step)
        else:
            shrubs.trees.add_class(root, <int>shrubs.window.target[slot],
                                   shrubs.window.weight[slot], step)
    k = shrubs.splitter.grow(shrubs.trees, root, shrubs.window, shrubs.schema, NULL, max_features,
                             step, rng_for(seed, 0, step, FEATURES))
    shrubs.weights[tree] = 0.0
    shrubs.sizes[tree] = 2 * k + 1
    shrubs.births[tree] = step - 1
    leaves = shrubs.leaves + <Py_ssize_t>tree * shrubs.window_size
    with nogil:
        for i in range(shrubs.window.n_sorted):
            slot = shrubs.window.by_arrival[i]
            leaves[slot] = shrubs.trees.walk(root, shrubs.window.data + slot,
                                             shrubs.window.capacity, shrubs.window.n_columns)
        if sums_run(shrubs):
            count_newcomer(shrubs, tree)
    shrubs.n_trained += 1
    return 0


cdef int fill(Ensemble shrubs, const double[::1] weights, const int64_t[::1] births) except -1:
    """Take over the trees' weights and births; find their sizes and the samples' leaves."""
    cdef int i, k, slot
    for k in range(shrubs.trees.n_roots):
        shrubs.weights[k], shrubs.births[k] = weights[k], births[k]
        shrubs.sizes[k] = len(shrubs.trees.preorder(k))
    for i in range(shrubs.window.n_sorted):
        slot = shrubs.window.by_arrival[i]
        evaluate(shrubs, shrubs.window.data + slot, shrubs.window.capacity, shrubs.window.n_columns,
                 shrubs.leaves + slot, shrubs.window_size)
    return 0
