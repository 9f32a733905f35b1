"""The search for the best split of a node. See the header for the layout.

A scan moves samples one after the other from the right side of a candidate split to the left side.
Its functions are inline, because it moves every sample of a node for every column.
"""

from libc.math cimport INFINITY, NAN, log
from libc.string cimport memcpy, memmove, memset

from ..rng cimport below
from ..shares cimport first_largest
from ..sorting cimport sort_slots
from ..split cimport ENTROPY, GINI, NO_VALUE, VALUES, VARIANCE
from ..tree cimport reaches
from ..value_sets cimport (
    MANY_VALUES, N_CUTS, SEARCHES, SMOOTH, Cuts, ValueSet, are_ordered, codes_of, cut_of,
    new_values, smoothed, threshold_of, trimmed_values,
)
from .published cimport published_impurity, published_score
from .value_history cimport Entries, Entry, place_of
from .workspace cimport LISTED, NONE, STREAM, TABLE, Side

# If the product of two weights is smaller, its rounding error may exceed that of a tie.
cdef double FAINTEST_PRODUCT = 1e-290

# The third power of a smaller whole weight fits in 64 bits.
cdef double LARGEST_WHOLE = <double>(1 << 20)

cdef double[TABLE] X_LOG_X
X_LOG_X[0] = 0.0
for _i in range(1, TABLE):
    X_LOG_X[_i] = _i * log(<double>_i)


# --- The two sides of a candidate -----------------------------------------------------------------


cdef double x_log_x(double x) noexcept nogil:
    cdef int whole
    if 0.0 <= x < TABLE:            # a difference of large weights may be negative
        whole = <int>x
        if whole == x:
            return X_LOG_X[whole]
    return x * log(x) if x > 0.0 else 0.0


cdef inline double count_log_count(Workspace work, double count) noexcept nogil:
    return X_LOG_X[<int>count] if work.in_table else x_log_x(count)


cdef inline void begin_scan(Workspace work) noexcept nogil:
    """Put all samples of the node on the right side."""
    work.left.weight, work.left.score, work.left.copies = 0.0, 0.0, 0
    work.right.weight, work.right.score = work.node.weight, work.node.score
    work.right.copies = work.node.copies
    if work.criterion != VARIANCE:
        memset(work.left.counts, 0, work.n_classes * sizeof(double))
        memcpy(work.right.counts, work.node.counts, work.n_classes * sizeof(double))


cdef inline void move_class(Workspace work, int code, double mass) noexcept nogil:
    """Move the weight of samples of one class from the right side to the left."""
    cdef double left = work.left.counts[code], right = work.right.counts[code]
    work.left.weight += mass
    work.right.weight -= mass
    work.left.counts[code] = left + mass
    work.right.counts[code] = right - mass
    if work.criterion == GINI:
        work.left.score += mass * (2.0 * left + mass)
        work.right.score += mass * (mass - 2.0 * right)
    else:
        work.left.score += count_log_count(work, left + mass) - count_log_count(work, left)
        work.right.score += count_log_count(work, right - mass) - count_log_count(work, right)


cdef inline void move_sample(Workspace work, int sample) noexcept nogil:
    """Move one sample from the right side to the left."""
    cdef double mass = work.mass[sample]
    work.left.copies += work.copies[sample]
    work.right.copies -= work.copies[sample]
    if work.criterion != VARIANCE:
        move_class(work, work.code[sample], mass)
        return
    work.left.weight += mass
    work.right.weight -= mass
    work.left.score += mass * work.centred[sample]
    work.right.score -= mass * work.centred[sample]


cdef inline void move_samples(Workspace work, const int* ranked, int start,
                              int stop) noexcept nogil:
    """Move some of the sorted samples from the right side to the left."""
    cdef int i
    for i in range(start, stop):
        move_sample(work, ranked[i])


# --- Candidates -----------------------------------------------------------------------------------


