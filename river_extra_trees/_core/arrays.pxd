"""Memory of the core as numpy arrays, for states. They are valid until the memory moves."""

cdef object view(const void* memory, object kind, tuple shape, tuple strides=*)
