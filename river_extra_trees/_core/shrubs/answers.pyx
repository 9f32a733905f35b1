"""What the trees answer: the leaf of each for a row, their outputs there, and f(x)."""

from ..trees cimport HEADER, WEIGHT
from .ensemble cimport Ensemble


cdef void evaluate(Ensemble shrubs, const double* x, Py_ssize_t stride, Py_ssize_t n_columns,
                   int* leaves, Py_ssize_t spacing) noexcept nogil:
    """The leaf of every tree for a row."""
    cdef int k
    for k in range(shrubs.trees.n_roots):
        leaves[k * spacing] = shrubs.trees.walk(shrubs.trees.roots[k], x, stride, n_columns)


cdef void gather(Ensemble shrubs, const int* leaves, Py_ssize_t spacing) noexcept nogil:
    """h_k(x)[c] of every tree into `outputs`, from the leaves of x."""
    cdef Py_ssize_t k, c, places = shrubs.n_models + 1
    cdef const double* row
    cdef double weight, count
    for k in range(shrubs.trees.n_roots):
        row = shrubs.trees.row(leaves[k * spacing])
        if shrubs.trees.regression:
            shrubs.outputs[k] = row[HEADER]
            continue
        weight = row[WEIGHT]
        for c in range(shrubs.width):     # most leaves are pure: most divisions are not needed
            count = row[HEADER + c]
            shrubs.outputs[c * places + k] = count / weight if count != 0.0 else 0.0


cdef double answer(Ensemble shrubs, int c) noexcept nogil:
    """f(x)[c] of the gathered x, eq. (2)."""
    cdef double total = 0.0
    cdef const double* h = shrubs.outputs + <Py_ssize_t>c * (shrubs.n_models + 1)
    cdef int k
    for k in range(shrubs.trees.n_roots):
        total += shrubs.weights[k] * h[k]
    return total


cdef int answer_all(Ensemble shrubs, object x) except -1:
    """f(x) of a dict into `slopes`."""
    cdef int c
    shrubs.schema.encode(x)
    with nogil:
        evaluate(shrubs, shrubs.schema.row, 1, shrubs.schema.n_columns, shrubs.answering, 1)
        gather(shrubs, shrubs.answering, 1)
        for c in range(shrubs.width):
            shrubs.slopes[c] = answer(shrubs, c)
    return 0
