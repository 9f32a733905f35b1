"""Memory of the core, from Python's raw allocator.

So `tracemalloc` counts it, the debug allocator guards it, and the tests can make any call fail.
Sizes are of type `size_t`; every product of two is made here, where it is checked.
"""

cdef extern from "Python.h":
    void* malloc "PyMem_RawMalloc"(size_t size) noexcept nogil
    void* calloc "PyMem_RawCalloc"(size_t n, size_t size) noexcept nogil
    void* realloc "PyMem_RawRealloc"(void* memory, size_t size) noexcept nogil
    void free "PyMem_RawFree"(void* memory) noexcept nogil


cdef inline int raise_memory_error() except -1 with gil:
    """Raise a MemoryError, with Python's lock or without."""
    raise MemoryError


cdef inline size_t product(size_t a, size_t b) except? 0 nogil:
    """a * b, or a MemoryError where no size is that large."""
    if b and a > (<size_t>-1) // b:
        raise_memory_error()
    return a * b


cdef inline void* resized(void* memory, size_t n, size_t size) except NULL nogil:
    """Room for n items where the memory was (NULL: nowhere yet), what it holds kept.

    A MemoryError leaves the memory as it was.
    """
    cdef void* found = realloc(memory, product(n, size))
    if found == NULL:
        raise_memory_error()
    return found


cdef inline void* zeroed(size_t n, size_t size) except NULL nogil:
    """Room for n items of zero bytes, or a MemoryError."""
    cdef void* found = calloc(n, size)
    if found == NULL:
        raise_memory_error()
    return found


cdef inline void* trimmed(void* memory, size_t size) noexcept nogil:
    """The memory, cut to so many bytes; a block that cannot be made smaller stays as it is."""
    cdef void* found = realloc(memory, size)
    return memory if found == NULL else found


cdef inline Py_ssize_t enough(Py_ssize_t n, Py_ssize_t capacity) noexcept nogil:
    """The capacity, or where n is more, one with room for n and a sixteenth more than now."""
    return capacity if n <= capacity else max(n, capacity + capacity // 16)
