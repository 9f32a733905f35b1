"""The weights of the trees: outputs, running sums, gradient, proximal step. See the header.

Equations and lines of Algorithm 1 are those of Buschjaeger, Hess and Morik (2022). Samples have
weights: W, the sum of the weights in the window, replaces its size B.
"""

from libc.math cimport INFINITY, exp, fabs, sqrt
from libc.string cimport memmove, memset

from ..moments cimport follow_moments
from ..trees cimport HEADER, WEIGHT
from .ensemble cimport SQUARED_ERROR, Shrubs

# Limit of the weights before the projection: rounds of too long steps could overflow.
cdef double HUGE = 1e150
# A new tree is skipped if its weight would be below the smallest old weight by more than this.
cdef double MARGIN = 1e-9


# ---------------------------------------------------------------- outputs of the trees

cdef void evaluate(Shrubs shrubs, const double* x, Py_ssize_t stride, Py_ssize_t n_columns,
                   int* leaves, Py_ssize_t spacing) noexcept nogil:
    """Find the leaf of a row in every tree."""
    cdef int k
    for k in range(shrubs.trees.n_roots):
        leaves[k * spacing] = shrubs.trees.walk(shrubs.trees.roots[k], x, stride, n_columns)


cdef void gather(Shrubs shrubs, const int* leaves, Py_ssize_t spacing) noexcept nogil:
    """Compute h_k(x)[c] of every tree in `outputs`, from the leaves of x: eq. (2)."""
    cdef Py_ssize_t k, c, places = shrubs.n_models + 1
    cdef const double* row
    cdef double weight, count
    for k in range(shrubs.trees.n_roots):
        row = shrubs.trees.row(leaves[k * spacing])
        if shrubs.regression:
            shrubs.outputs[k] = row[HEADER]
            continue
        weight = row[WEIGHT]
        for c in range(shrubs.width):     # avoid divisions, because most leaves are pure
            count = row[HEADER + c]
            shrubs.outputs[c * places + k] = count / weight if count != 0.0 else 0.0


cdef double answer(Shrubs shrubs, int c) noexcept nogil:
    """f(x)[c] from `outputs`, eq. (2)."""
    cdef double total = 0.0
    cdef const double* h = shrubs.outputs + <Py_ssize_t>c * (shrubs.n_models + 1)
    cdef int k
    for k in range(shrubs.trees.n_roots):
        total += shrubs.weights[k] * h[k]       # eq. (2)
    return total


# ---------------------------------------------------------------- running sums

cdef bint sums_run(Shrubs shrubs) noexcept nogil:
    """Whether the gradient is computed from `gram` and `hits`: eq. (5) multiplied out."""
    return shrubs.loss == SQUARED_ERROR and not shrubs.regression


cdef void count(Shrubs shrubs, int slot, double sign) noexcept nogil:
    """Add `sign` times the outputs for a sample of the window to `gram` and `hits`."""
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
                    row[k] += output * h[k]         # <h_j(x), h_k(x)> of eq. (5)
    h = shrubs.outputs + <Py_ssize_t>shrubs.window.target[slot] * places
    for k in range(n):
        shrubs.hits[k] += weight * h[k]         # <h_k(x), y> of eq. (5)


