"""The parameter `max_features`. See the header."""


cdef MaxFeatures max_features_of(object value) except *:
    """The rule of a value: None, "sqrt", "log2", a share as a float, or a number."""
    cdef MaxFeatures found
    found.number = 0.0
    if value is None:
        found.rule = ALL
    elif isinstance(value, str):
        found.rule = SQRT if value == "sqrt" else LOG2
    else:
        found.rule = SHARE if isinstance(value, float) else NUMBER
        found.number = value
    return found


def n_features_tried(max_features, int n_offered):
    """Number of features that a split tries if so many are offered."""
    cdef MaxFeatures rule = max_features_of(max_features)
    return n_tried(&rule, n_offered)
