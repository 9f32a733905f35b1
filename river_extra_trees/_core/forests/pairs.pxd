"""A leaf that is split on two samples: most splits on small batches are.

Any column in which the samples differ is as good as all others, so they need no growth: no rows, no
scores. The random numbers and the split are those of a wide growth, see `column_lists`.
"""

from ..rng cimport Rng
from ..tree cimport Tree
from .growth cimport Growth

cdef void split_pair(Growth growth, Tree* tree, int leaf, const int* places, const double* targets,
                     Rng rng) noexcept nogil
