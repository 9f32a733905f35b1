"""Save and restore `CompactTrees` with many classes: only the classes of each node are listed.

The fields of the state are those of `Trees`, without the class weights, and

    n_classes       number of known classes
    lengths         per node: number of its classes with a weight
    codes           the codes of these classes: per node in ascending order, all nodes in turn
    weights         their weights
"""

import numpy as np

from ..split cimport Split
from ..trees cimport FREE, GAIN, HEADER, LEAF, MAX_CLASSES, WEIGHT, Node
from .compact_trees cimport ROW_CLASSES, CompactTrees

from ..state import LARGEST_FLOAT, SMALLEST, State, require
from ..trees import check_stats

FIELDS = ("stats", "n_classes", "lengths", "codes", "weights")


def listed(CompactTrees trees):
    """The fields of a state that `Trees` does not have."""
    cdef int node, c
    cdef Py_ssize_t i = 0
    cdef double[::1] row = np.empty(trees.width), weights
    cdef int[::1] lengths = np.zeros(trees.n_used, np.int32), codes
    for node in range(trees.n_used):
        trees.read(node, &row[0])
        for c in range(trees.n_values):
            lengths[node] += row[HEADER + c] != 0.0
    n = int(np.sum(lengths))
    codes, weights = np.empty(n, np.int32), np.empty(n)
    for node in range(trees.n_used):
        trees.read(node, &row[0])
        for c in range(trees.n_values):
            if row[HEADER + c] != 0.0:
                codes[i], weights[i] = c, row[HEADER + c]
                i += 1
    return {"n_classes": trees.n_values, "lengths": lengths.base, "codes": codes.base,
            "weights": weights.base}


def restored(values, restore):
    """The trees of a state. The function `restore` restores trees without statistics."""
    cdef CompactTrees trees
    state = State("CompactTrees", {name: values[name] for name in FIELDS if name in values}, FIELDS)
    n_classes = state.whole("n_classes", ROW_CLASSES + 1, MAX_CLASSES)
    stats = state.array("stats", np.float64, None, HEADER)
    check_stats(stats, False)
    trees = restore({name: value for name, value in values.items() if name not in FIELDS}
                    | {"stats": np.zeros_like(stats)})
    lengths = state.array("lengths", np.int32, trees.n_used)
    weights = state.numbers("weights", None, least=SMALLEST, most=LARGEST_FLOAT)
    codes = state.array("codes", np.int32, len(weights))
    require(np.all(lengths >= 0) and int(np.sum(lengths, dtype=np.int64)) == len(codes)
            and np.all((codes >= 0) & (codes < n_classes)),
            "CompactTrees: a class is not of a node, or unknown")
    trees.reserve(0, n_classes)
    trees.widen(n_classes)
    fill(trees, stats, lengths, codes, weights)
    return trees


cdef int fill(CompactTrees trees, const double[:, ::1] stats, const int[::1] lengths,
              const int[::1] codes, const double[::1] weights) except -1:
    """Set the statistics of all nodes."""
    cdef Split split
    cdef int node, left
    cdef Py_ssize_t i = 0
    for node in range(trees.n_used):
        if trees.nodes[node].split.feature == FREE:
            i += lengths[node]
            continue
        trees.reserve_rows(1 + lengths[node] // ROW_CLASSES, trees.n_values)
        trees.reserve_records(1, lengths[node], trees.n_values)
        split, left = trees.nodes[node].split, trees.nodes[node].left
        trees.release(node)
        i = fill_leaf(trees, node, stats[node, WEIGHT], codes, weights, i, i + lengths[node])
        if split.feature >= 0:
            trees.close(node, stats[node, GAIN])
            trees.nodes[node].split, trees.nodes[node].left = split, left
    return 0


cdef Py_ssize_t fill_leaf(CompactTrees trees, int leaf, double weight, const int[::1] codes,
                          const double[::1] weights, Py_ssize_t i, Py_ssize_t stop) except -1:
    """Make a node a leaf with the listed classes from i to `stop`; return `stop`."""
    cdef Node* this = &trees.nodes[leaf]
    this.split.feature, this.split.threshold, this.left = LEAF, weight, -1
    if stop == i + 1 and weights[i] == weight:
        this.left = codes[i]
        return stop
    if stop > i or weight > 0.0:
        trees.new_row(leaf)
    while i < stop:
        trees.add_cell(leaf, codes[i])[0] = weights[i]
        i += 1
        require(i == stop or codes[i - 1] < codes[i],
                "CompactTrees: the classes of a node are not in order")
    return stop
