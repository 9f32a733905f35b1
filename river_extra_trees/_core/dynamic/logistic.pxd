"""Logistic leaves: classes told apart by linear boundaries within the leaves of a tree.

The moves of the trees go by the class counts, as with multinomial leaves. What a leaf answers, and
is weighed by, is a logistic regression on its active points. Its prior is a normal distribution
about the regression on the whole window, which in turn has one about zero; features are scaled to
unit variance over the window. Two classes take one regression, more take one each against the rest.

A leaf takes one step of Newton's method from the coefficients of the window. The chances, and with
them gradient and curvature of every point, are those of the window there, hence the same for all
leaves. Nothing here outlives a step: all is a function of the pool and of the leaf.
"""

from .particles cimport Particles
from .slopes cimport Slopes

cdef int fit_window(Particles cloud) except -1
cdef const double* class_chances(
    Particles cloud, Slopes slopes, int visit
) noexcept nogil
cdef void weigh_by_chances(Particles cloud, Slopes slopes, int code) noexcept nogil
