"""Memory of the core, from Python's raw allocator.

`tracemalloc` counts it, the debug allocator guards it, and the tests can make any call fail. Sizes
have the type `size_t`; `product` computes and checks every product of two sizes.
"""

cdef extern from "Python.h":
    void* malloc "PyMem_RawMalloc"(size_t size) noexcept nogil
    void* calloc "PyMem_RawCalloc"(size_t n, size_t size) noexcept nogil
    void* realloc "PyMem_RawRealloc"(void* memory, size_t size) noexcept nogil
    void free "PyMem_RawFree"(void* memory) noexcept nogil


cdef inline int raise_memory_error() except -1 with gil:
    """Raise a MemoryError, with the GIL or without."""
    raise MemoryError


cdef inline size_t product(size_t a, size_t b) except? <size_t>-1 nogil:
    """a * b, or a MemoryError if the product does not fit into a `size_t`.

    Callers take the GIL to look for an exception when they get -1. It is never a size, but 0 is.
    """
    if (a | b) >> 4 * sizeof(size_t) and b and a > (<size_t>-1) // b:   # a division is slow
        raise_memory_error()
    return a * b


cdef inline void* resized(void* memory, size_t n, size_t size) except NULL nogil:
    """Reallocate memory (NULL: allocate it) for n items; the contents are kept.

    If this raises a MemoryError, the memory is unchanged.
    """
    cdef void* found = realloc(memory, product(n, size))
    if found == NULL:
        raise_memory_error()
    return found


cdef inline void* zeroed(size_t n, size_t size) except NULL nogil:
    """Allocate n items, all bytes zero, or raise a MemoryError."""
    cdef void* found = calloc(n, size)
    if found == NULL:
        raise_memory_error()
    return found


cdef inline void* trimmed(void* memory, size_t size) noexcept nogil:
    """Shrink memory to `size` bytes; if that is impossible, return it unchanged."""
    cdef void* found = realloc(memory, size)
    return memory if found == NULL else found


cdef inline Py_ssize_t enough(Py_ssize_t n, Py_ssize_t capacity) noexcept nogil:
    """The capacity if it is at least n; else n, but at least 17/16 of the capacity."""
    return capacity if n <= capacity else max(n, capacity + capacity // 16)


cdef inline size_t carve(size_t* end, size_t n, size_t size) except? <size_t>-1 nogil:
    """Reserve n items at the end of a block of memory; return their address.

    Whoever lays out a block takes the parts with the strictest alignment first. A MemoryError is
    raised if the block would not fit into memory.
    """
    cdef size_t begin = end[0], bytes = product(n, size)
    if begin > <size_t>-1 - bytes:
        raise_memory_error()
    end[0] = begin + bytes
    return begin
