"""The proximal operators of shrub ensembles, on plain lists."""

import numpy as np

from libc.math cimport INFINITY

from river_extra_trees._core.shrubs.proximal cimport (
    hard_threshold, position_to_drop, project_simplex, soft_threshold,
)


def nearest_on_simplex(values, int n_models):
    """The nearest point of the simplex with at most `n_models` nonzero entries, eq. (8)."""
    cdef double[::1] weights = np.array(values, dtype=float)
    cdef double[::1] rest
    kept = list(range(len(weights)))
    while len(kept) > n_models:
        rest = np.array([weights[k] for k in kept])
        weights[kept.pop(position_to_drop(&rest[0], <int>len(kept)))] = -INFINITY
    project_simplex(&weights[0], <int>len(weights))
    return np.asarray(weights).tolist()


def soft(double weight, double strength, double step):
    """The proximal operator of the L1 norm."""
    return soft_threshold(weight, strength, step)


def hard(double weight, double strength, double step):
    """The proximal operator of the number of nonzero weights."""
    return hard_threshold(weight, strength, step)
