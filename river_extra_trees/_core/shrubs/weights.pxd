"""The weights of the trees: outputs, running sums, gradient, proximal step (lines 9 to 12)."""

from .ensemble cimport Shrubs

cdef extern from *:
    """
    /* Weights that differ by less are equal, and smaller weights are zero. So age decides between
       equal trees, not rounding. */
    #define NEGLIGIBLE 1e-12
    """
    const double NEGLIGIBLE

cdef enum:
    REBUILD = 16        # windows after which the running sums are computed again, against rounding

# --- Outputs of the trees
cdef void evaluate(Shrubs shrubs, const double* x, Py_ssize_t stride, Py_ssize_t n_columns,
                   int* leaves, Py_ssize_t spacing) noexcept nogil
cdef void gather(Shrubs shrubs, const int* leaves, Py_ssize_t spacing) noexcept nogil
cdef double answer(Shrubs shrubs, int c) noexcept nogil

# --- Running sums
cdef bint sums_run(Shrubs shrubs) noexcept nogil
cdef void count(Shrubs shrubs, int slot, double sign) noexcept nogil
cdef void count_newcomer(Shrubs shrubs, int newcomer) noexcept nogil
cdef void rebuild(Shrubs shrubs) noexcept nogil

# --- Steps
cdef bint is_hopeless(Shrubs shrubs, double step_size, double l2) noexcept nogil
cdef void weigh(Shrubs shrubs, double step_size, double l2) noexcept nogil
cdef void prune(Shrubs shrubs) noexcept nogil

# --- Proximal operators
cdef double soft_threshold(double weight, double strength, double step) noexcept nogil
cdef double hard_threshold(double weight, double strength, double step) noexcept nogil
cdef void project_simplex(double* weights, int n) noexcept nogil
cdef int position_to_drop(const double* weights, int n) noexcept nogil
