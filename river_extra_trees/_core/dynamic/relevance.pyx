"""Which columns the splits of a cloud of dynamic trees draw their use from."""

from libc.math cimport log

from .leaves cimport sum_subtree
from .particles cimport Particles
from .posterior cimport Fit, LeafModel, fit


def relevance(Particles cloud):
    """Per particle and column: the variance (entropy) that the splits on it take away.

    For every split the predictive variance in the middle of its region as one leaf, times the
    weight of its samples, less the same of its two sides; in classification the entropy. The sum
    is divided by the weight of all samples. A column that explains nothing scores about 0 or less.
    """
    cdef int particle, node, column
    cdef double whole
    cdef double* row = cloud.row_other
    answers = []
    known = {}
    for particle in range(cloud.n_alive):
        if cloud.roots[particle] in known:
            answers.append(known[cloud.roots[particle]])
            continue
        gains = [0.0] * cloud.pool.n_columns
        whole = 0.0
        stack = [(cloud.roots[particle], -1)]
        while stack:
            node, column = stack.pop()
            sum_subtree(cloud, node, row)
            spread = spread_of(cloud, row)
            if column >= 0:
                gains[column] -= spread
            else:
                whole = row[0]
            if cloud.grove.nodes[node].feature >= 0:
                column = cloud.grove.nodes[node].feature
                gains[column] += spread
                stack.append((cloud.grove.nodes[node].left, column))
                stack.append((cloud.grove.nodes[node].right, column))
        known[cloud.roots[particle]] = [gain / max(whole, 1e-300) for gain in gains]
        answers.append(known[cloud.roots[particle]])
    return answers


cdef double spread_of(Particles cloud, const double* row) noexcept nogil:
    """Weight of a region times its predictive variance, or its entropy."""
    cdef Fit result
    if cloud.model.multinomial:
        return row[0] * leaf_entropy(&cloud.model, row)
    result = fit(&cloud.model, row, True)
    return row[0] * result.sse / result.df * (1.0 + 1.0 / result.weight) if result.proper else 0.0


cdef double leaf_entropy(const LeafModel* model, const double* row) noexcept nogil:
    """Entropy of the predictive class probabilities of a leaf, section 4.3."""
    cdef double share, entropy = 0.0
    cdef int k
    for k in range(model.n_classes):
        share = (row[1 + k] + model.concentration) / (
            row[0] + model.n_classes * model.concentration)
        entropy -= share * log(share)
    return entropy
