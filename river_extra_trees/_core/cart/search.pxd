"""The search for the best split of a node."""

from libc.stdint cimport int64_t
from ..split cimport Candidate, Split
from ..tree cimport depth_of
from .workspace cimport FORGETFUL, Task, Workspace


cdef inline bint is_open(Workspace work, int node, int64_t copies, bint varies) noexcept nogil:
    """Whether the rules allow a split of these samples."""
    return (
        varies and copies >= work.min_samples_split and copies // 2 >= work.min_samples_leaf
        and depth_of(work.tree, node) < work.max_depth
    )


cdef inline bint is_ranked(Workspace work, const Task* task) noexcept nogil:
    """Whether a node has sorted orders of all columns."""
    return task.end - task.start > work.few


cdef inline double threshold_between(Workspace work, double value,
                                     double following) noexcept nogil:
    """The threshold between two adjacent values: `value` goes left, `following` goes right."""
    cdef double threshold = 0.5 * value + 0.5 * following
    return threshold if threshold < following and work.published != FORGETFUL else value


cdef double x_log_x(double x) noexcept nogil
cdef double node_score(Workspace work) noexcept nogil
cdef void load(Workspace work, const Task* task, int column) noexcept nogil
cdef void unload(Workspace work) noexcept nogil
cdef void rank(Workspace work, const Task* task, int column) noexcept nogil
cdef bint name_values(Workspace work, const Task* task, Split* split) noexcept nogil
cdef int count_missing(Workspace work, const Task* task, int column) noexcept nogil
cdef Candidate find_split(Workspace work, const Task* task) noexcept nogil
