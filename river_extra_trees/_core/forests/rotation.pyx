"""Replace the trees of an `ExtraTrees` in turn, and split their leaves in between.

A growth is spread over the samples until the next growth of its group begins.
"""

from libc.string cimport memcpy

from ..leaps cimport can_leap, extend_leaps, make_leaps
from ..rng cimport BRANCH, RENEW, Rng, below, rng_for
from ..split cimport NO_VALUE, ONE_VALUE, VARIANCE, Split, goes_left, random_threshold
from ..tree cimport (
    Tree, add_class, begin_tree, depth_of, free_tree, learn, learn_number, n_nodes_of,
    reserve_cells, reserve_pairs, reserve_samples, shrink, split_leaf, trim,
)
from .buffer cimport is_missing
from .candidates cimport BITS_OF_SUM, Side
from .growth cimport Growth, are_few
from .lane_rows cimport MOST_COLUMNS
from .model_trees cimport LinearModels, remainder, walk

cdef extern from "lanes.h":
    double power_below(double magnitude) nogil

cdef enum:
    WALK = 256              # steps of a growth that take as long as one walk to a leaf
    LEAST_STEPS = 4096      # per sample, so that small trees grow at once
    DEEP = 128              # levels of a walk; LEVELS more of them count as another walk
    LEVELS = 16
    PATIENCE = 4            # a growth ends after so many times the time that it is given
    MOST = 64               # times the steps per sample that were expected to be enough

cdef int64_t LARGEST_STEPS = 1 << 60

cdef double HASTE = 1.5     # factor of the steps per sample, a margin


cdef int reserve_group(ExtraTrees forest, Group group, int64_t n_seen,
                       int n_labels) except -1 nogil:
    """Allocate memory for the steps of a group after sample number n_seen."""
    if group.is_growing:
        if not forest.regression:
            reserve_samples(&group.growth.tree, group.n_samples() + n_seen - group.begun)
    elif n_seen >= group.due:
        return reserve_tree(forest, group, n_seen, n_labels)
    return 0


cdef int reserve_tree(ExtraTrees forest, Group group, int64_t n_seen,
                      int n_labels) except -1 nogil:
    """Allocate memory for the growth of a tree that begins after sample number n_seen."""
    cdef int n = <int>min(n_seen, <int64_t>group.window_size)
    group.growth.offer_columns(forest.schema, n_seen - n, n)
    group.growth.reserve(n_labels, n, forest.n_visited_by(group.growth, n_seen - n, n))
    if not forest.regression:
        reserve_samples(&group.growth.tree, n)
    return 0


cdef double interval_of(Group group, int64_t n_seen) noexcept nogil:
    """Number of samples from the growth that begins now to the next one."""
    return max(1.0, min(<double>n_seen, <double>group.window_size) / group.n)


cdef int64_t steps_at(Group group, int64_t n_seen) noexcept nogil:
    """Number of steps after sample number n_seen, so that the growth ends when the next is due.

    If nodes are not halved, this takes longer, and no more is done per sample than MOST times what
    was expected. The next growth then begins later.
    """
    cdef double left = HASTE * group.growth.expected_steps()
    return min(MOST * group.steps,
               <int64_t>LEAST_STEPS + <int64_t>(left / max(1.0, group.due - n_seen)))


