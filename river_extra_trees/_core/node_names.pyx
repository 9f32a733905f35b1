"""The names and values behind the numbers of a split. See the header."""

from .schema cimport OTHER, Schema
from .split cimport GROUP, Split, is_in_group


cdef dict name_node(dict node, Schema schema):
    """Add the name and the value of a split to a node; its numbers become `column`, `cut`.

    Of a group of values these are a list of the values that go left, and the set of their codes.
    """
    cdef int column = node["feature"]
    node["column"], node["cut"] = column, node["threshold"]
    node["feature"] = None if column < 0 else schema.names[column]
    if node["nominal"] >= GROUP:
        codes = codes_of_group(node, schema)
        node["threshold"] = [value for value, code in schema.codes[column].items() if code in codes]
        if OTHER in codes:
            node["threshold"].append(schema.value_of(column, OTHER))
        node["cut"] = codes
    elif node["nominal"]:
        node["threshold"] = schema.value_of(column, node["cut"])
    node["nominal"] = bool(node["nominal"])
    return node


cdef object codes_of_group(dict node, Schema schema):
    """The codes that a split by a group of values sends left."""
    cdef Split split
    split.threshold, split.nominal = node["threshold"], node["nominal"]
    found = []
    for code in (OTHER, *schema.codes[node["column"]].values()):
        if is_in_group(&split, code):
            found.append(code)
    return frozenset(found)
