"""Cuts of nominal columns, see the header.

With few values in a leaf, a cut parts one value from the others. With more, it parts a set of them
(`value_sets`): the values are ordered by a regularised mean of the target, and the order is cut
where the variance falls most. A cut that has been chosen among 2^(B - 1) ways to divide B values
fits noise, too, so its evidence is that of all ways together: let the value b be exp(l) times as
probable on its side as on the other one, and p the prior probability of this side. The sum over all
ways is then the evidence of this one times the product of p + (1 - p) exp(-l) over the values, and
twice that, as the sides have no names.

In a classification, the samples that have left the pool tell what the values of columns with many
say (`value_history`): they order the values with those of the leaf, p is what they alone say, and
values of which the leaf has no sample go to the side for which they speak. Otherwise p is 1 / 2,
and such values go to the heavier side.

In a classification, a value that is new or rare is sent anew after each of its first samples, in
all trees, to the side of the border of each set on which its mean lies (`send_values`). Else its
first samples would fall among those of values that have gone for ever, and no particle could part
it from these before it had outweighed them: a child inherits its share of all that has retired.
"""

from libc.math cimport exp, log
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memmove, memset

from ..cart.value_history cimport ENOUGH, Entries, place_of
from ..linalg cimport MAX_REGRESSORS, Fit, add_samples, fit, slopes_of
from ..rng cimport below
from ..split cimport VALUES
from ..value_sets cimport (
    MANY_VALUES, PROPOSES, ValueSet, are_ordered, codes_of, new_values, shared_values,
    threshold_of, turned_values, values_at,
)
from .particles cimport (
    Column, features_of, finish_leaf, gather, update_time, v_of, weigh_samples,
)
from .shared_trees cimport Node

# Weight with which the mean of a value goes to that of the leaf.
cdef double SMOOTHING = 1.0
cdef double LOG_2 = 0.6931471805599453
cdef double LARGEST_LOG_ODDS = 50.0


cdef int by_code(const void* one, const void* other) noexcept nogil:
    cdef double a = (<const double*>one)[0], b = (<const double*>other)[0]
    return (a > b) - (a < b)


cdef int by_mean(const void* one, const void* other) noexcept nogil:
    cdef double a = (<const Met*>one).mean, b = (<const Met*>other).mean
    if a == b:
        a, b = (<const Met*>one).code, (<const Met*>other).code
    return (a > b) - (a < b)


cdef int reserve_values(Particles filter) except -1 nogil:
    """Make room for the values of a leaf and of the history."""
    cdef int n = filter.pool.capacity + filter.history.n
    if filter.schema.is_numeric() or n <= filter.most_met:
        return 0
    n += n // 4
    filter.resize(&filter.met, n, sizeof(Met))
    filter.most_met = n
    return 0


cdef bint place_nominal(Particles filter, Rng* rng, const Leaf* leaf, Cut* cut,
                        double u) noexcept nogil:
    """Place a cut of a nominal column at u in [0, 1); return whether that is allowed."""
    cdef const Column* column = &filter.columns[cut.column]
    cdef int n_present = column.n_present, least = filter.min_samples_leaf, low, high
    cdef const int* order = column.order
    if n_present < 2 * least:
        return False
    if are_ordered(PROPOSES, column.n_values, n_present) and not filter.published:
        return place_values(filter, rng, leaf, cut)
    low = high = min(<int>(u * n_present), n_present - 1)
    cut.split.threshold = column.x[order[low]]
    while low > 0 and column.x[order[low - 1]] == cut.split.threshold:
        low -= 1
    while high < n_present and column.x[order[high]] == cut.split.threshold:
        high += 1
    cut.n_left = high - low
    return cut.n_left >= least and n_present - cut.n_left >= least