cdef Candidate find_split(Workspace work, const Task* task) noexcept nogil:
    """The best split of a node over the features that are visited."""
    cdef Candidate best
    cdef int i, j, column, n_visited = 0, n = task.n_active + work.n_linked
    cdef int* columns = work.columns
    if work.n_linked:
        columns = work.visited
        memcpy(columns, work.columns, task.n_active * sizeof(int))
        for i in range(work.n_linked):
            columns[task.n_active + i] = work.n_chosen + work.linked[i]
    work.in_random_order = work.shuffled or work.max_features < n
    best.split.feature, best.score = -1, -INFINITY
    best.split.threshold, best.split.nominal, best.split.missing_left = 0.0, 0, 0
    for i in range(n):
        if n_visited >= work.max_features and best.split.feature >= 0:
            break
        if work.in_random_order:
            j = i + <int>below(&work.rng, n - i)
            columns[i], columns[j] = columns[j], columns[i]
        column = columns[i]
        n_visited += 1
        if is_perfect(work, &best) and (
                work.in_random_order or not comes_first(work, column, best.split.feature)):
            continue
        if column >= work.n_chosen:
            load(work, task, column)
        elif work.bit[column] < 0 and not is_ranked(work, task):
            rank(work, task, column)
        try_column(work, task, column, &best)
    return best


cdef inline bint comes_first(Workspace work, int a, int b) noexcept nogil:
    """Whether one column is before another in the window."""
    return work.name[a] < work.name[b]


cdef void load(Workspace work, const Task* task, int column) noexcept nogil:
    """Read the values of a sparse column in a node, and sort its samples; leave full ones alone."""
    cdef int c = column - work.n_chosen, e, n = 0
    cdef int* ranked = work.sparse_ranked + task.start
    if c < 0 or work.loaded == c:
        return
    unload(work)
    work.loaded = c
    e = work.head[c]
    while e >= 0:
        work.sparse_values[work.entries[e].sample] = work.entries[e].value
        ranked[n] = work.entries[e].sample
        n += 1
        e = work.entries[e].next
    sort_slots(ranked, work.spare, work.sparse_values, n)
    if n < task.end - task.start:
        ranked[task.end - task.start - 1] = ~n


cdef void unload(Workspace work) noexcept nogil:
    """Forget the values of the sparse column that is loaded."""
    cdef int e = work.head[work.loaded] if work.loaded >= 0 else -1
    while e >= 0:
        work.sparse_values[work.entries[e].sample] = NAN
        e = work.entries[e].next
    work.loaded = -1


cdef inline void try_column(Workspace work, const Task* task, int column,
                            Candidate* best) noexcept nogil:
    """Try the splits of one column."""
    cdef int n_values = 0
    if work.nominal[column] and work.published == NONE:
        n_values = count_values(work, task, column)
    if are_ordered(SEARCHES, n_values, task.end - task.start - count_missing(work, task, column)):
        try_groups(work, task, column, False, best)
    elif work.bit[column] >= 0:
        try_bit(work, column, best)
    elif work.nominal[column]:
        try_nominal(work, task, column, best)
    else:
        try_numeric(work, task, column, best)
    if n_values > 4 and work.n_met > 2 and task.end - task.start >= LISTED:
        try_groups(work, task, column, True, best)


cdef int count_values(Workspace work, const Task* task, int column) noexcept nogil:
    """The number of values of a nominal column in a node, or in its history if these are many."""
    cdef const double* data = work.values_of(column)
    cdef const int* ranked = work.ranked_of(column)
    cdef const Entries* past = history_of(work, column)
    cdef int i, n_values = 1
    if past != NULL and past.n_values > MANY_VALUES:
        return past.n_values
    for i in range(task.start + 1, task.end - count_missing(work, task, column)):
        n_values += data[ranked[i]] != data[ranked[i - 1]]
    return n_values


cdef bint is_perfect(Workspace work, const Candidate* best) noexcept nogil:
    """Whether both sides are pure, so that no other split can be better."""
    if work.published == STREAM:      # its scores have another scale
        return False
    if work.criterion == GINI:
        return best.score >= work.node.weight - work.tie
    return work.criterion == ENTROPY and best.score >= -work.tie