cdef int64_t patience(int window_size, int n) noexcept nogil:
    """Number of samples after which the growth of one of n trees ends, whatever is left to do."""
    return PATIENCE * (window_size // n + 1)


cdef int grow_group(ExtraTrees forest, Group group, int64_t first, int n) except -1 nogil:
    """Do the growths of a group for n samples, from number `first` in the stream on.

    They depend on the buffer alone. The trees that they finish wait in `ready`.
    """
    cdef int64_t n_seen
    group.first_turn, group.n_ready = group.turn, 0
    for n_seen in range(first + 1, first + n + 1):
        reserve_group(forest, group, n_seen, forest.n_labels())
        continue_growth(forest, group, n_seen)
    return 0


cdef int continue_growth(ExtraTrees forest, Group group, int64_t n_seen) except -1 nogil:
    """Continue the growth of the next tree of a group, or begin it if it is due.

    One growth ends before the next one begins. So the schedule depends only on the samples and the
    random numbers, and `reserve_group` never finds an unfinished growth that is due.
    """
    if not group.is_growing and n_seen >= group.due:
        begin_growth(forest, group, n_seen)
    if group.is_growing and advance(forest, group, n_seen, n_seen):
        end_growth(forest, group, n_seen)
    return 0


cdef inline bint has_few_values(ExtraTrees forest, int64_t n_seen) noexcept nogil:
    """Whether rows as the latest one leap."""
    return can_leap(forest.buffer.n_present_at(forest.buffer.place_of(n_seen - 1)),
                    forest.buffer.n_features)


cdef bint advance(ExtraTrees forest, Group group, int64_t at, int64_t n_seen) except -1 nogil:
    """Do the steps of sample number `at` for the next tree of a group; return whether it is ready.

    It is not without the samples up to n_seen.
    """
    cdef int64_t n_steps = steps_at(group, at), most = patience(group.window_size, group.n)
    cdef int64_t left = group.begun + most - at         # samples until it has to be ready
    if group.caught_up < 0:
        if not (group.growth.finish(forest.max_nodes) if left <= most // PATIENCE
                else group.growth.advance(n_steps, forest.max_nodes)):
            return False
        group.caught_up = group.begun
        if has_few_values(forest, at):
            make_leaps(&group.growth.tree)
    return catch_up(forest, group, 4 + n_steps // WALK,
                    group.caught_up + 4 + (at - group.caught_up) // max(<int64_t>1, left), n_seen)


cdef void begin_growth(ExtraTrees forest, Group group, int64_t n_seen) noexcept nogil:
    """Begin the growth of the next tree, and schedule the one after it."""
    if n_seen - group.due >= 1.0:           # the former growth took longer
        group.due = n_seen
    group.due += interval_of(group, n_seen)
    group.begun = n_seen
    group.n_columns, group.n_labels = forest.schema.n_columns, forest.n_labels()
    start_growth(forest, group)


cdef void start_growth(ExtraTrees forest, Group group) noexcept nogil:
    """Start the growth of the next tree on its samples and the columns that were offered.

    Also used when a model is loaded.
    """
    cdef int n = group.n_samples(), tree = group.first + group.turn
    group.is_growing, group.caught_up = True, -1
    group.growth.begin(group.begun - n, n, rng_for(forest.seed, tree, group.begun, RENEW))
    group.steps = <int64_t>LEAST_STEPS + <int64_t>(
        HASTE * group.growth.expected_steps() / interval_of(group, group.begun))


cdef void begin_again(ExtraTrees forest, Group group) noexcept:
    """Abandon the growth of the next tree, as its samples have lost values, and begin it anew."""
    if group.is_growing:
        free_tree(&group.growth.tree)
        group.growth.growth.release(False)
        group.growth.models.clear()
        group.is_growing = False
        group.due = forest.buffer.n_seen


cdef bint catch_up(ExtraTrees forest, Group group, int64_t most, int64_t least,
                   int64_t n_seen) except -1 nogil:
    """Let a grown tree learn the samples since `begun`; return whether it has learned n_seen.

    It learns all samples before number `least`, and others until `most` are learned, of which those
    in deep leaves count as several: the tree may be a chain.
    """
    cdef int leaf, place
    cdef double target
    while group.caught_up < n_seen and (most > 0 or group.caught_up < least):
        place = forest.buffer.place_of(group.caught_up)
        leaf = walk(&group.growth.tree, forest.buffer, place)
        target = forest.buffer.target(place)
        if forest.regression:
            target = remainder(
                target, group.growth.models.at_place(leaf, forest.buffer, place))
        learn(&group.growth.tree, &forest.trees.kind, leaf, target, forest.buffer.weight(place),
              0.0)
        group.caught_up += 1
        most -= 1 + max(0, depth_of(&group.growth.tree, leaf) - DEEP) // LEVELS
    return group.caught_up == n_seen


cdef void end_growth(ExtraTrees forest, Group group, int64_t n_seen) noexcept nogil:
    """Let the tree that was grown wait until it replaces the oldest tree of the group.

    The Python objects stay where they are, because references to them may not change here.
    """
    cdef int version = group.n_ready
    trim(&group.growth.tree, &forest.trees.kind, forest.batch_size)
    group.ready[version] = group.growth.tree
    begin_tree(&group.growth.tree)
    if forest.regression:
        (<LinearModels>group.ready_models_of(version)).take_models(group.growth.models)
    group.ready_at[version] = n_seen
    group.n_ready += 1
    group.is_growing = False
    group.growth.growth.keep_evidence()
    group.growth.growth.release(True)
    group.turn = (group.turn + 1) % group.n


# --- A tree of the forest --------------------------------------------------------------------

cdef int change_tree(ExtraTrees forest, Group group, int tree, int64_t n_seen, int version,
                     SmallBatch small) except -1 nogil:
    """Split the leaves of a tree or replace it if that is due after so many samples.

    Returns the next of the trees in `ready` that replaces it.
    """
    if n_seen % forest.batch_size == tree % forest.batch_size and splits_leaves(forest, group):
        split_leaves(forest, tree, &forest.trees.trees[tree], n_seen, small)
        if has_few_values(forest, n_seen):
            make_leaps(&forest.trees.trees[tree])
    if version < group.n_ready and group.ready_at[version] == n_seen:
        free_tree(&forest.trees.trees[tree])
        forest.trees.trees[tree] = group.ready[version]
        begin_tree(&group.ready[version])
        if forest.regression:
            (<LinearModels>forest.models_of(tree)).take_models(
                <LinearModels>group.ready_models_of(version))
        forest.births[tree] = forest.renumbered[tree] = n_seen
        version += group.n
    return version


# --- Splits on small batches ----------------------------------------------------------------

cdef int split_leaves(ExtraTrees forest, int tree, Tree* this, int64_t n_seen,
                      SmallBatch small) except -1 nogil:
    """Split the leaves of `this`, which is the tree number `tree`.

    Splits those leaves that several samples of the small batch have reached.
    """
    cdef int64_t first = max(n_seen - forest.batch_size, forest.births[tree], <int64_t>0)
    cdef int n, i = 0, j
    cdef const int* found = small.leaves
    cdef const int* places = small.places
    n = sort_by_leaf(forest, this, forest.leaves + <Py_ssize_t>tree * forest.batch_size, first,
                     n_seen, small)
    if not forest.regression:
        reserve_cells(this, forest.batch_size)
    while i < n:
        j = i + 1
        while j < n and found[j] == found[i]:
            j += 1
        if j - i > 1 and n_nodes_of(this) + 2 <= forest.max_nodes:
            grow_leaf(forest, tree, this, found[i], places + i, j - i, first, small.growth, n_seen)
            extend_leaps(this, found[i])
        i = j
    if n_nodes_of(this) > forest.max_nodes:
        forest.renumbered[tree] = n_seen
    return shrink(this, forest.max_nodes)


cdef int sort_by_leaf(ExtraTrees forest, const Tree* tree, const int* leaves, int64_t first,
                      int64_t stop, SmallBatch small) noexcept nogil:
    """Write leaves and places of the samples of a small batch, by leaf, then in order of arrival.

    Leaves of one class, which are most of them, are left out: they have learned the samples.

    Returns the number of samples that were written.
    """
    cdef int* found = small.leaves
    cdef int* places = small.places
    cdef int at = <int>(first % forest.batch_size), size = 0, k, leaf, _
    cdef int place = forest.buffer.place_of(first)
    for _ in range(<int>(stop - first)):
        leaf = leaves[at]
        if tree.nodes[leaf].left < 0 or forest.forgets_fast:
            k = size
            while k > 0 and found[k - 1] > leaf:
                found[k], places[k] = found[k - 1], places[k - 1]
                k -= 1
            found[k], places[k] = leaf, place
            size += 1
        at = at + 1 if at + 1 < forest.batch_size else 0
        place = forest.buffer.place_after(place)
    return size


cdef int offer_present(ExtraTrees forest, const int* places, int n, int64_t first,
                       Growth growth) except -1 nogil:
    """Offer the columns to a growth that have a value among n samples, all from `first` on.

    If these are too many, only those that two of the samples have. So the columns of a wide sample
    need not be visited, only those of the others.
    """
    cdef int i, column, n_present, n_listed = 0, wide = -1
    cdef int64_t n_left = 0         # values that were not found yet, ...
    cdef int64_t n_values = 0
    cdef bint are_counted           # ... if the samples have few of the columns
    growth.reserve_columns(forest.schema.n_columns)
    growth.n_offered = 0
    if forest.buffer.n_present_at(places[0]) == forest.buffer.n_features <= MOST_COLUMNS:
        for column in range(forest.buffer.n_features):
            growth.offer_column(forest.schema, column)
        return 0
    for i in range(n):
        n_present = forest.buffer.n_present_at(places[i])
        n_values += n_present
        if growth.mark_entries(places[i]):
            n_listed += 1
        elif wide < 0 and n_present > MOST_COLUMNS:
            wide = places[i]
        else:
            n_left += n_present
    are_counted = n_left < forest.buffer.n_features or n_values > MOST_COLUMNS
    column = forest.buffer.next_live(0, first)
    while column < forest.buffer.n_features and n_left > 0:
        for i in range(n):
            if places[i] != wide and (
                    n_listed == 0 or forest.buffer.entries_at(places[i]) == NULL) and (
                    not is_missing(forest.buffer.value(column, places[i]))):
                growth.mark(column)
                if not are_counted:
                    break
                n_left -= 1
        column = forest.buffer.next_live(column + 1, first)
    growth.offer_marked(forest.schema, wide)
    return 0


cdef int grow_leaf(ExtraTrees forest, int tree, Tree* this, int leaf, const int* places, int n,
                   int64_t first, Growth growth, int64_t n_seen) except -1 nogil:
    """Split a leaf on n samples that reached it, all from number `first` on."""
    cdef int i
    cdef int64_t n_values = 0
    cdef Rng rng = rng_for(forest.seed, tree, n_seen, BRANCH)
    cdef int[2] pair
    cdef double[2] targets
    if not forest.regression and is_pure(forest, places, n):
        return 0
    offer_present(forest, places, n, first, growth)
    if n == 2:
        reserve_pairs(this, &forest.trees.kind, 1)
        i = not forest.regression and (
            forest.buffer.target(places[0]) > forest.buffer.target(places[1]))
        pair[0], pair[1] = places[i], places[1 - i]
        learned(forest, tree, leaf, pair, n, targets)
        split_pair(growth, this, leaf, pair, targets, rng)
        return 0
    for i in range(n):
        n_values += forest.buffer.n_present_at(places[i])
    growth.reserve(this, &forest.trees.kind, forest.n_labels(), n, n_values,
                   forest.n_visited(growth.n_offered, are_few(
                       n_values, <int64_t>growth.n_offered * n)))
    memcpy(growth.places, places, n * sizeof(int))
    if forest.regression:
        learned(forest, tree, leaf, places, n, growth.numbers)
    growth.begin(leaf, depth_of(this, leaf), True, n, rng)
    growth.advance(this, LARGEST_STEPS)
    return 0


cdef void learned(ExtraTrees forest, int tree, int leaf, const int* places, int n,
                  double* targets) noexcept nogil:
    """Find what a leaf learns of n samples: their labels, or what its linear model leaves."""
    cdef int i
    for i in range(n):
        targets[i] = forest.buffer.target(places[i])
        if forest.regression:
            targets[i] = remainder(targets[i], (<LinearModels>forest.models_of(tree)).at_place(
                leaf, forest.buffer, places[i]))


cdef bint is_pure(ExtraTrees forest, const int* places, int n) noexcept nogil:
    """Whether all samples have the class of the first one."""
    cdef int i
    for i in range(1, n):
        if forest.buffer.target(places[i]) != forest.buffer.target(places[0]):
            return False
    return True


cdef void split_pair(Growth growth, Tree* tree, int leaf, const int* places, const double* targets,
                     Rng rng) noexcept nogil:
    """Split a leaf on two samples by one of the columns that were offered; most splits are these.

    Any column in which the samples differ is as good as all others, so they need no growth: no
    rows, no scores. The random numbers and the split are those of a wide growth, see
    `column_lists`. A pair of nodes is reserved. Codes of classes are in ascending order.
    """
    cdef Split split
    cdef int left, first, i
    cdef double gain, weight
    if (targets[0] == targets[1] or growth.min_samples_split > 2 or growth.min_samples_leaf > 1
            or depth_of(tree, leaf) >= growth.max_depth
            or not find_split(growth, places, &split, &first, &rng)):
        return
    gain = gain_of(growth, places, targets, first)
    left = split_leaf(tree, leaf, &split, gain)
    for i in range(2):
        weight = growth.buffer.weight(places[i])
        if growth.criterion == VARIANCE:
            learn_number(tree, left ^ (i != first), targets[i], weight, 1.0)
        else:
            add_class(tree, left ^ (i != first), <int>targets[i], weight)


cdef bint find_split(Growth growth, const int* places, Split* split, int* first,
                     Rng* rng) noexcept nogil:
    """Draw columns until two samples differ in one; `first` is the sample that goes left."""
    cdef int n_left = growth.n_offered, i, column
    cdef double a, b
    while n_left > 0:
        i = <int>below(rng, n_left)
        column, n_left = growth.columns[i], n_left - 1
        growth.columns[i] = growth.columns[n_left]
        a, b = growth.buffer.value(column, places[0]), growth.buffer.value(column, places[1])
        if a == b or (is_missing(a) and is_missing(b)):
            continue
        split.feature, split.nominal, split.missing_left = column, 0, False
        if growth.nominal[column]:
            split.nominal, split.missing_left = ONE_VALUE, is_missing(a)
            split.threshold = NO_VALUE if is_missing(a) else a
        elif is_missing(a) or is_missing(b):
            split.threshold = b if is_missing(a) else a
        else:
            split.threshold = random_threshold(rng, min(a, b), max(a, b))
        first[0] = not goes_left(split, a)
        if not (split.nominal or is_missing(a) or is_missing(b)):
            split.missing_left = (growth.buffer.weight(places[first[0]])
                                  >= growth.buffer.weight(places[1 - first[0]]))
        return True
    return False


cdef double gain_of(Growth growth, const int* places, const double* targets,
                    int first) noexcept nogil:
    """The decrease of impurity if sample `first` goes left, times the weight."""
    cdef double[2] weights, whole, of_node, of_left, of_right
    cdef Side node, left, right
    cdef double center
    cdef int i
    node.counts, left.counts, right.counts = of_node, of_left, of_right
    for i in range(2):
        weights[i] = growth.buffer.weight(places[i])
    growth.unit = 2.0 * power_below(max(weights[0], weights[1]))
    for i in range(2):
        weights[i] *= growth.unit
    if growth.criterion == VARIANCE:
        growth.task.n_segments = 1
        center = (weights[0] * targets[0] + weights[1] * targets[1]) / (weights[0] + weights[1])
        growth.grain = power_below(max(max(targets[0], targets[1]) - center,
                                       center - min(targets[0], targets[1]))) * (
                                           1 << (BITS_OF_SUM - 1))
        for i in range(2):
            whole[i] = <int>((targets[i] - center) * growth.grain)
        of_node[0] = weights[0] * whole[0] + weights[1] * whole[1]
        of_left[0] = weights[first] * whole[first]
    else:
        growth.task.n_segments = 2
        of_node[0], of_node[1] = weights[0], weights[1]
        of_left[first], of_left[1 - first] = weights[first], 0.0
    node.weight, left.weight = weights[0] + weights[1], weights[first]
    right.weight = node.weight - left.weight
    for i in range(growth.task.n_segments):
        of_right[i] = of_node[i] - of_left[i]
    return growth.gain(&node, &left, &right)
