"""The state of a `MemoryForest`, and the exchange of votes between its parts.

Pickles and model files contain the state. Derived data is not part of it: loading finds the leaves
of the latest samples again, and repeats the steps of growths. `memories.pxd` describes how the
parts of a forest learn together.
"""

import numpy as np

from libc.stdint cimport int64_t

from ..table cimport Reader, Table
from ..naive_bayes cimport NaiveBayes
from ..schema cimport OTHER, Labels, Schema
from ..trees cimport Trees
from .buffer cimport Buffer
from .compact_trees cimport CompactTrees
from .model_trees cimport LinearModels, walk
from .memories cimport Group, MemoryForest
from .mixtures cimport ClassPool, NumberMixture
from .rotation cimport catch_up, interval_of, start_growth

from ..state import LARGEST_COUNT, State, require
from .model_trees import KINDS

cdef enum:
    BEGUN = 3               # in a state: its place among the fields of a growth
    STEPS_DONE = 9          # in a state: its place among the ...
    GROWTH_FIELDS = 10      # ... fields of a growth
    STEPS_AT_ONCE = 1 << 12     # of a growth that is repeated

cdef int64_t LARGEST_STEPS = 1 << 60
LARGEST_MEMORY = (2**31 - 1) // 4       # sums of three still fit into 32 bits

IDLE = -1                           # in a state: steps done of a growth that has not begun ...
NO_GROWTH = (0, 0, 0, 0, 0, -1, IDLE)   # ... and all its fields

RULES = ("criterion", "max_depth", "min_samples_split", "min_samples_leaf")
STATE = ("regression", "batch_size", "fading", "max_features", "max_nodes", *RULES, "seed",
         "schema", "labels", "buffer", "trees", "models", "linear", "naive", "pool", "mixture",
         "births", "growths", "due", "first_tree", "is_part")


