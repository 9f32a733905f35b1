from .workspace cimport Split, Task, Workspace

cdef void apply(Workspace work, const Task* task, const Split* split, Task* left,
                Task* right) noexcept nogil
