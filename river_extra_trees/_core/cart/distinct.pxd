"""The columns of a window that a growth is offered. See `Window`."""

from ..schema cimport Schema
from ..window cimport Window
from .value_history cimport ValueHistory

cdef void find_distinct(Window window, Schema schema, ValueHistory history) noexcept nogil
