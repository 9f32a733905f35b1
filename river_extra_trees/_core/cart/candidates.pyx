"""The candidate splits of a node, column by column, and the best of them."""

from libc.math cimport INFINITY
from libc.string cimport memset

from ..rng cimport below, uniform
from .published cimport forgetful_score, reference_score
from .sides cimport begin, between, count_log_count, move, shift
from .workspace cimport ENTROPY, GINI, VARIANCE, Side, Split, Task, Workspace

cdef double NO_CODE = -2.0      # threshold of a nominal split that sends only missing values left


cdef Split find(Workspace work, const Task* task) noexcept nogil:
    """The best split of a node over the features that are visited."""
    cdef Split best
    cdef int i, j, column, n_visited = 0
    work.drawn = work.shuffled or work.random or work.max_features < task.n_active
    best.column, best.score = -1, -INFINITY
    best.threshold, best.nominal, best.missing_left, best.removed = 0.0, 0, 0, 0.0
    for i in range(task.n_active):
        if n_visited >= work.max_features and best.column >= 0:
            break
        if work.drawn:
            j = i + <int>below(&work.rng, task.n_active - i)
            work.columns[i], work.columns[j] = work.columns[j], work.columns[i]
        column = work.columns[i]
        n_visited += 1
        if is_perfect(work, &best) and (work.drawn or column > best.column):
            continue
        if work.random:
            try_random(work, task, column, &best)
        elif work.bit[column] >= 0:
            try_bit(work, column, &best)
        elif work.nominal[column]:
            try_nominal(work, task, column, &best)
        else:
            try_numeric(work, task, column, &best)
    return best


cdef bint is_perfect(Workspace work, const Split* split) noexcept nogil:
    """Whether no other split can be better: both sides are pure."""
    if work.reference:      # scores of another scale
        return False
    if work.criterion == GINI:
        return split.score >= work.node.weight - work.tie
    return work.criterion == ENTROPY and split.score >= -work.tie


cdef int count_missing(Workspace work, const Task* task, int column) noexcept nogil:
    cdef const double* data = work.values + <Py_ssize_t>column * work.n
    cdef const int* ranked = work.ranked + <Py_ssize_t>column * work.n
    cdef int i = task.end
    if work.bit[column] >= 0:
        return 0
    while data[ranked[i - 1]] != data[ranked[i - 1]]:   # not all are missing: it varies
        i -= 1
    return task.end - i


cdef void try_numeric(Workspace work, const Task* task, int column, Split* best) noexcept nogil:
    cdef const int* ranked = work.ranked + <Py_ssize_t>column * work.n
    cdef int n_missing = count_missing(work, task, column)
    cdef int present = task.end - n_missing, i, missing_left
    for missing_left in range(2 if n_missing else 1):
        begin(work)
        if missing_left:
            for i in range(present, task.end):
                shift(work, ranked[i])
        if work.criterion == VARIANCE:
            scan_numbers(work, column, ranked + task.start, present - task.start, missing_left,
                         best)
        else:
            scan_classes(work, column, ranked + task.start, present - task.start, missing_left,
                         best)
        if n_missing and not missing_left:
            shift(work, ranked[present - 1])
            offer(work, column, INFINITY, False, False, best)


cdef void scan_numbers(Workspace work, int column, const int* slots, int n, bint missing_left,
                       Split* best) noexcept nogil:
    """Offer every threshold between the n sorted samples; all but the last end up left."""
    cdef const double* data = work.values + <Py_ssize_t>column * work.n
    cdef double value, following = data[slots[0]]
    cdef int i
    for i in range(n - 1):
        value = following
        following = data[slots[i + 1]]
        shift(work, slots[i])
        if value < following:
            offer(work, column, between(work, value, following), False, missing_left, best)


cdef void scan_classes(Workspace work, int column, const int* slots, int n, bint missing_left,
                       Split* best) noexcept nogil:
    """As `scan_numbers`, but samples are moved only when a threshold is offered.

    Between two samples of one class, alone with their values, no threshold is as good as the
    better one of those around the run of that class (Fayyad and Irani 1992), so none is
    offered, unless the least number of samples in a leaf could forbid those around it.
    """
    cdef const double* data = work.values + <Py_ssize_t>column * work.n
    cdef bint skip = work.min_samples_leaf <= 1 and not work.reference, mixed = False
    cdef int first = work.code[slots[0]], code, i, copies = 0
    cdef double value, following = data[slots[0]]
    memset(work.waiting, 0, work.trees.n_values * sizeof(double))
    for i in range(n - 1):
        value = following
        following = data[slots[i + 1]]
        code = work.code[slots[i]]
        mixed |= code != first
        work.waiting[code] += work.mass[slots[i]]
        copies += work.copies[slots[i]]
        if value < following:
            if (skip and not mixed and work.code[slots[i + 1]] == code
                    and (i + 2 == n or following < data[slots[i + 2]])):
                continue
            move_waiting(work, first, mixed, copies)
            offer(work, column, between(work, value, following), False, missing_left, best)
            first, mixed, copies = work.code[slots[i + 1]], False, 0
    move_waiting(work, first, mixed, copies)


