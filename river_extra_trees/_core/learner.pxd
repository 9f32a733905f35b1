"""The base of the core objects of all families: schema, labels, and one call at a time.

A call of a core object may run Python: the methods of a value in the sample, or a finalizer. That
Python, another thread or a signal handler may call the same object again, half-way through a
change. So every method that reads or writes a structure holds the object while it runs, and a
second call raises a RuntimeError.

The way of a sample: `learn` reads the weight and the target, `Schema.admit` encodes the row,
`reserve` makes all the room that the sample needs, and then `take`, which cannot fail, learns it.
A sample that is refused, for want of memory for instance, leaves no trace. `learn` tells whether a
batch is full now; what is to be done with it the estimator plans, and the core object carries out.
"""

from .schema cimport Labels, Schema

cdef double read_weight(object w) except -1.0
cdef double read_number(object y) except? -1.0
cdef int first_largest(const double* shares, int n) noexcept nogil
cdef dict normalised(const double* shares, list labels)

cdef class Learner:
    cdef readonly Schema schema
    cdef readonly Labels labels         # empty in a regression
    cdef readonly bint regression
    cdef long in_use                    # 1 while a call holds this object; no part of the state

    # --- One call at a time -------------------------------------------------------------------
    cdef int enter(self) except -1
    cdef void leave(self) noexcept
    cdef Use using(self)

    # --- What a family brings -----------------------------------------------------------------
    # Refuses a sample for reasons of the family's own.
    cdef int check_sample(self, double target, double weight) except -1
    # Makes room for the row that the schema encoded last and for so many labels. The last that can
    # fail: nothing that answers depend on may change before.
    cdef int reserve(self, int n_labels) except -1
    # Gives new labels their places, for which there is room.
    cdef void widen(self, int n_labels) noexcept
    # Learns the row that the schema encoded last.
    cdef void take(self, double target, double weight) noexcept
    # Whether a batch waits to be grown on.
    cdef bint batch_is_full(self) noexcept
    # Answers: the label, the probability of every label, or the number at x.
    cdef object label(self, object x)
    cdef dict probabilities(self, object x)
    cdef double number(self, object x) except? -1.0
    # The number of trees; the nodes of one of them in preorder, left before right, each a dict (see
    # `nodes`); and (number of nodes of all trees, height of the highest).
    cdef int count_trees(self) noexcept
    cdef list tree_nodes(self, int tree)
    cdef tuple tree_sizes(self)
    # A copy that answers alike, without what only learning needs.
    cdef Learner serving_copy(self)
    # What the object remembers, see `state.py`.
    cdef dict fields(self)
    # Raises a StateError if an invariant between the parts is broken. Loading ends with it.
    cdef int check_structure(self) except -1

    # --- What all families share --------------------------------------------------------------
    cdef double read_target(self, object y) except? -1.0
    cdef int read_and_refuse(self, object x, object y, object w) except -1
    cdef bint learn_sample(self, object x, object y, object w) except -1

cdef class Use:
    """Holds a core object in a `with` statement; for methods that are not called per sample."""
    cdef Learner learner

cdef class Holder:
    """Holds a core object for as long as this object lives."""
    cdef Learner learner