cdef void try_numeric(Workspace work, const Task* task, int column,
                      Candidate* best) noexcept nogil:
    """Try every threshold, with missing values on either side; and present against missing.

    When all present samples are on the left, the right side is that of the missing values, so these
    are never moved one by one: most columns of sparse samples are missing in most of them.
    """
    cdef const int* ranked = work.ranked_of(column)
    cdef int n_missing = count_missing(work, task, column)
    cdef int present = task.end - n_missing, missing_left
    cdef bint one_by_one = work.published == NONE and (
        work.in_table if work.criterion == ENTROPY
        else work.unit_weights and work.batch_weight < LARGEST_WHOLE)
    for missing_left in range(2 if n_missing else 1):
        if missing_left:
            work.left, work.right = work.right, work.left
        else:
            begin_scan(work)
        if work.criterion == VARIANCE:
            scan_numbers(work, column, ranked + task.start, present - task.start, missing_left,
                         best)
        elif one_by_one and work.criterion == GINI:
            scan_whole(work, column, ranked + task.start, present - task.start, missing_left, True,
                       best)
        elif one_by_one:
            scan_whole(work, column, ranked + task.start, present - task.start, missing_left, False,
                       best)
        else:
            scan_classes(work, column, ranked + task.start, present - task.start, missing_left,
                         best)
        if n_missing and not missing_left:
            if one_by_one:
                begin_scan(work)
                move_samples(work, ranked, task.start, present - 1)
            move_sample(work, ranked[present - 1])
            consider(work, column, INFINITY, False, False, best)


cdef void scan_numbers(Workspace work, int column, const int* ranked, int n, bint missing_left,
                       Candidate* best) noexcept nogil:
    """Consider every threshold between n sorted samples; move all but the last one left."""
    cdef const double* data = work.values_of(column)
    cdef double value, following = data[ranked[0]]
    cdef int i
    for i in range(n - 1):
        value = following
        following = data[ranked[i + 1]]
        move_sample(work, ranked[i])
        if value < following and not is_behind(work, best):
            consider(work, column, threshold_between(work, value, following), False, missing_left,
                     best)


cdef void scan_classes(Workspace work, int column, const int* ranked, int n, bint missing_left,
                       Candidate* best) noexcept nogil:
    """As `scan_numbers`, but samples are moved only when a threshold is considered.

    A threshold within a run of samples of one class is not better than both thresholds at the ends
    of the run (Fayyad and Irani 1992), so it is not considered. The exception is a
    min_samples_leaf that could forbid the thresholds at the ends.
    """
    cdef const double* data = work.values_of(column)
    cdef bint skip = work.min_samples_leaf <= 1 and work.published != STREAM, mixed = False
    cdef int k = ranked[0], first = work.code[k], code = first, i
    cdef int64_t copies = 0
    cdef double run = 0.0           # waiting weight, all of class `first`, unless `mixed`
    cdef double value, following = data[k], after = data[ranked[1]] if n > 1 else INFINITY
    for i in range(n - 1):
        if mixed:
            work.waiting[code] += work.mass[k]
        else:
            run += work.mass[k]
        copies += work.copies[k]
        k = ranked[i + 1]
        code = work.code[k]
        value, following = following, after
        after = data[ranked[i + 2]] if i + 2 < n else INFINITY
        if value < following:
            if skip and not mixed and code == first and following < after:
                continue
            move_waiting(work, first, run, mixed, copies)
            if not is_behind(work, best):
                consider(work, column, threshold_between(work, value, following), False,
                         missing_left, best)
            first, run, mixed, copies = code, 0.0, False, 0
        elif code != first and not mixed:
            memset(work.waiting, 0, work.n_classes * sizeof(double))
            work.waiting[first] = run
            mixed = True
    move_waiting(work, first, run, mixed, copies)


