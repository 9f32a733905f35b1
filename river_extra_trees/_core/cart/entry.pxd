from .workspace cimport Workspace

cdef void enter(Workspace work, int root, const int* copies_of_slot) noexcept nogil
cdef int admit(Workspace work) noexcept nogil