cdef bint place_values(Particles filter, Rng* rng, const Leaf* leaf, Cut* cut) noexcept nogil:
    """Divide the values into two sets by their regularised means.

    In a classification these are shares of the label of a sample that is drawn. Proposals of one
    column and label are equal.
    """
    cdef const Column* column = &filter.columns[cut.column]
    cdef Cut* other = filter.cuts
    cdef double squares, middle, mean
    cdef int n_first, n, n_met
    cut.label = 0
    if filter.model.multinomial:
        cut.label = <int>v_of(filter, column.order[below(rng, column.n_present)])[0]
    while other < cut:
        if (other.split.nominal == VALUES and other.column == cut.column
                and other.label == cut.label):
            cut.n_left, cut.correction, cut.first = other.n_left, other.correction, other.first
            cut.split.threshold, cut.split.nominal = other.split.threshold, VALUES
            values_at(cut.split.threshold).n_owners += 1
            return True
        other += 1
    n = sum_values(filter, leaf, column, cut.label, &n_met, &squares, &mean)
    n_first = cut_order(filter.met, n, filter.min_samples_leaf, squares, &cut.correction, &middle)
    if n_first == 0:
        return False
    cut.first = <int>(cut - filter.cuts)
    return name_values(filter, cut, n_first, n, n_met, middle, mean)


cdef int sum_values(Particles filter, const Leaf* leaf, const Column* column, int label,
                    int* n_met, double* squares, double* mean) noexcept nogil:
    """Sum the samples of a leaf and the history by value into `met`; return how many are its own.

    The n_met - n values of which the leaf has no sample follow. The signal of a sample is its
    target, without what a linear leaf predicts from its features, or whether it has the label.
    """
    cdef const int* order = column.order
    cdef const Entries* entries = filter.history.entries_of(column.feature)
    cdef double total = 0.0, weight = 0.0, share, signal
    cdef Met* met = filter.met
    cdef Met* here = met
    cdef int i, k = 0, n = 0, n_entries = 0
    if not filter.model.multinomial and not filter.scan.has_signal:
        find_signal(filter, leaf)
    squares[0] = 0.0
    for i in range(column.n_present):
        if i == 0 or column.x[order[i]] != column.x[order[i - 1]]:
            here = begin_value(met, &n, column.x[order[i]])
        share = filter.sample_weight[order[i]]
        signal = (
            <double>(<int>v_of(filter, order[i])[0] == label) if filter.model.multinomial
            else filter.scan.signal[order[i]])
        here.n += 1
        here.weight += share
        here.total += share * signal
        weight += share
        total += share * signal
        squares[0] += share * signal * signal
    mean[0] = total / weight
    squares[0] -= total * mean[0]
    n_met[0] = n
    if entries != NULL and entries.n_values > MANY_VALUES:
        n_entries = entries.n
    for i in range(n_entries):      # both ascend
        while k < n and met[k].code < entries.first[i].code:
            k += 1
        if k < n and met[k].code == entries.first[i].code:
            here = &met[k]
        elif n_met[0] == n or met[n_met[0] - 1].code != entries.first[i].code:
            here = begin_value(met, n_met, entries.first[i].code)
        else:
            here = &met[n_met[0] - 1]
        here.past_weight += entries.first[i].weight
        here.past_total += entries.first[i].weight * (entries.first[i].label == label)
    total = weight = 0.0
    for i in range(n):
        total += met[i].past_total
        weight += met[i].past_weight
    for i in range(n_met[0] if weight > 0.0 else 0):
        met[i].past_total -= met[i].past_weight * (total / weight)
    for i in range(n):
        met[i].total -= met[i].weight * mean[0]
        met[i].mean = (met[i].total + met[i].past_total) / (
            met[i].weight + met[i].past_weight + SMOOTHING)
    return n


cdef inline Met* begin_value(Met* met, int* n, double code) noexcept nogil:
    """Append a value without samples."""
    cdef Met* here = met + n[0]
    memset(here, 0, sizeof(Met))
    here.code = code
    n[0] += 1
    return here


