"""The parts of a learner: their memory, and their state.

An `Owner` reallocates its arrays by the addresses of its fields. So it knows which arrays it has
and how large they are, and frees them. Memory that others allocate is added to `__sizeof__`.

A `Part` can be saved. The table FIELDS of its class says how each field of a state is read (see
`state`), DEFAULTS which may be left out, and `views` which of them are memory, as numpy arrays (see
`view`), valid until the memory moves. All others are attributes, which a state sets: so they are
public.

The shape of a view is that of all memory that was allocated, and what is in use is a slice. So
nothing that is copied into a view is longer than its memory, whatever a file says; see `put_back`.
"""

cdef object view(const void* memory, object kind, tuple shape, tuple strides=*)

cdef struct Held:
    void** place            # the field of the object that has the address of an array
    size_t n_bytes

cdef class Owner:
    cdef Held* held
    cdef int n_held

    cdef Held* held_at(self, void* place) noexcept nogil
    cdef int replace(self, void* place, void* array, size_t n_bytes) except -1 nogil
    cdef int resize(self, void* place, size_t n, size_t size) except -1 nogil
    cdef int renew(self, void* place, size_t n, size_t size) except -1 nogil

cdef class Part(Owner):
    # The arrays of the state, as views of all memory that was allocated or slices of these.
    cdef dict views(self)
    # The fields of the state.
    cdef dict fields(self)
    # Takes over the fields of a state, of which each is valid on its own, in an object that
    # `__new__` has made.
    cdef int load(self, dict fields) except -1
    # Raises a StateError if an invariant between the fields is broken; the last step of loading.
    cdef int check_structure(self) except -1
