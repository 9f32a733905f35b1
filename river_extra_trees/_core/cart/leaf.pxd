from .workspace cimport Task, Workspace

cdef void grow_leaf(Workspace work, Task task, int* n_tasks) noexcept nogil
