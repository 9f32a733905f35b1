"""The search for the best split of a node."""

from .workspace cimport Candidate, Task, Workspace

cdef double x_log_x(double x) noexcept nogil
cdef double node_score(Workspace work) noexcept nogil
cdef Candidate find_split(Workspace work, const Task* task) noexcept nogil