cdef inline void scan_whole(Workspace work, int column, const int* ranked, int n,
                            bint missing_left, bint is_gini, Candidate* best) noexcept nogil:
    """As `scan_classes`, for whole weights: Gini impurity, or entropy by the table of x log x.

    To move a sample takes no multiplication of large numbers and no logarithm, so samples are moved
    one by one. Whether a threshold is considered is computed without branches on the classes, which
    no processor can predict; it is rarely considered, because most thresholds are worse than the
    best one so far. The counts per class of the two sides stay as they are.
    """
    cdef const double* data = work.values_of(column)
    cdef const int* codes = work.code
    cdef const int* copies = work.copies
    cdef int* left_counts = work.whole_counts
    cdef int* counts = left_counts + work.n_classes        # of both sides
    cdef bint skip = work.min_samples_leaf <= 1, mixed = False, considered, is_ahead
    cdef int k = ranked[0], code = codes[k], first = code, i, of_left, of_right
    cdef int64_t left = <int64_t>work.left.weight, right = <int64_t>work.right.weight, mass
    cdef int64_t total = left + right
    cdef double value, following = data[k], after = data[ranked[1]] if n > 1 else INFINITY
    cdef double left_score = work.left.score, right_score = work.right.score
    # Gini, per class: the sum of left^2, and that of right^2 - left^2 = both (both - 2 left).
    cdef int64_t squares = <int64_t>left_score, more = <int64_t>right_score - squares
    cdef double bound = best.score - 2.0 * work.tie     # see `is_behind`
    for i in range(work.n_classes):
        left_counts[i] = <int>work.left.counts[i]
        counts[i] = left_counts[i] + <int>work.right.counts[i]
    for i in range(n - 1):
        mass = copies[k]
        of_left = left_counts[code]
        left_counts[code] = of_left + <int>mass
        left += mass
        right -= mass
        if is_gini:
            squares += mass * (2 * of_left + mass)
            more -= 2 * mass * counts[code]
        else:
            of_right = counts[code] - of_left
            left_score += X_LOG_X[of_left + mass] - X_LOG_X[of_left]
            right_score += X_LOG_X[of_right - mass] - X_LOG_X[of_right]
        k = ranked[i + 1]
        code = codes[k]
        value, following = following, after
        after = data[ranked[i + 2]] if i + 2 < n else INFINITY
        considered = (value < following) & (
            (not skip) | mixed | (code != first) | (not following < after))
        if is_gini:
            # squares * right + (squares + more) * left, the numerator of the score
            is_ahead = <double>(squares * total + more * left) >= bound * <double>(left * right)
        else:
            is_ahead = (left_score - X_LOG_X[left]) + (right_score - X_LOG_X[right]) >= bound
        if considered & is_ahead:
            if is_gini:
                left_score, right_score = <double>squares, <double>(squares + more)
            work.left.weight, work.left.score, work.left.copies = left, left_score, left
            work.right.weight, work.right.score, work.right.copies = right, right_score, right
            consider(work, column, threshold_between(work, value, following), False, missing_left,
                     best)
            bound = best.score - 2.0 * work.tie
        mixed = (not considered) & (mixed | (code != first))
        first = code if considered else first


cdef inline void move_waiting(Workspace work, int first, double run, bint mixed,
                              int64_t copies) noexcept nogil:
    """Move the waiting samples left: a run of one class, or samples of several classes."""
    cdef int code
    work.left.copies += copies
    work.right.copies -= copies
    if not mixed:
        move_class(work, first, run)
        return
    for code in range(work.n_classes):
        if work.waiting[code] > 0.0:
            move_class(work, code, work.waiting[code])


cdef void try_bit(Workspace work, int column, Candidate* best) noexcept nogil:
    """Try the only threshold of a column with two values."""
    cdef int code, low, n_low = 0, bit = work.bit[column]
    begin_scan(work)
    for code in range(work.n_classes):
        low = <int>work.node.counts[code] - work.high[code * 8 * work.n_bytes + bit]
        n_low += low
        if low > 0:
            move_class(work, code, low)
    work.left.copies, work.right.copies = n_low, work.node.copies - n_low
    consider(work, column, work.cuts[bit], False, False, best)


