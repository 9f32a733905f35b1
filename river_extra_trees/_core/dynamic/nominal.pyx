"""Cuts of nominal columns, see the header.

With few values in a leaf, a cut parts one value from the others. With more, it parts a group: a
random function puts the values into buckets (see `split`), the buckets are ordered by a regularised
mean of the target, and the order is cut where the variance falls most. A cut that has been chosen
among 2^(B - 1) ways to divide B buckets fits noise, too, so its evidence is that of all ways
together: let the bucket b be exp(l) times as probable on its side as on the other one. The sum over
all ways is then the evidence of the best one times the product of 1 + exp(-l) over the buckets, and
each way has the prior probability 2^-(B - 1).
"""

from libc.math cimport exp, fabs, log1p
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from ..linalg cimport MAX_REGRESSORS, Fit, fit, slopes_of
from ..rng cimport Rng, below
from ..split cimport GROUP, N_BUCKETS, N_SALTS, bucket_of
from .particles cimport Column, Cut, Particles, v_of
from .shared_trees cimport Leaf

cdef enum:
    FEW_VALUES = 3      # with these, every group is one value or all but one

# Weight with which the mean of a bucket goes to that of the leaf.
cdef double SMOOTHING = 1.0
cdef double LOG_2 = 0.6931471805599453


cdef bint place_nominal(Particles filter, Rng* rng, const Leaf* leaf, Cut* cut,
                        double u) noexcept nogil:
    """Place a cut of a nominal column at u in [0, 1); return whether that is allowed."""
    cdef const Column* column = &filter.columns[cut.column]
    cdef int n_present = column.n_present, least = filter.min_samples_leaf, low, high
    cdef const int* order = column.order
    if n_present < 2 * least:
        return False
    if column.n_values > FEW_VALUES and not filter.published:
        return place_group(filter, rng, leaf, cut)
    low = high = min(<int>(u * n_present), n_present - 1)
    cut.split.threshold = column.x[order[low]]
    while low > 0 and column.x[order[low - 1]] == cut.split.threshold:
        low -= 1
    while high < n_present and column.x[order[high]] == cut.split.threshold:
        high += 1
    cut.n_left = high - low
    return cut.n_left >= least and n_present - cut.n_left >= least


cdef bint place_group(Particles filter, Rng* rng, const Leaf* leaf, Cut* cut) noexcept nogil:
    """Divide the values into two groups by their regularised means."""
    cdef Bucket buckets[N_BUCKETS]
    cdef double squares
    cdef int n_buckets, i, n_first
    cdef int64_t group = 0
    cut.split.nominal = <uint8_t>(GROUP + below(rng, N_SALTS))
    n_buckets = fill_buckets(filter, rng, leaf, cut, buckets, &squares)
    n_first = cut_buckets(buckets, n_buckets, filter.min_samples_leaf, squares, &cut.correction)
    if n_first == 0:
        return False
    cut.n_left = 0
    for i in range(n_first):
        cut.n_left += buckets[i].n
        group |= <int64_t>1 << buckets[i].number
    cut.split.threshold = <double>group
    return True


cdef int fill_buckets(Particles filter, Rng* rng, const Leaf* leaf, const Cut* cut, Bucket* buckets,
                      double* squares) noexcept nogil:
    """Put the samples of a leaf into buckets; return how many of these have samples.

    The signal of a sample is its target, without what a linear leaf predicts from its features. In
    a classification it is whether the label is that of a sample that is drawn.
    """
    cdef const Column* column = &filter.columns[cut.column]
    cdef const int* order = column.order
    cdef int n = column.n_present, n_buckets = 0, salt = cut.split.nominal - GROUP, i, label = 0
    cdef double total = 0.0, weight = 0.0, share, signal
    cdef Bucket* here
    for i in range(N_BUCKETS):
        memset(&buckets[i], 0, sizeof(Bucket))
        buckets[i].number = i
    if filter.model.multinomial:
        label = <int>v_of(filter, order[below(rng, n)])[0]
    elif not filter.scan.has_signal:
        find_signal(filter, leaf)
    squares[0] = 0.0
    for i in range(n):
        share = filter.sample_weight[order[i]]
        signal = (
            <double>(<int>v_of(filter, order[i])[0] == label) if filter.model.multinomial
            else filter.scan.signal[order[i]])
        here = &buckets[bucket_of(salt, column.x[order[i]])]
        here.n += 1
        here.weight += share
        here.total += share * signal
        weight += share
        total += share * signal
        squares[0] += share * signal * signal
    squares[0] -= total * (total / weight)
    for i in range(N_BUCKETS):
        if buckets[i].n:
            here = &buckets[n_buckets]
            here[0] = buckets[i]
            here.total -= here.weight * (total / weight)
            here.mean = here.total / (here.weight + SMOOTHING)
            n_buckets += 1
    return n_buckets


cdef void find_signal(Particles filter, const Leaf* leaf) noexcept nogil:
    """Compute the targets of the samples of a leaf without what its slopes predict."""
    cdef double slopes[MAX_REGRESSORS]
    cdef Fit fitted = fit(&filter.model, leaf.total, True)
    cdef const double* v
    cdef int i, k
    slopes_of(&filter.model, &fitted, slopes)
    for i in range(leaf.n_active):
        v = v_of(filter, leaf.slots[i])
        filter.scan.signal[leaf.slots[i]] = v[filter.model.n_regressors]
        for k in range(fitted.n_regressors):
            filter.scan.signal[leaf.slots[i]] -= slopes[k] * v[k]
    filter.scan.has_signal = True


cdef int cut_buckets(Bucket* buckets, int n, int least, double squares,
                     double* correction) noexcept nogil:
    """Order n buckets and cut the order; return how many are on the first, lighter side, or 0.

    Values that are not in the leaf go to the other side.
    """
    cdef int i, k, n_first = 0, n_samples = 0, n_left = 0
    cdef double weight = 0.0, left = 0.0, total = 0.0, between, most = 0.0, gap = 0.0, middle = 0.0
    cdef double left_of_best = 0.0, log_ways = 0.0
    cdef Bucket moved
    for i in range(n):
        moved, k = buckets[i], i
        while k > 0 and buckets[k - 1].mean > moved.mean:
            buckets[k] = buckets[k - 1]
            k -= 1
        buckets[k] = moved
        weight += moved.weight
        n_samples += moved.n
    for i in range(n - 1):
        n_left += buckets[i].n
        left += buckets[i].weight
        total += buckets[i].total
        if n_left < least or n_samples - n_left < least or left <= 0.0 or weight - left <= 0.0:
            continue
        between = total * total * (1.0 / left + 1.0 / (weight - left))
        if between > most:
            most, n_first, left_of_best = between, i + 1, left
            gap = -total * (1.0 / left + 1.0 / (weight - left))
            middle = 0.5 * total * (1.0 / left - 1.0 / (weight - left))
    if n_first == 0:
        return 0
    squares = max(squares - most, 1e-9 * squares) / weight
    for i in range(n):
        log_ways += log1p(exp(
            -gap * fabs(buckets[i].total - buckets[i].weight * middle) / squares))
    correction[0] = min(0.0, log_ways - (n - 1) * LOG_2)
    if 2.0 * left_of_best > weight:
        for i in range(n // 2):
            moved, buckets[i] = buckets[i], buckets[n - 1 - i]
            buckets[n - 1 - i] = moved
        return n - n_first
    return n_first