cdef bint name_values(Particles filter, Cut* cut, int n_first, int n, int n_met,
                      double middle, double mean) noexcept nogil:
    """Make the set of the values of the lighter side; return False if memory is short."""
    cdef const Met* met = filter.met
    cdef bint is_low = met[0].mean < met[n - 1].mean        # whether the first values are
    cdef ValueSet* values = new_values(n_first + n_met - n, not is_low)
    cdef double* codes
    cdef int i, k = n_first, n_right = 0
    if values == NULL:
        filter.scan.is_short = True
        return False
    codes = codes_of(values)
    cut.n_left = 0
    for i in range(n_first):
        cut.n_left += met[i].n
        codes[i] = met[i].code
    for i in range(n, n_met):
        if (met[i].past_total < met[i].past_weight * middle) == is_low:
            codes[k] = met[i].code
            k += 1
    qsort(codes, k, sizeof(double), by_code)
    for i in range(n_first, n if not is_low else 0):
        n_right += met[i].n
    if not is_low:
        cut.n_left = n_right
    values.label, values.prior, values.border = cut.label, SMOOTHING * mean, mean + middle
    values = shared_values(values, k)
    cut.split.threshold, cut.split.nominal = threshold_of(values), VALUES
    return True


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


cdef int cut_order(Met* met, int n, int least, double squares, double* correction,
                   double* middle) noexcept nogil:
    """Order n values and cut the order; return how many are on the first, lighter side, or 0."""
    cdef int i, n_first = 0, n_samples = 0, n_left = 0
    cdef double weight = 0.0, left = 0.0, total = 0.0, between, most = 0.0, gap = 0.0
    cdef double left_of_best = 0.0, log_ways = 0.0, lean, before
    cdef Met moved
    qsort(met, n, sizeof(Met), by_mean)
    for i in range(n):
        weight += met[i].weight
        n_samples += met[i].n
    for i in range(n - 1):
        n_left += met[i].n
        left += met[i].weight
        total += met[i].total
        if n_left < least or n_samples - n_left < least or left <= 0.0 or weight - left <= 0.0:
            continue
        between = total * total * (1.0 / left + 1.0 / (weight - left))
        if between > most:
            most, n_first, left_of_best = between, i + 1, left
            gap = -total * (1.0 / left + 1.0 / (weight - left))
            middle[0] = 0.5 * total * (1.0 / left - 1.0 / (weight - left))
    if n_first == 0:
        return 0
    squares = max(squares - most, 1e-9 * squares) / weight
    for i in range(n):
        lean = gap / squares if i < n_first else -gap / squares
        before = lean * (met[i].past_weight * middle[0] - met[i].past_total)
        before = 1.0 / (1.0 + exp(min(-before, LARGEST_LOG_ODDS)))
        lean *= met[i].weight * middle[0] - met[i].total
        log_ways += log(before + (1.0 - before) * exp(min(-lean, LARGEST_LOG_ODDS)))
    correction[0] = min(0.0, log_ways + LOG_2)
    if 2.0 * left_of_best > weight:
        for i in range(n // 2):
            moved, met[i] = met[i], met[n - 1 - i]
            met[n - 1 - i] = moved
        return n - n_first
    return n_first


# --- Values that go to the sides for which they speak ---------------------------------------


cdef int send_values(Particles filter, int slot) except -1 nogil:
    """Send the values of a sample that are new or rare to the sides of their means."""
    cdef int* columns = filter.proposed
    cdef int node, column, i, n = 0
    cdef double code
    if filter.schema.is_numeric() or filter.regression or filter.published:
        return 0
    for node in range(filter.trees.n_nodes):
        column = filter.trees.nodes[node].split.feature
        if not is_set(&filter.trees.nodes[node], column):
            continue
        i = 0
        while i < n and columns[i] < column:
            i += 1
        if i == n or columns[i] != column:      # ascending: nodes have other numbers in copies
            memmove(columns + i + 1, columns + i, (n - i) * sizeof(int))
            columns[i], n = column, n + 1
    for i in range(n):
        code = filter.pool.value(columns[i], slot)
        if code == code and not filter.history.is_well_known(columns[i], code):
            send_value(filter, columns[i], code)
    return 0


cdef inline bint is_set(const Node* node, int column) noexcept nogil:
    """Whether a node in use is a split of a column by a set."""
    return node.refs > 0 and node.split.nominal == VALUES and node.split.feature == column


cdef int send_value(Particles filter, int column, double code) except -1 nogil:
    """Send a value, at all splits by sets, to the sides on which its mean lies.

    What counts are its history and its samples in the pool, which go to the leaves of the other
    sides, if they are few. A set changes for all trees that share it.
    """
    cdef int first = filter.pool.rank_of(column, code), n = 0, i, node
    cdef int n_present = filter.pool.present(column)
    cdef const int* slots = filter.pool.order_of(column) + first
    cdef const double* values = filter.pool.values_of(column)
    cdef bint is_moved = False
    while first + n < n_present and values[slots[n]] == code:
        n += 1
    if n > ENOUGH:
        return 0
    filter.history.recall(filter.pool, column, code)
    for i in range(n):
        filter.history.say(
            <int>filter.pool.target[slots[i]], filter.pool.weight[slots[i]], 0.0)
    for node in range(filter.trees.n_nodes):
        if is_set(&filter.trees.nodes[node], column) and filter.history.is_astray(
                values_at(filter.trees.nodes[node].split.threshold), code):
            for i in range(0 if is_moved else n):
                move_sample(filter, slots[i], False)
            is_moved = True
            turn_value(filter, node, code)
    for i in range(n if is_moved else 0):
        move_sample(filter, slots[i], True)
    return 0


cdef int turn_value(Particles filter, int node, double code) except -1 nogil:
    """Send a value to the other side of the splits by the set of a node."""
    cdef const ValueSet* old = values_at(filter.trees.nodes[node].split.threshold)
    cdef int column = filter.trees.nodes[node].split.feature
    cdef double threshold
    threshold = threshold_of(turned_values(limited_values(filter, column, code, old), code))
    for node in range(node, filter.trees.n_nodes):
        if is_set(&filter.trees.nodes[node], column) and (
                values_at(filter.trees.nodes[node].split.threshold) == old):
            filter.trees.nodes[node].split.threshold = threshold
    return 0


cdef ValueSet* limited_values(Particles filter, int column, double code,
                              const ValueSet* old) noexcept nogil:
    """A set; a large one without values that neither the history nor the pool knows."""
    cdef ValueSet* values = <ValueSet*>old
    cdef const Entries* entries = filter.history.entries_of(column)
    cdef double* codes = codes_of(values)
    cdef int i, place, kept = 0, n = 0 if entries == NULL else entries.n
    if values.n < MANY_VALUES + 2 * (filter.pool.size + (0 if n == 0 else entries.n_values)):
        return values
    for i in range(values.n):
        place = 0 if n == 0 else place_of(entries, codes[i])
        codes[kept] = codes[i]
        kept += (codes[i] == code or place < n and entries.first[place].code == codes[i]
                 or filter.pool.has_sorted(column, codes[i]))
    values.n = kept
    return values


cdef int move_sample(Particles filter, int slot, bint back) except -1 nogil:
    """Take a sample out of its leaves, or put it into them."""
    cdef Leaf* leaf
    cdef int hit
    gather(filter, features_of(filter, slot), 0, filter.n_alive)
    for hit in range(filter.n_hits):
        leaf = filter.trees.nodes[filter.hits[hit].node].leaf
        update_time(filter, leaf)
        if back:
            filter.trees.add_slot(leaf, slot)
        else:
            filter.trees.remove_slot(leaf, slot)
        sum_again(filter, leaf)
    return 0


cdef void sum_again(Particles filter, Leaf* leaf) noexcept nogil:
    """Sum the samples of a leaf again: subtraction would leave rounding errors."""
    memcpy(leaf.total, leaf.retired, filter.model.width * sizeof(double))
    weigh_samples(filter, leaf)
    add_samples(&filter.model, leaf.total, filter.active_v, leaf.slots, leaf.n_active,
                filter.sample_weight)
    finish_leaf(filter, leaf)
