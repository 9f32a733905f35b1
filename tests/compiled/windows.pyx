"""The core's window and trees, one call at a time, as Python can call them."""

import numpy as np

from libc.stdint cimport uint8_t

from river_extra_trees._core.schema cimport Schema
from river_extra_trees._core.trees cimport Trees
from river_extra_trees._core.window cimport Window


def store(Window window, Schema schema, x, double target, double weight=1.0):
    """Encode a dict and push it; return the slot."""
    return store_rows(window, schema, [x], [target], [weight])[0]


def store_rows(Window window, Schema schema, rows, targets, weights):
    """Encode some dicts and push those with a weight at once; return the slots, -1 for others."""
    cdef Py_ssize_t i, column
    cdef int n = len(rows)
    cdef int[::1] slots = np.zeros(n + 1, dtype=np.intc)
    cdef double[::1] numbers = np.array([*targets, 0.0]), weighs = np.array([*weights, 0.0])
    cdef double[:, ::1] values
    encoded = [schema.learn_row(x) for x in rows]
    values = np.full((schema.n_columns + 1, n + 1), np.nan)
    for i in range(n):
        for column in range(len(encoded[i])):
            values[column, i] = encoded[i][column]
    schema.blank()
    for column in range(schema.n_columns):
        schema.filled[column] = <int>column
    schema.n_filled = schema.n_columns
    window.reserve(window.size + n, schema.n_columns, schema.n_columns)
    window.push(&values[0, 0], n + 1, schema, n, &numbers[0], &weighs[0], &slots[0])
    return slots.base[:n].tolist()


def store_sliding(Window window, Schema schema, x, double target, double weight=1.0, int gone=-1):
    """Encode a dict and let it in for the sample in the slot `gone`; return its slot."""
    schema.admit(x)
    window.reserve(window.capacity + (gone < 0 and window.size == window.capacity),
                   schema.n_columns, schema.n_columns)
    window.sort()
    return window.slide(schema, target, weight, gone)


def sort(Window window):
    """Sort the fresh samples in."""
    window.sort()


def release(Window window, slots):
    """Release the samples in these slots."""
    cdef uint8_t[::1] gone = np.zeros(window.capacity, dtype=np.uint8)
    window.sort()
    for slot in slots:
        gone[slot] = 1
    window.release(&gone[0])


def ranked(Window window, int column):
    """The sorted slots of a column; in order of arrival if it is not live."""
    assert 0 <= column < window.n_columns
    if window.places[column] < 0:
        return [window.by_arrival[i] for i in range(window.n_sorted)]
    return [window.order_of(column)[i] for i in range(window.n_sorted)]


def remove_tree(Trees trees, int tree):
    """Remove a tree; the numbers of the later ones go down by one."""
    assert 0 <= tree < trees.n_roots
    trees.remove(tree)
