from .workspace cimport Split, Task, Workspace

cdef Split find(Workspace work, const Task* task) noexcept nogil
cdef int count_missing(Workspace work, const Task* task, int column) noexcept nogil
