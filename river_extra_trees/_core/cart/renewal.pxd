"""Sets of nominal values that follow the history: a value goes to the side that it speaks for.

A single stream tree keeps its splits, and no other tree mends them. So after each batch, each value
that the batch has is sent anew at the splits by sets that it reaches: to the side under whose
leaves its samples in the history are more likely. In a regression this is the side whose mean is
nearer to that of the value. Both sides are drawn to the whole by SMOOTH samples of it, and so is
the mean of a value. If nothing speaks for a side, a value stays where it goes.

A set forgets the values that the history has forgotten, so its size is bounded.
"""

from libc.stdint cimport int64_t

from ..tree cimport Tree
from .value_history cimport ValueHistory

cdef int renew_sets(Tree* tree, int n_values, ValueHistory history, int64_t since) except -1