cdef inline bint was_tried(Workspace work, int sample) noexcept nogil:
    """Whether a sample of the same class and mass was tried as the only one with its value.

    Its split has the same score, and a later one is not better. `waiting` has the masses by class.
    """
    cdef double* tried = work.waiting + work.code[sample] if work.unit_weights else NULL
    if tried == NULL:
        return False
    if tried[0] == work.mass[sample]:
        return True
    tried[0] = work.mass[sample]
    return False


cdef void try_nominal(Workspace work, const Task* task, int column,
                      Candidate* best) noexcept nogil:
    """Try every value against the rest, and the missing values against all others."""
    cdef const double* data = work.values_of(column)
    cdef const int* ranked = with_missing(work, task, column)
    cdef int n_missing = count_missing(work, task, column)
    cdef int present = task.end - n_missing, i, j, missing_left
    for missing_left in range(2 if n_missing else 1):
        if work.unit_weights:
            memset(work.waiting, 0, work.n_classes * sizeof(double))
        i = task.start
        while i < present:
            j = first_behind(work, task, column, i, present)
            if j > i + 1 or not was_tried(work, ranked[i]):
                begin_scan(work)
                move_samples(work, ranked, i, j)
                if missing_left:
                    move_samples(work, ranked, present, task.end)
                if not is_behind(work, best):
                    consider(work, column, data[ranked[i]], True, missing_left, best)
            i = j
    if n_missing:
        begin_scan(work)
        move_samples(work, ranked, present, task.end)
        consider(work, column, NO_VALUE, True, True, best)


cdef int first_behind(Workspace work, const Task* task, int column, int i,
                      int present) noexcept nogil:
    """The end of the run of samples that have the same value as the sorted sample i.

    The missing values, from `present` on, are one run.
    """
    cdef const double* data = work.values_of(column)
    cdef const int* ranked = work.ranked_of(column)
    cdef int j = i + 1
    if i >= present:
        return task.end
    while j < present and data[ranked[j]] == data[ranked[i]]:
        j += 1
    return j


cdef inline double target_in(Workspace work, int sample) noexcept nogil:
    """The target by which values are ordered."""
    return (work.centred[sample] if work.criterion == VARIANCE
            else work.class_targets[work.code[sample]])


cdef double sum_run(Workspace work, int column, const int* ranked, int i, int j,
                    double* weight) noexcept nogil:
    """The sum of the targets of a run and of the history of its value, and the weight of both."""
    cdef double total = 0.0
    cdef const Entries* past = history_of(work, column)
    cdef double code = work.values_of(column)[ranked[i]]
    cdef int place
    weight[0] = 0.0
    for i in range(i, j):
        weight[0] += work.mass[ranked[i]]
        total += work.mass[ranked[i]] * target_in(work, ranked[i])
    if past != NULL and code == code:
        place = place_of(past, code)
        total += sum_past(work, past, &place, code, weight)
    return total


cdef inline const Entries* history_of(Workspace work, int column) noexcept nogil:
    """What is known of the values of a column from earlier samples, or NULL."""
    return NULL if work.history is None else work.history.entries_of(work.name[column])


cdef inline double sum_past(Workspace work, const Entries* past, int* place, double code,
                            double* weight) noexcept nogil:
    """The sum of the earlier targets of a value, whose entries begin at `place`; go behind them."""
    cdef double total = 0.0
    cdef int number
    cdef const Entry* entry
    while place[0] < past.n and past.first[place[0]].code == code:
        entry = &past.first[place[0]]
        weight[0] += entry.weight
        if work.criterion == VARIANCE:
            total += entry.total - entry.weight * work.mean
        else:
            number = work.number_of[entry.label]
            if number < work.n_classes and work.labels[number] == entry.label:
                total += entry.weight * work.class_targets[number]
        place[0] += 1
    return total


