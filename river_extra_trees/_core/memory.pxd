"""Memory of the core, from Python's raw allocator.

So `tracemalloc` counts it, the debug allocator guards it, and the tests can make any call fail.
"""

cdef extern from "Python.h":
    void* malloc "PyMem_RawMalloc"(size_t size) noexcept nogil
    void* calloc "PyMem_RawCalloc"(size_t n, size_t size) noexcept nogil
    void* realloc "PyMem_RawRealloc"(void* memory, size_t size) noexcept nogil
    void free "PyMem_RawFree"(void* memory) noexcept nogil
