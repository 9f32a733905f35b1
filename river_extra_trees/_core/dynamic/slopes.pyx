"""Work space of logistic leaves. See the header."""

from ..memory cimport calloc, free


cdef class Slopes:
    """Work space of logistic leaves; it holds nothing that outlives a step."""

    def __dealloc__(self):
        free(self.centre)
        free(self.points)
        free(self.slots)

    cdef int shape(self, int n_regressors, int n_classes, int capacity) except -1:
        """Make room for as many regressors, classes and slots; what was there is lost.

        If there is no memory, all is as before.
        """
        cdef int size = n_regressors + 1, n_models = 1 if n_classes == 2 else n_classes
        cdef double* small
        cdef double* large
        cdef int* slots
        if (
            size == self.size and n_classes == self.n_classes and capacity == self.capacity
            and self.slots != NULL
        ):
            return 0
        small = <double*>calloc(n_small(size, n_models, n_classes), sizeof(double))
        large = <double*>calloc(n_large(size, n_models, capacity), sizeof(double))
        slots = <int*>calloc(max(1, capacity), sizeof(int))
        if small == NULL or large == NULL or slots == NULL:
            free(small)
            free(large)
            free(slots)
            raise MemoryError
        free(self.centre)
        free(self.points)
        free(self.slots)
        self.centre, self.points, self.slots = small, large, slots
        self.size, self.n_classes, self.n_models, self.capacity = (
            size, n_classes, n_models, capacity)
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

    def __sizeof__(self):
        cdef size_t n = (
            n_small(self.size, self.n_models, self.n_classes)
            + n_large(self.size, self.n_models, self.capacity)
        )
        return object.__sizeof__(self) + (
            n * sizeof(double) + self.capacity * sizeof(int) if self.slots != NULL else 0)


cdef size_t n_small(size_t size, size_t n_models, size_t n_classes) noexcept:
    """Doubles that do not depend on the number of slots."""
    return size * (n_models + 6) + size * (size + 1) // 2 + n_classes


cdef size_t n_large(size_t size, size_t n_models, size_t capacity) noexcept:
    """Doubles that do."""
    return max(<size_t>1, capacity) * (size + n_models + 1)