cdef Cuts cuts_of(Workspace work, const Task* task, int column, bint all_classes) noexcept nogil:
    """The borders between the means of the values in a node; scale 0: all means are equal."""
    cdef const int* ranked = with_missing(work, task, column)
    cdef int i = task.start, j
    cdef int present = task.end - count_missing(work, task, column)
    cdef double mean, total, weight, high = -INFINITY
    cdef Cuts cuts
    cuts.low, cuts.prior = INFINITY, SMOOTH * (
        0.0 if work.criterion == VARIANCE else work.set_class_targets(all_classes))
    while i < task.end:
        j = first_behind(work, task, column, i, present)
        total = sum_run(work, column, ranked, i, j, &weight)
        mean = smoothed(&cuts, total, weight)
        cuts.low, high = min(cuts.low, mean), max(high, mean)
        i = j
    cuts.scale = N_CUTS / (high - cuts.low) if high > cuts.low else 0.0
    return cuts


cdef void try_groups(Workspace work, const Task* task, int column, bint all_classes,
                     Candidate* best) noexcept nogil:
    """Try the cuts of the values of a nominal column.

    The threshold of the candidate is the number of its cut, see `name_values`; plus N_CUTS if all
    classes decide the order.
    """
    cdef const int* ranked = with_missing(work, task, column)
    cdef Cuts cuts = cuts_of(work, task, column, all_classes)
    cdef int present = task.end - count_missing(work, task, column)
    cdef int i = task.start, j, k, c, n_values = work.n_classes
    cdef double total, weight, mass, target
    cdef double[N_CUTS] weights, totals
    cdef double left = 0.0, right = 0.0
    cdef int64_t[N_CUTS] copies
    cdef int64_t[N_CUTS] own_copies     # of the values, as they are divided
    cdef int64_t n_left = 0
    if cuts.scale == 0.0:
        return
    memset(work.cut_counts, 0, N_CUTS * n_values * sizeof(double))
    memset(weights, 0, sizeof(weights))
    memset(totals, 0, sizeof(totals))
    memset(copies, 0, sizeof(copies))
    memset(own_copies, 0, sizeof(own_copies))
    while i < task.end:
        j = first_behind(work, task, column, i, present)
        total = sum_run(work, column, ranked, i, j, &weight)
        c = cut_of(&cuts, smoothed(&cuts, total, weight))
        for i in range(i, j):
            mass, target = work.mass[ranked[i]], target_in(work, ranked[i])
            own_copies[c] += work.copies[ranked[i]]
            k = cut_of(&cuts, smoothed(&cuts, total - mass * target, weight - mass))
            weights[k] += mass
            totals[k] += mass * target
            right += mass * target
            copies[k] += work.copies[ranked[i]]
            if work.criterion != VARIANCE:
                work.cut_counts[k * n_values + work.code[ranked[i]]] += mass
        i = j
    begin_scan(work)
    for k in range(N_CUTS - 1):
        if copies[k] == 0 and own_copies[k] == 0:     # as the cut before
            continue
        n_left += own_copies[k]
        work.left.copies += copies[k]
        work.right.copies -= copies[k]
        left += totals[k]
        right -= totals[k]
        if work.criterion == VARIANCE:
            work.left.weight += weights[k]
            work.right.weight -= weights[k]
            work.left.score += totals[k]
            work.right.score -= totals[k]
        else:
            for c in range(n_values):
                if work.cut_counts[k * n_values + c] > 0.0:
                    move_class(work, c, work.cut_counts[k * n_values + c])
        if left * work.right.weight < right * work.left.weight and (   # the left mean is smaller
                min(n_left, task.copies - n_left) >= max(1, work.min_samples_leaf)):
            consider(work, column, k + N_CUTS * all_classes, VALUES, False, best)


cdef inline bint lists_history(Workspace work, const Task* task) noexcept nogil:
    """Whether a split names values that no sample of the node has: not in small nodes, for time."""
    return task.end - task.start >= work.least_named


cdef struct Met:            # a value that the samples of a node or its history have
    double code
    double total, weight    # as `sum_run` finds them
    int i, place            # the first sample and the first entry behind those of the value


