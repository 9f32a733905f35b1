"""Groups of nominal values: which go left at a split, and how a growth chooses them.

A growth orders the values of a node by their mean target, drawn to the mean of the node by SMOOTH
samples of it (Micci-Barreca 2001), and cuts the order at one of N_CUTS borders. In a classification
the target is whether a sample is of the most frequent class. If a node has more than two classes, a
search also tries the order by all classes: else values with a class each would make a chain, of
which a tree of bounded height sees the end only. To weigh a cut, each sample goes to
the side on which its value lies *without this sample*. So what a value says of its own samples is
no evidence: a column of many values that says nothing has no good cut, however many values there
are, and a value of one sample goes with the mean. A cut counts only if the targets on its left are
smaller, because without its own target a sample tends to the other side.

A split stores the codes of the values of the node on its lighter side; all others go to the heavier
one. Trees that grow on batches and dynamic trees store the border, too: so a value that the growth
has not met can go to the side for which its first samples speak (`cart/value_history`). A cut of
the order by all classes has no border, because what a class counts is not stored.
"""

from libc.math cimport NAN
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memmove

from .allocation cimport free, malloc, resized, trimmed

cdef enum:
    SMOOTH = 1
    N_CUTS = 64
    MANY_VALUES = 16        # of a column: what is known of them beside the node orders them, too

cdef enum Grower:           # how a growth finds the split of a nominal column:
    DRAWS = 0               # extra trees draw a cut, or the value of a sample
    PROPOSES = 1            # dynamic trees draw the value of a sample, or take the best cut
    SEARCHES = 2            # others try all values, or all cuts

cdef struct ValueSet:       # the codes follow, ascending
    int n
    int n_owners            # in `SharedTrees`: how many nodes and proposals have it
    int others_left         # where values go that are not among the codes; these go to the other
    int label               # whose share is the mean target of a value; in a regression 0
    double prior            # as in `Cuts`, of targets that are not centred
    double border           # values with a smaller mean go left; NaN: it is not stored

cdef struct Cuts:           # of the values of a node
    double prior            # SMOOTH times the mean target of the node
    double low, scale       # the smallest mean of a value; N_CUTS / (largest - smallest)


cdef inline bint are_ordered(Grower grower, int n_values, int n_samples) noexcept nogil:
    """Whether a node cuts the order of the values of a column; else it parts one from the others.

    Every division of two or three values parts one from the others. A search tries up to 16 values
    one by one, unless they have less than two samples each.
    """
    if grower == SEARCHES:
        return n_values > (4 if n_samples < 2 * n_values else <int>MANY_VALUES)
    return n_values > (2 if grower == DRAWS else 3)


cdef inline double smoothed(const Cuts* cuts, double total, double weight) noexcept nogil:
    """The mean target of samples with this sum of targets and this weight."""
    return (total + cuts.prior) / (weight + SMOOTH)


cdef inline int cut_of(const Cuts* cuts, double mean) noexcept nogil:
    """The number of the interval between borders that holds a mean."""
    cdef double at = (mean - cuts.low) * cuts.scale
    if not at > 0.0:
        return 0
    return <int>at if at < N_CUTS - 1 else <int>N_CUTS - 1


cdef inline size_t bytes_of(int n) noexcept nogil:
    return sizeof(ValueSet) + <size_t>n * sizeof(double)


cdef inline double* codes_of(const ValueSet* values) noexcept nogil:
    return <double*>(<char*>values + sizeof(ValueSet))


cdef inline ValueSet* new_values(int n, bint others_left) noexcept nogil:
    """Allocate a set of n values without a border; NULL if memory is short."""
    cdef ValueSet* values = <ValueSet*>malloc(bytes_of(n))
    if values != NULL:
        values.n, values.others_left, values.label = n, others_left, 0
        values.prior, values.border = 0.0, NAN
    return values


cdef inline ValueSet* shared_values(ValueSet* values, int n) noexcept nogil:
    """A set with only the first n of its codes, and one owner."""
    values.n_owners = 1
    return trimmed_values(values, n)


cdef inline void drop_values(ValueSet* values) noexcept nogil:
    """Let an owner go."""
    values.n_owners -= 1
    if values.n_owners == 0:
        free(values)


cdef inline ValueSet* trimmed_values(ValueSet* values, int n) noexcept nogil:
    """A set with only the first n of its codes."""
    values.n = n
    return <ValueSet*>trimmed(values, bytes_of(n))


cdef inline ValueSet* values_at(double threshold) noexcept nogil:
    """The set whose address the threshold of a split holds."""
    cdef ValueSet* values
    memcpy(&values, &threshold, sizeof(values))
    return values


cdef inline double threshold_of(ValueSet* values) noexcept nogil:
    """The threshold that holds the address of a set."""
    cdef double threshold = 0.0
    memcpy(&threshold, &values, sizeof(values))
    return threshold


cdef inline int place_in(const ValueSet* values, double code) noexcept nogil:
    """The number of smaller codes in a set."""
    cdef const double* codes = codes_of(values)
    cdef int low = 0, high = values.n, middle
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline bint values_go_left(const ValueSet* values, double code) noexcept nogil:
    """Whether a nominal value goes left."""
    cdef int place = place_in(values, code)
    return (place < values.n and codes_of(values)[place] == code) != values.others_left


cdef inline ValueSet* turned_values(ValueSet* values, double code) except NULL nogil:
    """A set after a value has gone to the other side."""
    cdef int place = place_in(values, code), n = values.n
    if place < n and codes_of(values)[place] == code:
        memmove(codes_of(values) + place, codes_of(values) + place + 1,
                (n - place - 1) * sizeof(double))
        return trimmed_values(values, n - 1)
    values = <ValueSet*>resized(values, 1, bytes_of(n + 1))
    memmove(codes_of(values) + place + 1, codes_of(values) + place, (n - place) * sizeof(double))
    codes_of(values)[place], values.n = code, n + 1
    return values


cdef inline void forget_border(ValueSet* values, const uint8_t* gone) noexcept nogil:
    """Forget the border between shares of a marked class."""
    if gone[values.label]:
        values.border = NAN
