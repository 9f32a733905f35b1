"""The answers of a model that is watched, until their labels come, and the sum of their losses.

This is what a watch does with every sample. It is little, and compiled, so that a watched model
takes hardly more time than the model alone; nearly all other work comes once per block.
"""

cimport cython

from .bins cimport Bins
from .evidence cimport Evidence

cdef enum:
    SPACING = 8             # one sample in eight is looked at in detail
    LOSSES = 16             # losses of a shortest block

@cython.final
cdef class Answers:
    cdef readonly bint regression
    cdef public long long n_samples     # that were asked, or learned without a question
    cdef public bint is_asked           # whether predictions are asked for at all
    cdef public object late             # answers by sample, since labels come late; else None
    cdef public Evidence evidence       # that the losses have changed
    cdef public double total            # of the losses in the present block
    cdef public int n                   # number of these
    cdef readonly object x, answer      # the sample that was asked last, and its answer
    cdef object model, predict, learn   # the model, and two methods of it; not saved

    cpdef bint ask(self, object x, object answer) noexcept
    cpdef bint is_next(self, object x) noexcept
    cpdef bint judge(self, object answer, object y) except -1
    cpdef restart(self)
    cdef int bind(self, object model) except -1

cdef class Asked:
    cdef public object model
    cdef public Answers _answers
    cdef public Bins _inputs
    cdef public Evidence _weights       # that the effective memory has shrunk; or None

    cdef int asked(self, object x, object answer) except -1
    cdef int look(self, object x) except -1
    cdef int end_block(self) except -1