cdef bint next_value(Workspace work, const Task* task, int column, int present,
                     Met* met) noexcept nogil:
    """Go to the next value in ascending order; False if there is none.

    Of the values that only the history has, these are the ones that reach the node.
    """
    cdef const double* data = work.values_of(column)
    cdef const int* ranked = work.ranked_of(column)
    cdef const Entries* past = history_of(work, column)
    cdef int first, n_past = past.n if past != NULL and lists_history(work, task) else 0
    while met.i < present or met.place < n_past:
        met.total = met.weight = 0.0
        if met.place == n_past or (
                met.i < present and data[ranked[met.i]] <= past.first[met.place].code):
            first, met.code = met.i, data[ranked[met.i]]
            met.i = first_behind(work, task, column, first, present)
            met.total = sum_run(work, column, ranked, first, met.i, &met.weight)
            while met.place < n_past and past.first[met.place].code == met.code:
                met.place += 1
            return True
        met.code = past.first[met.place].code
        met.total = sum_past(work, past, &met.place, met.code, &met.weight)
        if reaches(work.tree, task.node, work.name[column], met.code):
            return True
    return False


cdef bint name_values(Workspace work, const Task* task, Split* split) noexcept nogil:
    """Make the set of values of a cut that was found; return False if memory is short."""
    cdef bint all_classes = <int>split.threshold >= N_CUTS
    cdef int column = split.feature, cut = <int>split.threshold % N_CUTS
    cdef const int* ranked = with_missing(work, task, column)
    cdef const Entries* past = history_of(work, column)
    cdef Cuts cuts = cuts_of(work, task, column, all_classes)
    cdef int present = task.end - count_missing(work, task, column), n_left = 0, n_right = 0
    cdef int most = present - task.start + (
        past.n if past != NULL and lists_history(work, task) else 0)
    cdef double total, weight = 0.0, balance = 0.0
    cdef bint left
    cdef ValueSet* values = new_values(most, True)
    cdef Met met
    if values == NULL:
        return False
    met.i, met.place = task.start, 0
    while next_value(work, task, column, present, &met):   # those on the right from the end on
        left = cut_of(&cuts, smoothed(&cuts, met.total, met.weight)) <= cut
        n_left += left
        n_right += not left
        codes_of(values)[n_left - 1 if left else most - n_right] = met.code
        balance += met.weight if left else -met.weight
    if present < task.end:
        total = sum_run(work, column, ranked, present, task.end, &weight)
        split.missing_left = cut_of(&cuts, smoothed(&cuts, total, weight)) <= cut
        balance += weight if split.missing_left else -weight
    values.others_left = balance >= 0.0
    if not all_classes:     # else the set would need what each class counts
        keep_border(work, values, &cuts, cut)
    if values.others_left:
        reverse(codes_of(values) + (most - n_right), n_right)
        memmove(codes_of(values), codes_of(values) + (most - n_right), n_right * sizeof(double))
        n_left = n_right
    split.threshold = threshold_of(trimmed_values(values, n_left))
    return True


cdef inline void keep_border(Workspace work, ValueSet* values, const Cuts* cuts,
                             int cut) noexcept nogil:
    """Note by which means a cut has divided the values."""
    values.prior, values.border = cuts.prior, cuts.low + (cut + 1) / cuts.scale
    if work.criterion == VARIANCE:      # its targets are centred
        values.prior += SMOOTH * work.mean
        values.border += work.mean
    else:
        values.label = work.labels[first_largest(work.node.counts, work.n_classes)]