def n_remembered(memories, batch_size):
    """Number of samples to remember: so many that none is lost while a tree is grown on it."""
    return batch_size + max(memory + memory // n + 2 for memory, n in memories)


# --- Writing --------------------------------------------------------------------------------

cdef tuple where_growth_is(Group group):
    """The fields of a growth in a state."""
    if not group.is_growing:
        return NO_GROWTH
    return (group.begun, group.n_columns, group.n_labels, group.n_visited, group.steps,
            group.caught_up, group.growth.n_steps())


def state_of(MemoryForest forest):
    """The fields of the state, without derived data."""
    cdef Group group
    growths = [[group.memory, group.n, group.turn, *where_growth_is(group)]
               for group in forest.groups]
    own = {
        **forest.rules, "linear": list(forest.linear),
        "births": np.array([forest.births[i] for i in range(forest.n_trees)], np.int64),
        "growths": np.array(growths, np.int64).reshape(len(forest.groups), GROWTH_FIELDS),
        "due": np.array([group.due for group in forest.groups], np.float64),
    }
    return {name: own[name] if name in own else getattr(forest, name) for name in STATE}


def serving_state(MemoryForest forest):
    """The state of a forest with all trees and without samples."""
    values = state_of(forest)
    values["growths"][:, STEPS_DONE] = IDLE
    values["growths"][:, BEGUN] = 0
    values["births"][:] = 0
    values["buffer"] = forest.buffer.emptied()
    return values


# --- Reading --------------------------------------------------------------------------------

def restored(values):
    """The forest of a state."""
    cdef MemoryForest forest
    state = State("MemoryForest", values, STATE)
    regression = state.flag("regression")
    trees = state.parts("trees", Trees if regression else CompactTrees)
    growths = state.array("growths", np.int64, None, GROWTH_FIELDS)
    n_trees, is_part = len(state.array("births", np.int64, None)), state.flag("is_part")
    first_tree = state.whole("first_tree", 0, n_trees - len(trees) if is_part else 0)
    require(np.all((growths[:, 0] >= 1) & (growths[:, 0] <= LARGEST_MEMORY)
                   & (growths[:, 1] >= 1) & (growths[:, 1] <= n_trees))
            and 0 < sum(growths[:, 1].tolist()) == n_trees
            and (is_part or len(trees) == n_trees),
            "MemoryForest: the groups do not hold the trees")
    linear = state.items("linear", len(growths))
    require(all(type(kind) is str and kind in (KINDS if regression else KINDS[:1])
                for kind in linear), "MemoryForest: no such linear models")
    memories = [(memory, n) for memory, n in growths[:, :2].tolist()]
    batch_size = state.whole("batch_size", 1, LARGEST_MEMORY)
    buffer = state.part("buffer", Buffer)
    require(buffer.n_blocks == Buffer(n_remembered(memories, batch_size)).n_blocks,
            "MemoryForest: the buffer is of another size")
    require(buffer.n_seen - buffer.oldest
            >= min(buffer.n_seen, n_remembered(memories, batch_size)),
            "MemoryForest: samples are missing")
    forest = MemoryForest(
        regression=regression,
        memories=memories,
        linear=linear,
        batch_size=batch_size,
        fading=state.number("fading", 0.0, 1.0),
        max_features=state.max_features("max_features"),
        max_nodes=state.whole("max_nodes", 1, 2**31 - 1),
        rules={
            "criterion": state.word(
                "criterion", ("variance",) if regression else ("gini", "entropy")),
            **{name: state.whole(name, 0, 2**31 - 1) for name in RULES[1:]},
        },
        seed=state.whole("seed", 0, 2**64 - 1),
    )
    forest.store_in(buffer)
    forest.first_tree, forest.stop_tree = first_tree, first_tree + len(trees)
    forest.is_part = is_part
    read(forest, state, trees, growths)
    return forest


cdef int read(MemoryForest forest, object state, list trees,
              const int64_t[:, ::1] growths) except -1:
    """Read a state, and compute the derived data."""
    cdef int i, n_groups = len(forest.groups)
    cdef Group group
    cdef const int64_t[::1] births = state.array("births", np.int64, forest.n_trees)
    cdef const double[::1] due
    due = state.numbers("due", n_groups, least=0.0, most=<double>LARGEST_COUNT)
    forest.schema, forest.labels = state.part("schema", Schema), state.part("labels", Labels)
    forest.trees = trees
    read_mixture(forest, state)
    for i in range(forest.n_trees):
        forest.births[i] = births[i]
    for i in range(n_groups):
        group = forest.groups[i]
        group.turn, group.begun = growths[i, 2], growths[i, 3]
        group.n_columns, group.n_labels = growths[i, 4], growths[i, 5]
        group.n_visited, group.steps = growths[i, 6], growths[i, 7]
        group.due = due[i]
    check(forest)
    for i in range(n_groups):
        if growths[i, STEPS_DONE] != IDLE:
            grow_again(forest, forest.groups[i], growths[i, STEPS_DONE], growths[i, 8])
    find_leaves(forest)
    return 0


cdef int read_mixture(MemoryForest forest, object state) except -1:
    """Take over what makes one answer of those of the trees."""
    cdef int n_groups = len(forest.groups)
    for name in ("naive", "pool") if forest.regression else ("mixture",):
        require(state.values[name] is None, f"MemoryForest: {name} is of another kind of forest")
    if forest.regression:
        forest.models = state.parts("models", LinearModels, len(forest.trees))
        forest.mixture = state.part("mixture", NumberMixture)
        require(forest.mixture.n_groups == n_groups, "MemoryForest: the mixture does not fit")
        return 0
    forest.models = state.parts("models", LinearModels, 0)
    forest.naive = state.part("naive", NaiveBayes)
    forest.pool = state.part("pool", ClassPool)
    require(forest.pool.n_groups == n_groups, "MemoryForest: the pool does not fit")
    return 0


cdef int grow_again(MemoryForest forest, Group group, int64_t n_steps,
                    int64_t caught_up) except -1:
    """Repeat the steps of the growth of the next tree."""
    cdef int64_t n
    cdef bint ended = False
    cdef double latest = group.begun + interval_of(group, group.begun)
    # So it ends before the next one begins, and while its samples are remembered.
    require(0 <= n_steps and forest.holds(group.first + group.turn)
            and group.begun > 0 and forest.buffer.n_seen + 1 < group.due <= latest
            and group.begun - group.n_samples() >= forest.buffer.oldest
            and (caught_up == -1 or group.begun <= caught_up <= forest.buffer.n_seen),
            "MemoryForest: a growth is not where one can be")
    group.growth.reserve(forest.schema, group.n_columns, group.n_labels, group.n_samples())
    reserve_steps(forest, group)
    group.is_growing = True
    start_growth(forest, group)
    group.caught_up = -1
    while not ended and (caught_up != -1 or group.growth.n_steps() < n_steps):
        reserve_steps(forest, group)
        n = STEPS_AT_ONCE
        if caught_up == -1:
            n = min(n, n_steps - group.growth.n_steps())
        ended = group.growth.advance(n, forest.max_nodes)
    if caught_up != -1:
        group.caught_up = group.begun
    group.growth.trees.reserve(0, forest.n_labels())
    group.growth.trees.widen(forest.n_labels())
    if caught_up != -1:
        if not forest.regression:
            (<CompactTrees>group.growth.trees).reserve_rows(
                caught_up - group.begun, forest.n_labels())
        catch_up(forest, group, caught_up - group.begun)
    return 0


cdef int reserve_steps(MemoryForest forest, Group group) except -1:
    """Allocate memory for the next STEPS_AT_ONCE steps of the growth of a tree."""
    if not forest.regression:
        (<CompactTrees>group.growth.trees).reserve_growth(
            STEPS_AT_ONCE, group.n_samples(), 0, group.n_labels)
    return 0


cdef void find_leaves(MemoryForest forest) noexcept:
    """Find the leaves that the samples of the present batches have reached."""
    cdef int tree, size = forest.batch_size
    cdef int64_t arrival, n_seen = forest.buffer.n_seen
    for tree in range(forest.first_tree, forest.stop_tree):
        arrival = n_seen - (n_seen + size - tree % size) % size
        arrival = max(arrival, forest.births[tree], forest.buffer.oldest)
        while arrival < n_seen:
            forest.leaves[<Py_ssize_t>tree * size + arrival % size] = (
                walk(<Trees>forest.tree(tree), forest.buffer, forest.buffer.place_of(arrival)))
            arrival += 1


def check(MemoryForest forest):
    """Raise a StateError if the valid parts of the forest are not consistent."""
    cdef Trees trees
    cdef Group group
    cdef int i, column
    cdef int64_t n_seen = forest.buffer.n_seen
    n_values = 2 if forest.regression else len(forest.labels)
    require((forest.trees or forest.is_part) and not (forest.regression and forest.labels.labels),
            "MemoryForest: there is no tree, or a regression has labels")
    for trees in forest.trees:
        require(trees.n_roots == 1 and trees.regression == forest.regression
                and trees.n_values == n_values and trees.fading == forest.fading
                and trees.fits(forest.schema.codes),
                "MemoryForest: a tree does not belong to it")
    check_models(forest)
    require(forest.buffer.n_features <= forest.schema.n_columns,
            "MemoryForest: a column has no name")
    for i in range(forest.n_trees):
        require(0 <= forest.births[i] <= n_seen, "MemoryForest: a tree comes later")
    check_codes(forest, forest.buffer.oldest, n_seen, len(forest.labels))
    for column in range(forest.buffer.n_features):
        if forest.schema.codes[column] is not None:
            check_values(forest, column, len(forest.schema.codes[column]))
    for group in forest.groups:
        require(group.n > 0 and 0 <= group.turn < group.n and 0 <= group.begun <= n_seen
                and 0 <= group.n_columns <= forest.schema.n_columns
                and 0 <= group.n_labels <= len(forest.labels) and 0 <= group.n_visited
                and 0 <= group.steps <= LARGEST_STEPS,
                "MemoryForest: a group has no such growth")
        if group.begun > 0 and group.begun - group.n_samples() >= forest.buffer.oldest:
            check_codes(forest, group.begun - group.n_samples(), group.begun, group.n_labels)
    require(forest.regression or (forest.naive.n_classes == len(forest.labels)
                                  and forest.naive.belongs_to(forest.schema)),
            "MemoryForest: naive Bayes knows other classes or columns")


cdef int check_codes(MemoryForest forest, int64_t arrival, int64_t stop, int n_labels) except -1:
    """Refuse remembered samples whose targets are no codes of so many labels."""
    cdef double target
    while arrival < stop and not forest.regression:
        target = forest.buffer.target(forest.buffer.place_of(arrival))
        require(0 <= target < n_labels and target == <int>target,
                "MemoryForest: a sample has no known label")
        arrival += 1
    return 0


cdef int check_values(MemoryForest forest, int column, int n_codes) except -1:
    """Refuse remembered samples whose nominal values have no such codes."""
    cdef int64_t arrival
    cdef double value
    for arrival in range(forest.buffer.oldest, forest.buffer.n_seen):
        value = forest.buffer.value(column, forest.buffer.place_of(arrival))
        require(value != value or (OTHER <= value < n_codes and value == <int>value),
                "MemoryForest: a sample has no known value")
    return 0


cdef int check_models(MemoryForest forest) except -1:
    """Refuse linear models that are not those of the trees."""
    cdef Group group
    cdef LinearModels models
    cdef int tree
    require(len(forest.models) == (len(forest.trees) if forest.regression else 0),
            "MemoryForest: the linear models are not those of the trees")
    for group in forest.groups:
        for tree in range(max(group.first, forest.first_tree),
                          min(group.first + group.n, forest.stop_tree)):
            if forest.regression:
                models = <LinearModels>forest.models_of(tree)
                require(models.kind == group.growth.kind
                        and models.n_columns <= forest.schema.n_columns,
                        "MemoryForest: a linear model does not belong to its tree")
    return 0


# --- Parts ----------------------------------------------------------------------------------

def votes_of(MemoryForest forest, Table table):
    """The votes of each tree and of naive Bayes on each row, as an array [row, tree, class]."""
    cdef Py_ssize_t row
    cdef double[:, :, ::1] votes
    cdef Reader reader = forest.reader(table)
    with forest.using():
        reader.link(forest.schema, forest.labels)
        votes = np.zeros((len(table), len(forest.trees) + 1, max(1, forest.n_values())))
        for row in range(votes.shape[0]):
            reader.row = row
            reader.read()
            forest.vote(&votes[row, 0, 0])
        return votes.base


def learn_and_vote(MemoryForest forest, Reader reader, Py_ssize_t n):
    """Let a part learn the next n rows of a batch; return (votes, targets, widths).

    Of each sample that is learned there are the votes on it before, as an array [sample, tree,
    class], its target, and the number of values in an answer to it.
    """
    cdef Py_ssize_t most = 2, n_learned = 0, n_trees = len(forest.trees) + 1
    cdef Py_ssize_t stop = min(reader.n, reader.row + max(<Py_ssize_t>0, n))
    cdef int64_t n_before
    cdef int width
    cdef double[:, :, ::1] votes
    cdef double[::1] targets = np.empty(stop - reader.row)
    cdef int[::1] widths = np.empty(stop - reader.row, dtype=np.intc)
    with forest.using():
        require(forest.is_part, "MemoryForest: only a part tells its votes on what it learns")
        if not forest.regression:
            most = max(1, len(forest.labels.labels) + len(reader.table.targets.values))
        votes = np.zeros((stop - reader.row, n_trees, most))
        if reader.row < stop:
            n_before = forest.buffer.n_seen
            forest.ballot.votes, forest.ballot.n_votes = &votes[0, 0, 0], n_trees * most
            forest.ballot.width = most
            forest.ballot.target, forest.ballot.n_values = &targets[0], &widths[0]
            try:
                forest.read_rows(reader, stop)
            finally:
                forest.ballot.votes = NULL
            n_learned = forest.buffer.n_seen - n_before
        width = max(1, forest.n_values())   # the last ones are the widest
        return (np.ascontiguousarray(votes.base[:n_learned, :, :width]), targets.base[:n_learned],
                widths.base[:n_learned])


cdef int read_answers(MemoryForest forest, const double[:, :, ::1] answers, Py_ssize_t at,
                      int width) except -1:
    """Take over the answers of all members to a sample, and combine them."""
    cdef Py_ssize_t i, c, n = forest.n_trees if forest.regression else len(forest.groups)
    require(answers.shape[1] == n + (not forest.regression) and width <= answers.shape[2]
            and (width == 2 if forest.regression else width <= forest.n_values()),
            "MemoryForest: these answers are of another forest")
    forest.n_row = -1
    forest.reserve_answers(<int>len(forest.labels.labels))
    for c in range(width):
        for i in range(n):
            forest.answers[i * width + c] = answers[at, i, c]
        if not forest.regression:
            forest.pool.naive_answer(width)[c] = answers[at, n, c]
    forest.combine(forest.answers, width)
    return 0


def combined(MemoryForest forest, const double[:, :, ::1] answers):
    """The answers of the whole forest, as an array [row, class], or [row, mean and variance].

    Takes the answers [row, member, class] of all groups and of naive Bayes, or [row, tree, value]
    of all trees of a regression.
    """
    cdef Py_ssize_t row, c, width
    cdef double[:, ::1] found
    with forest.using():
        width = forest.n_values()
        found = np.zeros((answers.shape[0], width))
        for row in range(answers.shape[0]):
            read_answers(forest, answers, row, <int>width)
            if forest.regression:
                found[row, 0] = forest.mixture.mean
                found[row, 1] = forest.mixture.spread()
                continue
            for c in range(width):
                found[row, c] = forest.pool.pooled[c]
        return found.base


def weigh_answers(MemoryForest forest, const double[:, :, ::1] answers,
                  const double[::1] targets, const int[::1] widths):
    """Learn the weights from the answers [sample, member, class] to samples learned before.

    Of each sample there are its target, and the number of values in an answer to it then.
    """
    cdef Py_ssize_t i
    with forest.using():
        require(answers.shape[0] == targets.shape[0] == widths.shape[0],
                "MemoryForest: there are not as many answers as targets")
        for i in range(targets.shape[0]):
            require(forest.regression or 0.0 <= targets[i] < widths[i],
                    "MemoryForest: a target has no answer")
            read_answers(forest, answers, i, widths[i])
            forest.learn_weights(targets[i], widths[i])
        forest.n_row = -1
