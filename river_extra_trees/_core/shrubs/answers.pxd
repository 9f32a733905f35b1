from .ensemble cimport Ensemble

cdef void evaluate(Ensemble shrubs, const double* x, Py_ssize_t stride, Py_ssize_t n_columns,
                   int* leaves, Py_ssize_t spacing) noexcept nogil
cdef void gather(Ensemble shrubs, const int* leaves, Py_ssize_t spacing) noexcept nogil
cdef double answer(Ensemble shrubs, int c) noexcept nogil
cdef int answer_all(Ensemble shrubs, object x) except -1