cdef inline void reverse(double* numbers, int n) noexcept nogil:
    cdef int i
    for i in range(n // 2):
        numbers[i], numbers[n - 1 - i] = numbers[n - 1 - i], numbers[i]


cdef void rank(Workspace work, const Task* task, int column) noexcept nogil:
    """Sort the samples of a node that have a value of a column, ties in order of arrival."""
    cdef const double* values = work.values_of(column)
    cdef int* ranked = work.ranked_of(column) + task.start
    cdef int i, k, size = task.end - task.start, n_present = 0
    for i in range(task.start, task.end):
        k = work.samples[i]
        ranked[n_present] = k
        n_present += values[k] == values[k]
    sort_slots(ranked, work.spare, values, n_present)
    if n_present < size:
        ranked[size - 1] = ~n_present


cdef const int* with_missing(Workspace work, const Task* task, int column) noexcept nogil:
    """The sorted order of a column, with the samples that have no value behind the others."""
    cdef const double* values = work.values_of(column)
    cdef const int* ranked = work.ranked_of(column)
    cdef int i, k, n = task.end - count_missing(work, task, column)
    if n == task.end:
        return ranked
    memcpy(work.listed + task.start, ranked + task.start, (n - task.start) * sizeof(int))
    for i in range(task.start, task.end):
        k = work.samples[i]
        if values[k] != values[k]:
            work.listed[n] = k
            n += 1
    return work.listed


cdef int count_missing(Workspace work, const Task* task, int column) noexcept nogil:
    cdef int last = work.ranked_of(column)[task.end - 1]
    if work.bit[column] >= 0 or last >= 0:
        return 0
    return task.end - task.start - ~last


# --- Scores ---------------------------------------------------------------------------------------


cdef inline bint is_behind(Workspace work, const Candidate* best) noexcept nogil:
    """Whether the current split is certainly worse than the best split.

    The comparison needs no division. It leaves nearly equal scores to `consider`.
    """
    cdef const Side* left = &work.left
    cdef const Side* right = &work.right
    cdef double scale, score
    if work.published != NONE:
        return False
    if work.criterion == ENTROPY:
        if not work.in_table:
            return False
        score = (left.score - X_LOG_X[<int>left.weight]) + (
            right.score - X_LOG_X[<int>right.weight])
        return score < best.score - 2.0 * work.tie
    scale = left.weight * right.weight
    if not scale > FAINTEST_PRODUCT:
        return False
    if work.criterion == GINI:
        score = left.score * right.weight + right.score * left.weight
    else:
        score = (left.score * left.score * right.weight + right.score * right.score * left.weight)
    return score < (best.score - 2.0 * work.tie) * scale


cdef void consider(Workspace work, int column, double threshold, int nominal, bint missing_left,
                   Candidate* best) noexcept nogil:
    """Keep the current split as the best one if the rules allow it and it is better.

    Better is a score that is larger by more than the tolerance.
    """
    cdef double score, lead, removed = 0.0
    cdef Side* left = &work.left
    cdef Side* right = &work.right
    if left.copies < work.min_samples_leaf or right.copies < work.min_samples_leaf:
        return
    if left.weight <= 0.0 or right.weight <= 0.0:   # lost by rounding, the other side is heavier
        return
    if work.published != NONE:
        score = published_score(work, &removed)
    elif work.criterion == GINI:    # one division: whole weights give exact scores
        score = ((left.score * right.weight + right.score * left.weight)
                 / (left.weight * right.weight))
    elif work.criterion == ENTROPY:
        score = (left.score - count_log_count(work, left.weight)) + (
            right.score - count_log_count(work, right.weight))
    else:
        score = (left.score * left.score / left.weight
                 + right.score * right.score / right.weight)
    if score - score != 0.0:        # infinite or NaN after an overflow
        return
    if best.split.feature >= 0:
        lead = score - best.score
        if lead < -work.tie:
            return
        # A lower column comes later if drop_constant has changed the order, or it is sparse.
        if lead <= work.tie and (
                work.in_random_order or not comes_first(work, column, best.split.feature)):
            return
    best.score, work.removed = score, removed
    best.split.feature, best.split.threshold = column, threshold
    best.split.nominal, best.split.missing_left = nominal, missing_left


cdef double node_score(Workspace work) noexcept nogil:
    """The score of the node without a split, on the scale of `consider`."""
    if work.published != NONE and work.criterion != VARIANCE:
        return -work.node.weight * published_impurity(
            work, work.node.counts, work.n_classes, work.node.weight)
    if work.criterion == GINI:
        return work.node.score / work.node.weight
    if work.criterion == ENTROPY:
        return work.node.score - x_log_x(work.node.weight)
    return 0.0
