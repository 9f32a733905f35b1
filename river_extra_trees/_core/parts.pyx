"""The parts of a learner. See the header."""

import numpy as np

from cpython.buffer cimport PyBUF_WRITE
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.string cimport memcpy

from .allocation cimport free, raise_memory_error, realloc, resized, zeroed

from .state import State, fields_of, put_back, reduced, without_defaults


cdef class Owner:
    """Owns arrays."""

    def __dealloc__(self):
        cdef int i
        for i in range(self.n_held):
            free(self.held[i].place[0])
        free(self.held)

    def __sizeof__(self):
        cdef size_t n = self.n_held * sizeof(Held)
        cdef int i
        for i in range(self.n_held):
            n += self.held[i].n_bytes
        return object.__sizeof__(self) + n

    cdef Held* held_at(self, void* place) noexcept nogil:
        """What is known of the array whose address is in a field; NULL if memory is short."""
        cdef int i
        cdef Held* held
        for i in range(self.n_held):
            if self.held[i].place == place:
                return &self.held[i]
        held = <Held*>realloc(self.held, (self.n_held + 1) * sizeof(Held))
        if held == NULL:
            return NULL
        self.held = held
        held[self.n_held].place, held[self.n_held].n_bytes = <void**>place, 0
        self.n_held += 1
        return &held[self.n_held - 1]

    cdef int replace(self, void* place, void* array, size_t n_bytes) except -1 nogil:
        """Let a field, given as `&self.field`, own an array in place of the present one."""
        cdef Held* held = self.held_at(place)
        if held == NULL:
            free(array)
            raise_memory_error()
        free(held.place[0])
        memcpy(place, &array, sizeof(array))    # C must not assume that it is no `double*`
        held.n_bytes = n_bytes
        return 0

    cdef int renew(self, void* place, size_t n, size_t size) except -1 nogil:
        """Let a field own a new array of n items, all bytes zero."""
        return self.replace(place, zeroed(n, size), n * size)

    cdef int resize(self, void* place, size_t n, size_t size) except -1 nogil:
        """Reallocate the array of a field for n items; see `resized`."""
        cdef Held* held = self.held_at(place)
        cdef void* array
        if held == NULL:
            raise_memory_error()
        array = resized(held.place[0], n, size)
        memcpy(place, &array, sizeof(array))
        held.n_bytes = n * size
        return 0


cdef class Part(Owner):
    """A part of a learner, or a learner, that can be saved."""

    DEFAULTS = {}

    cdef dict views(self):
        return {}

    cdef dict fields(self):
        return fields_of(self, self.FIELDS, self.views())

    cdef int load(self, dict fields) except -1:
        views = self.views()
        for name in fields.keys() - views.keys():
            setattr(self, name, fields[name])
        put_back(views, fields)
        return 0

    cdef int check_structure(self) except -1:
        return 0

    def state(self):
        """What is saved of the object, see `state.py`."""
        return without_defaults(self.fields(), self.DEFAULTS)

    @classmethod
    def restored(cls, values):
        """The object of a state."""
        cdef Part part = cls.__new__(cls)
        part.load(State(cls.__name__, values, cls.FIELDS, cls.DEFAULTS).read(cls.FIELDS))
        part.check_structure()
        return part

    def __reduce__(self):
        return reduced(type(self), self.state())


cdef object view(const void* memory, object kind, tuple shape, tuple strides=None):
    """An array that shows memory.

    Parameters
    ----------
    memory
        Its first item.
    kind
        Type of the items, as numpy names it.
    shape
        Length of each dimension, as allocated.
    strides
        Bytes from one item to the next in each dimension, if the items are not adjacent.
    """
    cdef Py_ssize_t n_bytes = np.dtype(kind).itemsize, length, i
    if 0 in shape:
        return np.empty(shape, kind)
    for i, length in enumerate(shape):
        n_bytes = n_bytes * length if strides is None else n_bytes + (length - 1) * strides[i]
    return np.ndarray(
        shape, kind, PyMemoryView_FromMemory(<char*>memory, n_bytes, PyBUF_WRITE), 0, strides)
