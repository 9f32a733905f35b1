"""Split a leaf on two samples. See the header."""

from ..rng cimport Rng, below
from ..split cimport NO_VALUE, ONE_VALUE, VARIANCE, Split, goes_left, random_threshold
from ..tree cimport Tree, add_class, depth_of, learn_number, split_leaf
from .buffer cimport is_missing
from .candidates cimport Side
from .growth cimport BITS_OF_SUM, Growth

cdef extern from "lanes.h":
    double power_below(double magnitude) nogil


cdef void split_pair(Growth growth, Tree* tree, int leaf, const int* places, const double* targets,
                     Rng rng) noexcept nogil:
    """Split a leaf by one of the columns that were offered. A pair of nodes is reserved.

    Codes of classes are in ascending order.
    """
    cdef Split split
    cdef int left, first, i
    cdef double gain, weight
    if (targets[0] == targets[1] or growth.min_samples_split > 2 or growth.min_samples_leaf > 1
            or depth_of(tree, leaf) >= growth.max_depth
            or not find_split(growth, places, &split, &first, &rng)):
        return
    gain = gain_of(growth, places, targets, first)
    left = split_leaf(tree, leaf, &split, gain)
    for i in range(2):
        weight = growth.buffer.weight(places[i])
        if growth.criterion == VARIANCE:
            learn_number(tree, left ^ (i != first), targets[i], weight, 1.0)
        else:
            add_class(tree, left ^ (i != first), <int>targets[i], weight)


cdef bint find_split(Growth growth, const int* places, Split* split, int* first,
                     Rng* rng) noexcept nogil:
    """Draw columns until two samples differ in one; `first` is the sample that goes left."""
    cdef int n_left = growth.n_offered, i, column
    cdef double a, b
    while n_left > 0:
        i = <int>below(rng, n_left)
        column, n_left = growth.columns[i], n_left - 1
        growth.columns[i] = growth.columns[n_left]
        a, b = growth.buffer.value(column, places[0]), growth.buffer.value(column, places[1])
        if a == b or (is_missing(a) and is_missing(b)):
            continue
        split.feature, split.nominal, split.missing_left = column, 0, False
        if growth.nominal[column]:
            split.nominal, split.missing_left = ONE_VALUE, is_missing(a)
            split.threshold = NO_VALUE if is_missing(a) else a
        elif is_missing(a) or is_missing(b):
            split.threshold = b if is_missing(a) else a
        else:
            split.threshold = random_threshold(rng, min(a, b), max(a, b))
        first[0] = not goes_left(split, a)
        if not (split.nominal or is_missing(a) or is_missing(b)):
            split.missing_left = (growth.buffer.weight(places[first[0]])
                                  >= growth.buffer.weight(places[1 - first[0]]))
        return True
    return False


cdef double gain_of(Growth growth, const int* places, const double* targets,
                    int first) noexcept nogil:
    """The decrease of impurity if sample `first` goes left, times the weight."""
    cdef double[2] weights, whole, of_node, of_left, of_right
    cdef Side node, left, right
    cdef double center
    cdef int i
    node.counts, left.counts, right.counts = of_node, of_left, of_right
    for i in range(2):
        weights[i] = growth.buffer.weight(places[i])
    growth.unit = 2.0 * power_below(max(weights[0], weights[1]))
    for i in range(2):
        weights[i] *= growth.unit
    if growth.criterion == VARIANCE:
        growth.task.n_segments = 1
        center = (weights[0] * targets[0] + weights[1] * targets[1]) / (weights[0] + weights[1])
        growth.grain = power_below(max(max(targets[0], targets[1]) - center,
                                       center - min(targets[0], targets[1]))) * (
                                           1 << (BITS_OF_SUM - 1))
        for i in range(2):
            whole[i] = <int>((targets[i] - center) * growth.grain)
        of_node[0] = weights[0] * whole[0] + weights[1] * whole[1]
        of_left[0] = weights[first] * whole[first]
    else:
        growth.task.n_segments = 2
        of_node[0], of_node[1] = weights[0], weights[1]
        of_left[first], of_left[1 - first] = weights[first], 0.0
    node.weight, left.weight = weights[0] + weights[1], weights[first]
    right.weight = node.weight - left.weight
    for i in range(growth.task.n_segments):
        of_right[i] = of_node[i] - of_left[i]
    return growth.gain(&node, &left, &right)