cdef void count_newcomer(Shrubs shrubs, int newcomer) noexcept nogil:
    """Compute row and column of a new tree in `gram`, and its `hits`.

    If the leaf of a sample is pure, h is the indicator of y and <h, h_k> = h_k[y], whose sum is
    `hits`. So only samples in impure leaves need a correction.
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
        stats = shrubs.trees.row(
            shrubs.leaves[<Py_ssize_t>newcomer * shrubs.window_size + slot])
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


cdef void rebuild(Shrubs shrubs) noexcept nogil:
    """Compute all running sums again from the window."""
    cdef Py_ssize_t places = shrubs.n_models + 1, n = shrubs.trees.n_roots, k
    cdef int i
    for k in range(n):      # do not touch memory of trees that do not exist
        memset(shrubs.gram + k * places, 0, n * sizeof(double))
    memset(shrubs.hits, 0, n * sizeof(double))
    shrubs.total_weight = 0.0
    shrubs.since_rebuild = 0
    for i in range(shrubs.window.n_sorted):
        shrubs.total_weight += shrubs.window.weight[shrubs.window.by_arrival[i]]
        if sums_run(shrubs):
            count(shrubs, shrubs.window.by_arrival[i], 1.0)


# ---------------------------------------------------------------- gradient

cdef void standardise(Shrubs shrubs) noexcept nogil:
    """Compute mean and standard deviation of the targets in the window."""
    cdef double total = 0.0, squares = 0.0
    cdef int i, slot
    shrubs.centre, shrubs.scale = 0.0, 1.0
    for i in range(shrubs.window.n_sorted):
        slot = shrubs.window.by_arrival[i]
        total += shrubs.window.weight[slot]
        follow_moments(&shrubs.centre, &squares, shrubs.window.target[slot],
                       shrubs.window.weight[slot], total)
    if squares > 0.0:
        shrubs.scale = sqrt(squares / total)


cdef void find_gradient(Shrubs shrubs, double l2) noexcept nogil:
    """Gradient of loss and smooth regularisers with respect to the weights, eq. (5)."""
    cdef int k
    cdef double share = 1.0 / (shrubs.total_weight * shrubs.width)      # 1 / (B C), eq. (5)
    if sums_run(shrubs):
        gradient_from_sums(shrubs)
    elif shrubs.regression:
        gradient_of_numbers(shrubs)
    else:
        gradient_of_entropy(shrubs)
    shrubs.reach *= share
    for k in range(shrubs.trees.n_roots):
        shrubs.gradient[k] = (shrubs.gradient[k] * share + 2.0 * l2 * shrubs.weights[k]
                              + shrubs.node_penalty * shrubs.sizes[k])


cdef void gradient_from_sums(Shrubs shrubs) noexcept nogil:
    """Gradient of the squared error times W C, from `gram` and `hits`."""
    cdef Py_ssize_t places = shrubs.n_models + 1, j, k, n = shrubs.trees.n_roots
    cdef const double* row
    cdef double total, hit = 0.0
    for k in range(n):
        row = shrubs.gram + k * places
        total = 0.0
        for j in range(n):
            total += row[j] * shrubs.weights[j]
        shrubs.gradient[k] = 2.0 * (total - shrubs.hits[k])     # eq. (5), derived by w_k
        hit += shrubs.weights[k] * shrubs.hits[k]
    shrubs.reach = 2.0 * (shrubs.total_weight - hit)


cdef void gradient_of_numbers(Shrubs shrubs) noexcept nogil:
    """Gradient of the squared error of standardised targets times W."""
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
            shrubs.gradient[k] += slope * shrubs.outputs[k]     # eq. (5) with C = 1


cdef void gradient_of_entropy(Shrubs shrubs) noexcept nogil:
    """Gradient of the cross-entropy times W C, summed over the window."""
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
        softmax(shrubs.slopes, shrubs.width)
        shrubs.slopes[<int>shrubs.window.target[slot]] -= 1.0
        shrubs.reach -= shrubs.window.weight[slot] * shrubs.slopes[<int>shrubs.window.target[slot]]
        for k in range(n):
            row = shrubs.trees.row(shrubs.answering[k])
            total = 0.0
            for c in range(shrubs.width):
                total += shrubs.slopes[c] * row[HEADER + c]
            shrubs.gradient[k] += shrubs.window.weight[slot] * (total * shrubs.outputs[k])


cdef void softmax(double* values, int n) noexcept nogil:
    """Replace values by their softmax."""
    cdef int c
    cdef double largest = values[0], total = 0.0
    for c in range(1, n):
        largest = max(largest, values[c])
    for c in range(n):
        values[c] = exp(values[c] - largest)
        total += values[c]
    for c in range(n):
        values[c] /= total


# ---------------------------------------------------------------- steps

cdef bint is_hopeless(Shrubs shrubs, double step_size, double l2) noexcept nogil:
    """Whether no new tree could replace one of the present trees, so that none is grown.

    After one step from zero, the weight of a new tree is at most that of a tree without errors,

        step * sum_i w_i (1 - f(x_i)[y_i]) * (2 for the squared error) / (W C),

    because sum_c (y_c - f_c) h_c <= 1 - f_y if no f_c is negative. (For cross-entropy, softmax(f)
    replaces f.) The regularisers only reduce it.
    """
    cdef double smallest
    cdef int k, n = shrubs.trees.n_roots
    if n < shrubs.n_models or shrubs.regression or shrubs.rounds > 1:
        return False
    find_gradient(shrubs, l2)
    smallest = shrubs.weights[0] - step_size * shrubs.gradient[0]
    for k in range(1, n):
        smallest = min(smallest, shrubs.weights[k] - step_size * shrubs.gradient[k])    # eq. (7)
    return step_size * shrubs.reach < smallest - MARGIN


cdef void weigh(Shrubs shrubs, double step_size, double l2) noexcept nogil:
    """Eq. (7): gradient steps of all weights, and the projection to at most `n_models` weights."""
    cdef int k, step
    if shrubs.regression:
        standardise(shrubs)
    for step in range(shrubs.rounds):
        find_gradient(shrubs, l2)
        for k in range(shrubs.trees.n_roots):
            shrubs.weights[k] -= step_size * shrubs.gradient[k]     # line 9
            shrubs.weights[k] = max(-HUGE, min(HUGE, shrubs.weights[k]))
        if shrubs.project_each_round or step == shrubs.rounds - 1:
            project(shrubs, step_size)      # lines 10 and 11


cdef void project(Shrubs shrubs, double step_size) noexcept nogil:
    """Eq. (8): project the largest weights onto the simplex, eq. (6); the others become zero."""
    cdef int n = shrubs.trees.n_roots
    if n > shrubs.n_models:
        shrubs.weights[position_to_drop(shrubs.weights, n)] = -INFINITY
    if shrubs.l0 > 0.0 or shrubs.l1 > 0.0:
        threshold(shrubs, step_size)
    project_simplex(shrubs.weights, n)


cdef void threshold(Shrubs shrubs, double step_size) noexcept nogil:
    """Apply the L1 and L0 regularisers; the largest weight is always kept."""
    cdef int k, largest = 0
    cdef double weight
    for k in range(1, shrubs.trees.n_roots):
        if shrubs.weights[k] > shrubs.weights[largest]:
            largest = k
    for k in range(shrubs.trees.n_roots):
        weight = soft_threshold(shrubs.weights[k], shrubs.l1, step_size)
        weight = hard_threshold(weight, shrubs.l0, step_size)
        shrubs.weights[k] = weight if weight != 0.0 or k == largest else -INFINITY


cdef void prune(Shrubs shrubs) noexcept nogil:
    """Remove the trees without weight: line 12."""
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
            for j in range(n):      # also in rows that move later
                shrubs.gram[j * places + kept] = shrubs.gram[j * places + k]
        kept += 1


# ---------------------------------------------------------------- proximal operators

cdef double soft_threshold(double weight, double strength, double step) noexcept nogil:
    """argmin over v of (v - weight)^2 / 2 + step * strength * |v|."""
    cdef double cut = step * strength
    if weight > cut:
        return weight - cut
    return weight + cut if weight < -cut else 0.0


cdef double hard_threshold(double weight, double strength, double step) noexcept nogil:
    """argmin over v of (v - weight)^2 / 2 + step * strength * [v != 0]."""
    return weight if fabs(weight) > sqrt(2.0 * strength * step) else 0.0


cdef void project_simplex(double* weights, int n) noexcept nogil:
    """Replace weights by the nearest point of the probability simplex.

    The threshold tau of eq. (8) is the fixed point of (sum of the weights above tau - 1) / (their
    number). Iteration reaches it in a few passes without sorting (Michelot 1986).
    """
    cdef double largest = -INFINITY, tau = -INFINITY, total
    cdef int i, count = n, previous = n + 1
    for i in range(n):
        largest = max(largest, weights[i])
    while True:
        total, count = 0.0, 0
        for i in range(n):
            if weights[i] - largest > tau:
                total += weights[i] - largest
                count += 1
        if count >= previous:       # the count does not fall any more; rounding may raise it
            break
        tau = (total - 1.0) / count     # eq. (8) with beta = count
        previous = count
    for i in range(n):
        weights[i] = max(weights[i] - largest - tau, 0.0)       # [w_i - tau]+ of eq. (8)


cdef int position_to_drop(const double* weights, int n) noexcept nogil:
    """Position of the weight to drop, i > M in eq. (8); the last weight is that of the new tree.

    The new tree is kept only if its weight is above the smallest old weight. Of equally small old
    weights, the first is dropped.
    """
    cdef double smallest = INFINITY
    cdef int i
    for i in range(n - 1):
        smallest = min(smallest, weights[i])
    if not weights[n - 1] > smallest:
        return n - 1
    for i in range(n - 1):
        if weights[i] <= smallest:
            return i
    return n - 1