cdef void move_waiting(Workspace work, int first, bint mixed, int copies) noexcept nogil:
    """Move what waits to the left: samples of one class, or of several."""
    cdef int code
    work.here.copies += copies
    work.there.copies -= copies
    if not mixed:
        move(work, first, work.waiting[first])
        work.waiting[first] = 0.0
        return
    for code in range(work.trees.n_values):
        if work.waiting[code] > 0.0:
            move(work, code, work.waiting[code])
            work.waiting[code] = 0.0


cdef void try_bit(Workspace work, int column, Split* best) noexcept nogil:
    """The one threshold of a column of two values."""
    cdef int code, low, n_low = 0, bit = work.bit[column]
    begin(work)
    for code in range(work.trees.n_values):
        low = <int>work.node.counts[code] - work.high[code * 8 * work.n_bytes + bit]
        n_low += low
        if low > 0:
            move(work, code, low)
    work.here.copies, work.there.copies = n_low, work.node.copies - n_low
    offer(work, column, work.cuts[bit], False, False, best)


cdef void try_nominal(Workspace work, const Task* task, int column, Split* best) noexcept nogil:
    cdef const double* data = work.values + <Py_ssize_t>column * work.n
    cdef const int* ranked = work.ranked + <Py_ssize_t>column * work.n
    cdef int n_missing = count_missing(work, task, column)
    cdef int present = task.end - n_missing, i, j, k, missing_left
    for missing_left in range(2 if n_missing else 1):
        i = task.start
        while i < present:
            begin(work)
            j = i
            while j < present and data[ranked[j]] == data[ranked[i]]:
                shift(work, ranked[j])
                j += 1
            if missing_left:
                for k in range(present, task.end):
                    shift(work, ranked[k])
            offer(work, column, data[ranked[i]], True, missing_left, best)
            i = j
    if n_missing:
        begin(work)
        for i in range(present, task.end):
            shift(work, ranked[i])
        offer(work, column, NO_CODE, True, True, best)


cdef void try_random(Workspace work, const Task* task, int column, Split* best) noexcept nogil:
    """One threshold between the least and the largest value, or the value of one sample."""
    cdef const double* data = work.values + <Py_ssize_t>column * work.n
    cdef const int* ranked = work.ranked + <Py_ssize_t>column * work.n
    cdef int n_missing = count_missing(work, task, column)
    cdef int present = task.end - n_missing, i, missing_left
    cdef double low = data[ranked[task.start]], high = data[ranked[present - 1]], threshold
    if work.nominal[column]:
        threshold = data[ranked[task.start + <int>below(&work.rng, present - task.start)]]
    else:
        threshold = low + uniform(&work.rng) * (high - low)
        if not low <= threshold < high:
            threshold = low
    for missing_left in range(2 if n_missing else 1):
        begin(work)
        for i in range(task.start, present):
            if (data[ranked[i]] == threshold if work.nominal[column]
                    else data[ranked[i]] <= threshold):
                shift(work, ranked[i])
        if missing_left:
            for i in range(present, task.end):
                shift(work, ranked[i])
        offer(work, column, threshold, work.nominal[column], missing_left, best)


cdef void offer(Workspace work, int column, double threshold, bint nominal, bint missing_left,
                Split* best) noexcept nogil:
    """Take the present sides as the best split if the rules allow it and it is better."""
    cdef double score
    cdef Side* here = &work.here
    cdef Side* there = &work.there
    if here.copies < work.min_samples_leaf or there.copies < work.min_samples_leaf:
        return
    if here.weight <= 0.0 or there.weight <= 0.0:   # lost in rounding beside the other side
        return
    if work.exact:                  # apart, so that no registers are saved for its calls
        offer_published(work, column, threshold, nominal, missing_left, best)
        return
    if work.criterion == GINI:      # one division: whole weights give exact scores
        score = ((here.score * there.weight + there.score * here.weight)
                 / (here.weight * there.weight))
    elif work.criterion == ENTROPY:
        score = (here.score - count_log_count(work, here.weight)) + (
            there.score - count_log_count(work, there.weight))
    else:
        score = (here.score * here.score / here.weight
                 + there.score * there.score / there.weight)
    take_better(work, column, threshold, nominal, missing_left, score, 0.0, best)


cdef void offer_published(Workspace work, int column, double threshold, bint nominal,
                          bint missing_left, Split* best) noexcept nogil:
    """The same by the score of a published program."""
    cdef double score, removed = 0.0
    score = reference_score(work, &removed) if work.reference else forgetful_score(work)
    take_better(work, column, threshold, nominal, missing_left, score, removed, best)


cdef inline void take_better(Workspace work, int column, double threshold, bint nominal,
                             bint missing_left, double score, double removed,
                             Split* best) noexcept nogil:
    """Take a split as the best one if its score is better by more than rounding."""
    cdef double lead
    if score - score != 0.0:        # overflown: no answer
        return
    if best.column >= 0:
        lead = score - best.score
        if lead < -work.tie:
            return
        # A lower column comes later only where drop_constant has changed the order.
        if lead <= work.tie and (work.drawn or column >= best.column):
            return
    best.column, best.threshold, best.score = column, threshold, score
    best.nominal, best.missing_left, best.removed = nominal, missing_left, removed
