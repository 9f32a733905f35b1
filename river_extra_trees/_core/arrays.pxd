"""Memory of the core as numpy arrays, for states. They are valid until the memory moves.

The shape is that of all memory that was allocated, and what is in use is a slice. So nothing that
is copied into a view is longer than its memory, whatever a file says; see `put_back` in `state`.
"""

cdef object view(const void* memory, object kind, tuple shape, tuple strides=*)
