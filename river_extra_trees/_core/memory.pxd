"""Memory of the core, from Python's raw allocator.

So `tracemalloc` counts it, the debug allocator guards it, and the tests can make any call fail.
"""

cdef extern from "Python.h":
    void* malloc "PyMem_RawMalloc"(size_t size) noexcept nogil
    void* calloc "PyMem_RawCalloc"(size_t n, size_t size) noexcept nogil
    void* realloc "PyMem_RawRealloc"(void* memory, size_t size) noexcept nogil
    void free "PyMem_RawFree"(void* memory) noexcept nogil

cdef inline void* zeroed(size_t n, size_t size) except NULL:
    """Room for n items of a size, all zero; MemoryError where there is none."""
    cdef void* memory = calloc(n if n else 1, size)     # it refuses products that overflow
    if memory == NULL:
        raise MemoryError
    return memory

cdef inline void* resized(void* memory, size_t n, size_t size) except NULL:
    """The same memory with room for n items of a size; MemoryError, and it stays as it is."""
    cdef size_t n_bytes = (n if n else 1) * size
    memory = realloc(memory, n_bytes) if n_bytes // size == (n if n else 1) else NULL
    if memory == NULL:
        raise MemoryError
    return memory
