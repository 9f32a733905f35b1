"""The names and values behind the numbers of a split, for plots, tables and texts."""

from .schema cimport Schema

cdef dict name_node(dict node, Schema schema)
