"""Work space of logistic leaves. See the header."""

from ..memory cimport calloc, free


cdef class Slopes:
    """Work space of logistic leaves; it holds nothing that outlives a step."""

    def __dealloc__(self):
        free(self.centre)
        free(self.points)
        free(self.slots)

    cdef int shape(self, int n_regressors, int n_classes, int capacity) except -1:
        """Make room for as many regressors, classes and slots; what was there is lost."""
        cdef int size = n_regressors + 1, n_models = 1 if n_classes == 2 else n_classes
        cdef double* small
        cdef double* large
        cdef int* slots
        if (
            size == self.size and n_classes == self.n_classes and capacity == self.capacity
            and self.slots != NULL
        ):
            return 0
        self.size, self.n_classes, self.n_models, self.capacity = (
            size, n_classes, n_models, capacity)
        small = <double*>calloc(self.n_small(), sizeof(double))
        large = <double*>calloc(self.n_large(), sizeof(double))
        slots = <int*>calloc(max(1, capacity), sizeof(int))
        free(self.centre)
        free(self.points)
        free(self.slots)
        self.centre, self.points, self.slots = small, large, slots
        if small == NULL or large == NULL or slots == NULL:
            self.size = 0
            raise MemoryError
        self.shrink = self.centre + n_regressors
        self.window = self.shrink + n_regressors
        self.nothing = self.window + n_models * size
        self.leaf = self.nothing + size
        self.gradient = self.leaf + size
        self.asked = self.gradient + size
        self.hessian = self.asked + size
        self.chances = self.hessian + size * (size + 1) // 2
        self.fitted = self.points + <size_t>capacity * size
        self.weights = self.fitted + <size_t>capacity * n_models
        return 0

    cdef size_t n_small(self):
        """Doubles that do not depend on the number of slots."""
        cdef size_t size = self.size
        return size * (self.n_models + 6) + size * (size + 1) // 2 + self.n_classes

    cdef size_t n_large(self):
        """Doubles that do."""
        return <size_t>max(1, self.capacity) * (self.size + self.n_models + 1)

    def __sizeof__(self):
        return object.__sizeof__(self) + (
            (self.n_small() + self.n_large()) * sizeof(double) + self.capacity * sizeof(int)
            if self.slots != NULL else 0)
