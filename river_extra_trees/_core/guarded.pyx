"""Objects that allow only one call at a time. See the header."""


cdef int refuse_call(Guarded guarded) except -1:
    if guarded.is_broken:
        raise RuntimeError(
            "memory ran out in the middle of a step, so that this model is incomplete: load the "
            "last saved file, or begin with a new model"
        )
    raise RuntimeError(
        "the model is in use: another thread calls it, or code that one of its own calls runs (a "
        "method of a value, a signal handler). Calls must come one after the other: guard the "
        "model with a lock, or give each thread a copy"
    )


cdef class Guarded(Part):
    """An object that allows only one call at a time."""

    cdef Use using(self):
        """Lock the object for a `with` statement."""
        cdef Use use = Use.__new__(Use)
        use.held = self
        return use


cdef class Use:
    """Locks an object in a `with` statement."""

    def __enter__(self):
        hold(self.held)

    def __exit__(self, *_):
        release(self.held)


cdef class Holder:
    """Locks an object until this one is deallocated."""

    def __cinit__(self, Guarded guarded):
        hold(guarded)
        self.held = guarded

    def __dealloc__(self):
        if self.held is not None:
            release(self.held)
