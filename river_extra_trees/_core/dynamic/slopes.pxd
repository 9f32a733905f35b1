"""Work space of logistic leaves, and the regression on the window that is their prior."""

cdef class Slopes:
    cdef int size               # coefficients: the intercept first
    cdef int n_classes
    cdef int n_models           # regressions: 1 for two classes, else one per class
    cdef int capacity           # slots there is room for
    cdef double* centre         # per regressor: mean over the window
    cdef double* shrink         # per regressor: 1 / standard deviation, 0 where it does not vary
    cdef double* window         # window[model * size ...]: coefficients of the window
    cdef double* nothing        # as many zeros as coefficients: the prior of the window
    cdef double* leaf           # scratch: coefficients of a leaf
    cdef double* gradient       # scratch
    cdef double* hessian        # scratch: packed lower triangle
    cdef double* asked          # scratch: the point whose class is asked for, scaled
    cdef double* chances        # scratch: per class
    cdef double* points         # points[slot * size ...]: a one, then the regressors, scaled
    cdef double* fitted         # fitted[model * capacity + slot]: chance by the window
    cdef double* weights        # scratch: per slot
    cdef int* slots             # the active slots

    cdef int shape(self, int n_regressors, int n_classes, int capacity) except -1
