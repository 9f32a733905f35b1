"""A forest whose trees have several memories. See the header."""

from libc.math cimport INFINITY, exp, log, log2, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcmp, memcpy, memset

from ..learner cimport Learner
from ..memory cimport free, product, resized, zeroed
from ..schema cimport OTHER, Labels, Schema
from ..rng cimport BRANCH, RENEW, rng_for
from ..split cimport goes_left
from ..trees cimport HEADER, WEIGHT, Node, Trees
from .buffer cimport Buffer
from .growth cimport Growth
from .naive_bayes cimport NaiveBayes

from copy import deepcopy

import numpy as np

from ..state import LARGEST_COUNT, LARGEST_FLOAT, State, require

cdef enum:
    FIRST_GROWTH = 10       # samples before the first trees are grown
    BEGUN = 3               # in a state: its place among the fields of a growth
    STEPS_DONE = 9          # in a state: its place among the ...
    GROWTH_FIELDS = 10      # ... fields of a growth
    WALK = 16               # steps of a growth that take as long as a sample's way to its leaf

cdef double FLOOR = 0.01            # of a uniform distribution, in each answer that is pooled
cdef double LEARNING_RATE = 0.02    # of the weights of the pool
cdef double SHARE = 0.005           # of the groups' weights, shared alike after each sample ...
cdef double SHARE_OF_NUMBERS = 0.02     # ... in a regression
cdef double ERROR_DECAY = 0.99      # of the squared errors of the groups, per sample
cdef double WORST = 12.0            # of the log densities: an outlier costs no more than this
cdef double NAIVE_MEMORY = 1000.0   # samples, of naive Bayes

cdef int64_t LARGEST_STEPS = 1 << 60
LARGEST_MEMORY = (2**31 - 1) // 4       # sums of three still fit into 32 bits

cdef double LARGEST_EXPONENT = 1e6
cdef double LARGEST_ERROR = 1e300
cdef double LEAST_VARIANCE = 1e-300

IDLE = -1                           # in a state: steps done of a growth that has not begun ...
NO_GROWTH = (0, 0, 0, 0, 0, -1, IDLE)   # ... and all its fields

RULES = ("criterion", "max_depth", "min_samples_split", "min_samples_leaf")

# How much faster a growth goes than it must to be ready in time, and how deep its trees are,
# measured in levels of a balanced tree.
cdef double HASTE = 2.5


cdef int n_features_of(object max_features, int n_columns) except -1:
    """How many features a split looks at."""
    if max_features is None:
        return n_columns
    if max_features == "sqrt":
        return max(1, <int>sqrt(<double>n_columns))
    if max_features == "log2":
        return max(1, <int>log2(max(1.0, <double>n_columns)))
    if isinstance(max_features, float):
        return max(1, <int>(<double>max_features * n_columns))
    return max_features


def n_remembered(memories, batch_size):
    """Number of samples to remember: so many that none is lost while a tree is grown on it."""
    return batch_size + max(memory + memory // n + 2 for memory, n in memories)


cdef object read_max_features(object value):
    """The parameter `max_features` of a state."""
    require(value is None or (type(value) is str and value in ("sqrt", "log2"))
            or (type(value) is int and 1 <= value < 2**31)
            or (type(value) is float and 0.0 < value <= 1.0),
            "MemoryForest: no number of features")
    return value


cdef class Group:
    """The trees of one memory. See the header."""

    def __cinit__(self, int memory, int first, int n, Growth growth):
        self.memory, self.first, self.n = memory, first, n
        self.growth = growth
        self.due = FIRST_GROWTH
        self.caught_up = -1

    cdef int n_samples(self) noexcept:
        """Number of samples that the next tree is grown on."""
        return <int>min(self.begun, <int64_t>self.memory)


cdef tuple where_growth_is(Group group):
    """The fields of a growth in a state."""
    if group.tree is None:
        return NO_GROWTH
    return (group.begun, group.n_columns, group.n_labels, group.n_visited, group.steps,
            group.caught_up, group.growth.n_steps)


cdef double expected_steps(Group group) noexcept:
    """About as many steps as a growth takes: some per sample, feature and level of the tree."""
    cdef double n = group.n_samples()
    return (2.0 * group.n_visited + 4.0) * log2(n + 2.0) * n


cdef class MemoryForest(Learner):
    """A forest whose trees have several memories. See the header.

    Parameters
    ----------
    regression
        Whether targets are numbers in place of labels.
    memories
        Per group: (number of latest samples that its trees are grown on, number of trees).
    batch_size
        Number of samples after which the leaves of a tree that they reached are split.
    fading
        What is left of a leaf's earlier weights after each sample it learns.
    max_features
        Features that vary in a node and are looked at: None (all), "sqrt", "log2", a number, or a
        share of all.
    max_nodes
        Bound on the nodes of each tree.
    rules
        The arguments of `Growth`.
    seed
        Names the streams of random numbers.
    """

    def __init__(self, bint regression, memories, int batch_size, double fading,
                 max_features, int max_nodes, dict rules, seed):
        cdef int memory, n, n_trees, first = 0
        self.regression = regression
        self.batch_size, self.fading = batch_size, fading
        self.max_features, self.max_nodes, self.seed = max_features, max_nodes, seed
        self.n_visited = 1
        self.small_leaves = <int*>zeroed(batch_size, sizeof(int))
        self.small_places = <int*>zeroed(batch_size, sizeof(int))
        self.rules = rules
        self.groups = []
        for memory, n in memories:
            self.groups.append(Group(memory, first, n, Growth(**rules)))
            first += n
        self.n_trees = self.stop_tree = n_trees = first
        self.trees = [self.new_tree() for _ in range(n_trees)]
        self.buffer = Buffer(n_remembered(memories, batch_size))
        self.small = Growth(**rules)
        self.births = <int64_t*>zeroed(n_trees, sizeof(int64_t))
        self.leaves = <int*>zeroed(product(n_trees, batch_size), sizeof(int))
        self.reached = <int*>zeroed(n_trees, sizeof(int))
        self.begin_weights()
        self.n_row = -1

    cdef int begin_weights(self) except -1:
        """All groups weigh alike, and the pool is what they say together."""
        cdef int g, n = len(self.groups)
        self.weights = <double*>zeroed(n, sizeof(double))
        self.exponents = <double*>zeroed(n + 2, sizeof(double))
        for g in range(n):
            self.weights[g] = 1.0 / n
        self.exponents[n] = 1.0
        self.errors = <double*>zeroed(n + 1, sizeof(double))
        self.naive = None if self.regression else NaiveBayes(NAIVE_MEMORY)
        return 0

    def __dealloc__(self):
        free(self.births)
        free(self.leaves)
        free(self.reached)
        free(self.weights)
        free(self.exponents)
        free(self.errors)
        free(self.logs)
        free(self.row)
        free(self.answers)
        free(self.pooled)
        free(self.latest_votes)
        free(self.small_leaves)
        free(self.small_places)

    cdef Trees new_tree(self):
        """A tree of one empty leaf."""
        cdef Trees trees = Trees(len(self.labels), self.regression, self.fading)
        trees.add_tree()
        return trees

    # ---------------------------------------------------------------- learning

    cdef int reserve(self, int n_labels) except -1:
        """Make room for all that `take` may do with the sample that was read last."""
        cdef int tree, n_columns = self.schema.n_columns
        cdef int64_t n_seen = self.buffer.n_seen + 1
        cdef bint widens = not self.regression and n_labels > self.n_labels
        cdef Group group
        self.reserve_answers(n_labels)
        self.buffer.reserve(n_columns)
        if not self.regression:
            self.next_naive = self.naive.reserved(self.schema, n_columns, n_labels)
        if widens:
            for trees in self.trees:
                (<Trees>trees).reserve(0, n_labels)
        for group in self.groups:
            if group.tree is not None:
                group.tree.reserve(0, n_labels)
            if n_seen >= group.due and self.holds(group.first + group.turn):
                self.reserve_growth(group, n_labels, min(n_seen, <int64_t>group.memory))
        for tree in range(n_seen % self.batch_size, self.n_trees, self.batch_size):
            if self.holds(tree):
                self.small.reserve(self.buffer, self.tree(tree), self.schema, n_columns, n_labels,
                                   self.batch_size)
        return 0

    cdef int reserve_growth(self, Group group, int n_labels, int n_samples) except -1:
        """Make a tree, and room for its growth."""
        cdef Trees tree = self.new_tree()
        group.growth.reserve(self.buffer, tree, self.schema, self.schema.n_columns, n_labels,
                             n_samples)
        group.next_tree = tree
        return 0

    cdef void widen(self, int n_labels) noexcept:
        cdef Group group
        for tree in self.trees:
            (<Trees>tree).widen(n_labels)
        for group in self.groups:
            if group.tree is not None:
                group.tree.widen(n_labels)
            if group.next_tree is not None:
                group.next_tree.widen(n_labels)
        self.n_labels = n_labels
        self.n_row = -1

    cdef void take(self, double target, double weight) noexcept:
        cdef int tree, at
        cdef Group group
        if not self.regression:
            self.naive = self.next_naive
            self.naive.extend(self.schema)
        self.n_visited = n_features_of(self.max_features, self.schema.n_columns)
        if self.is_part:
            self.vote(self.latest_votes)
            self.latest_target = target
        else:
            self.answer()
            self.learn_weights(target, self.n_values())
        at = <int>(self.buffer.n_seen % self.batch_size)
        for tree in range(self.first_tree, self.stop_tree):
            self.leaves[<Py_ssize_t>tree * self.batch_size + at] = self.reached[tree]
            self.learn_leaf(self.tree(tree), self.reached[tree], target, weight)
        self.buffer.push(self.schema.row, self.schema.n_columns, target, weight)
        if not self.regression:
            self.naive.learn(self.schema.row, <int>target, weight)
        self.n_row = -1
        for tree in range(self.buffer.n_seen % self.batch_size, self.n_trees, self.batch_size):
            if self.holds(tree):
                self.split_leaves(tree)
        for group in self.groups:
            self.continue_growth(group)

    cdef void learn_leaf(self, Trees trees, int leaf, double target, double weight) noexcept:
        """Let a leaf learn a sample; the nodes above stay as they were when they were split."""
        if trees.fading < 1.0:
            trees.fade(leaf)
        if self.regression:
            trees.add_number(leaf, target, weight, 1.0)
        else:
            trees.add_class(leaf, <int>target, weight, 1.0)

    # ---------------------------------------------------------------- splits on small batches

    cdef void split_leaves(self, int tree) noexcept:
        """Split the leaves of a tree that several of the latest samples have reached."""
        cdef int64_t n_seen = self.buffer.n_seen
        cdef int64_t arrival = max(n_seen - self.batch_size, self.births[tree], <int64_t>0)
        cdef int n = 0, i, j, leaf, place
        cdef int* leaves = self.leaves + <Py_ssize_t>tree * self.batch_size
        cdef int* found = self.small_leaves
        cdef int* places = self.small_places
        cdef Trees trees = self.tree(tree)
        while arrival < n_seen:         # sorted by leaf, in order of arrival
            leaf, place = leaves[arrival % self.batch_size], self.buffer.place_of(arrival)
            i = n
            while i > 0 and found[i - 1] > leaf:
                found[i], places[i] = found[i - 1], places[i - 1]
                i -= 1
            found[i], places[i] = leaf, place
            n += 1
            arrival += 1
        i = 0
        while i < n:
            j = i + 1
            while j < n and found[j] == found[i]:
                j += 1
            if j - i > 1 and trees.n_used - trees.n_free + 2 <= self.max_nodes:
                memcpy(self.small.places, places + i, (j - i) * sizeof(int))
                self.small.trees = trees
                self.small.begin(
                    found[i], j - i, self.n_visited,
                    rng_for(self.seed, tree, n_seen, BRANCH))
                self.small.advance(LARGEST_STEPS)
            i = j
        trees.shrink_to(self.max_nodes)

    # ---------------------------------------------------------------- trees grown anew

    cdef void continue_growth(self, Group group) noexcept:
        """Begin the growth of the next tree of a group if it is time, or go on with it.

        A growth ends before the next one begins, however much work the tree is: so the schedule
        depends on the number of samples alone, and `reserve` finds nothing half-grown.
        """
        cdef int64_t n_seen = self.buffer.n_seen
        if n_seen >= group.due:
            self.begin_growth(group)
        if group.tree is not None:
            self.advance(group, LARGEST_STEPS if n_seen + 1 >= group.due else group.steps)

    cdef void advance(self, Group group, int64_t n_steps) noexcept:
        """Do so many steps for the next tree of a group; put it into its place if it is ready."""
        if group.caught_up < 0:
            if not group.growth.advance(n_steps):
                return
            group.tree.shrink_to(self.max_nodes)
            group.caught_up = group.begun
        if self.catch_up(group, 1 + n_steps // WALK):
            self.replace(group)

    cdef void begin_growth(self, Group group) noexcept:
        """Begin to grow the next tree of a group; `reserve` has made it if this part holds it."""
        cdef int64_t n_seen = self.buffer.n_seen
        cdef double interval = max(1.0, min(<double>n_seen, <double>group.memory)
                                   / group.n)
        group.due += interval
        if not self.holds(group.first + group.turn):
            group.turn = (group.turn + 1) % group.n
            return
        group.tree, group.next_tree = group.next_tree, None
        group.begun, group.caught_up = n_seen, -1
        group.n_columns, group.n_labels = self.schema.n_columns, <int>len(self.labels.labels)
        group.n_visited = self.n_visited
        group.steps = 1 + <int64_t>(HASTE * expected_steps(group) / interval)
        self.learn_roots(group)

    cdef void learn_roots(self, Group group) noexcept:
        """Let the root of the next tree learn its samples."""
        cdef int n = group.n_samples(), i, tree = group.first + group.turn
        for i in range(n):
            group.growth.places[i] = self.buffer.place_of(group.begun - n + i)
            group.growth.learn_root(i)
        group.growth.begin(group.tree.roots[0], n, group.n_visited,
                           rng_for(self.seed, tree, group.begun, RENEW))

    cdef bint catch_up(self, Group group, int64_t n) noexcept:
        """Let a grown tree learn samples that came meanwhile; say whether it has learned all."""
        cdef Trees trees = group.tree
        cdef int leaf, place
        while group.caught_up < self.buffer.n_seen and n > 0:
            place = self.buffer.place_of(group.caught_up)
            leaf = self.walk(trees, place)
            self.learn_leaf(trees, leaf, self.buffer.target(place), self.buffer.weight(place))
            group.caught_up += 1
            n -= 1
        return group.caught_up == self.buffer.n_seen

    cdef int walk(self, Trees trees, int place) noexcept nogil:
        """The leaf that a remembered sample belongs to."""
        cdef int node = trees.roots[0]
        cdef double value
        cdef const Node* this = &trees.nodes[node]
        while this.split.feature >= 0:
            value = self.buffer.value(this.split.feature, place)
            node = this.left if goes_left(&this.split, value) else this.right
            this = &trees.nodes[node]
        return node

    cdef void replace(self, Group group) noexcept:
        """Put the new tree of a group in the place of its oldest."""
        cdef int tree = group.first + group.turn
        group.tree.trim(2 * self.batch_size)
        self.trees[tree - self.first_tree] = group.tree
        self.births[tree] = self.buffer.n_seen
        group.tree = None
        group.turn = (group.turn + 1) % group.n

    # ---------------------------------------------------------------- answers

    cdef int reserve_answers(self, int n_labels) except -1:
        """Make room for the answers to one row."""
        cdef int width = 1 if self.regression else max(1, n_labels)
        if self.schema.n_columns > self.row_capacity:
            self.row = <double*>resized(self.row, 2 * self.schema.n_columns, sizeof(double))
            self.row_capacity = 2 * self.schema.n_columns
        if width > self.answer_capacity:
            self.answers = <double*>resized(
                self.answers, product(len(self.groups), width), sizeof(double))
            self.pooled = <double*>resized(self.pooled, width, sizeof(double))
            self.logs = <double*>resized(
                self.logs, product(len(self.groups) + 2, width), sizeof(double))
            if self.is_part:
                self.latest_votes = <double*>resized(
                    self.latest_votes, product(len(self.trees) + 1, width), sizeof(double))
            self.answer_capacity = width
            self.n_row = -1
        return 0

    cdef void answer(self) noexcept:
        """Find the answers of the groups to the row encoded last, unless they are known."""
        cdef int tree, g = 0, width = self.n_values()
        cdef Group group
        if self.n_row == self.schema.n_columns and memcmp(
                self.row, self.schema.row, self.n_row * sizeof(double)) == 0:
            return
        self.n_row = self.schema.n_columns
        memcpy(self.row, self.schema.row, self.n_row * sizeof(double))
        memset(self.answers, 0, len(self.groups) * width * sizeof(double))
        for group in self.groups:
            for tree in range(max(group.first, self.first_tree),
                              min(group.first + group.n, self.stop_tree)):
                self.add_answer(tree, group.n, width, self.answers + g * width)
            g += 1
        if self.naive is not None and width:
            self.naive.answer(self.row, self.logs + (g + 1) * width)
        self.combine(width)

    cdef void add_answer(self, int tree, int n_trees, int width, double* answers) noexcept:
        """Add what a tree says of the row encoded last to the answer of its so many trees."""
        cdef Trees trees = self.tree(tree)
        cdef int c, leaf = trees.walk(trees.roots[0], self.schema.row, 1, self.schema.n_columns)
        cdef const double* row = trees.row(leaf)
        cdef double share
        self.reached[tree] = leaf
        if self.regression:
            answers[0] += row[HEADER] / n_trees
        elif row[WEIGHT] > 0.0:
            share = 1.0 / (row[WEIGHT] * n_trees)
            for c in range(width):
                answers[c] += row[HEADER + c] * share
        else:
            for c in range(width):
                answers[c] += 1.0 / (width * n_trees)

    cdef void combine(self, int width) noexcept:
        """Make one answer of those of the groups and of naive Bayes."""
        if self.regression:
            self.mix()
        elif width:
            self.pool(width)

    cdef void learn_weights(self, double target, int width) noexcept:
        """Learn how much each member is worth, from the answers to a sample and its target."""
        if self.regression:
            self.weigh_errors(target)
        else:
            self.weigh(<int>target, width)

    cdef int n_values(self) noexcept:
        return 1 if self.regression else <int>len(self.labels.labels)

    cdef void pool(self, int width) noexcept:
        """The logarithmic opinion pool (Genest and Zidek 1986) of all members.

        p(c) is proportional to the product over the members of q_m(c) ** e_m. Members are the
        groups, the mixture of the groups by their weights, and naive Bayes.
        """
        cdef int c, g, n_groups = len(self.groups)
        cdef double largest, total = 0.0
        cdef double* mixture = self.logs + n_groups * width
        memset(mixture, 0, width * sizeof(double))
        for g in range(n_groups):
            for c in range(width):
                mixture[c] += self.weights[g] * self.answers[g * width + c]
        memcpy(self.logs, self.answers, n_groups * width * sizeof(double))
        memset(self.pooled, 0, width * sizeof(double))
        for g in range(n_groups + 2):
            for c in range(width):
                self.logs[g * width + c] = log(
                    (1.0 - FLOOR) * self.logs[g * width + c] + FLOOR / width)
                self.pooled[c] += self.exponents[g] * self.logs[g * width + c]
        largest = self.pooled[0]
        for c in range(1, width):
            largest = max(largest, self.pooled[c])
        for c in range(width):
            self.pooled[c] = exp(self.pooled[c] - largest)
            total += self.pooled[c]
        for c in range(width):
            self.pooled[c] /= total

    cdef void weigh(self, int code, int width) noexcept:
        """Learn how much each member is worth, from its answer to a sample and the true class.

        The weights of the groups follow the fixed share (Herbster and Warmuth 1998): w_k becomes
        (1 - s) w_k q_k(y) ** (1 / 2) / sum + s / K. The exponents of the pool take a step down the
        gradient of the log loss, d(-log p(y)) / de_m = sum_c p(c) log q_m(c) - log q_m(y), and do
        not get negative (projected online gradient descent: Zinkevich 2003).
        """
        cdef int c, g, n_groups = len(self.groups)
        cdef double slope, total = 0.0
        for g in range(n_groups + 2):
            slope = -self.logs[g * width + code]
            for c in range(width):
                slope += self.pooled[c] * self.logs[g * width + c]
            self.exponents[g] = max(0.0, self.exponents[g] - LEARNING_RATE * slope)
        for g in range(n_groups):
            self.weights[g] *= sqrt(max(self.answers[g * width + code], FLOOR))
            total += self.weights[g]
        for g in range(n_groups):
            self.weights[g] = (1.0 - SHARE) * self.weights[g] / total + SHARE / n_groups

    cdef void mix(self) noexcept:
        """The mean of the groups by their weights."""
        cdef int g
        self.pooled[0] = 0.0
        for g in range(len(self.groups)):
            self.pooled[0] += self.weights[g] * self.answers[g]

    cdef void weigh_errors(self, double target) noexcept:
        """Learn how much each group is worth in a regression, by the fixed share as `weigh` does.

        In place of the probability of the class there is a normal density about the answer, whose
        variance is a running mean of the squared errors of the group.
        """
        cdef int g, n_groups = len(self.groups)
        cdef double error, variance, best = -INFINITY, total = 0.0
        cdef bint is_first = self.errors[n_groups] == 0.0
        self.errors[n_groups] = ERROR_DECAY * self.errors[n_groups] + 1.0
        for g in range(n_groups):
            error = (self.answers[g] - target) * (self.answers[g] - target)
            if not error < LARGEST_ERROR:
                error = LARGEST_ERROR
            self.errors[g] = ERROR_DECAY * self.errors[g] + error
            variance = max(self.errors[g] / self.errors[n_groups], LEAST_VARIANCE)
            self.answers[g] = -0.5 * log(variance) - min(0.5 * error / variance, WORST)
            best = max(best, self.answers[g])
        for g in range(n_groups):
            if not is_first:
                self.weights[g] *= exp(0.5 * (self.answers[g] - best))
            total += self.weights[g]
        for g in range(n_groups):
            self.weights[g] = ((1.0 - SHARE_OF_NUMBERS) * self.weights[g] / total
                               + SHARE_OF_NUMBERS / n_groups)

    cdef double* row_shares(self) except? NULL:
        self.reserve_answers(<int>len(self.labels.labels))
        self.answer()
        return self.pooled

    cdef double row_number(self) except? -1.0:
        return self.row_shares()[0]

    @property
    def n_seen(self):
        """Number of samples learned."""
        return self.buffer.n_seen

    def memory_weights(self):
        """(memory, weight) of each group."""
        return [(group.memory, self.weights[g]) for g, group in enumerate(self.groups)]

    # ---------------------------------------------------------------- one part of several

    cdef bint holds(self, int tree) noexcept:
        """Whether a tree is here, and not in another part."""
        return self.first_tree <= tree < self.stop_tree

    cdef Trees tree(self, int tree):
        """A tree that is here, by its number in the whole forest."""
        return <Trees>self.trees[tree - self.first_tree]

    cdef void vote(self, double* votes) noexcept:
        """What each tree here adds to the answer of its group to the row encoded last.

        votes[tree * n_values + class]; the answer of naive Bayes follows as that of a last tree.
        """
        cdef int tree, width = self.n_values()
        cdef Group group
        memset(votes, 0, (len(self.trees) + 1) * width * sizeof(double))
        for group in self.groups:
            for tree in range(max(group.first, self.first_tree),
                              min(group.first + group.n, self.stop_tree)):
                self.add_answer(tree, group.n, width, votes + (tree - self.first_tree) * width)
        if self.naive is not None and width:
            self.naive.answer(self.schema.row, votes + len(self.trees) * width)

    def votes(self, rows):
        """The votes of each tree and of naive Bayes on each row, as an array [row, tree, class]."""
        cdef Py_ssize_t row, width
        cdef double[:, :, ::1] votes
        with self.using():
            width = self.n_values()
            votes = np.zeros((len(rows), len(self.trees) + 1, max(1, width)))
            for row in range(votes.shape[0]):
                self.schema.encode(rows[row])
                self.vote(&votes[row, 0, 0])
            return votes.base

    def votes_on_latest(self):
        """(votes, target) of a part on the sample that it learned last, before it learned it."""
        cdef Py_ssize_t i
        cdef double[::1] votes
        with self.using():
            if self.latest_votes == NULL:
                raise RuntimeError("this is not a part that has learned a sample")
            votes = np.empty((len(self.trees) + 1) * self.n_values())
            for i in range(votes.shape[0]):
                votes[i] = self.latest_votes[i]
            return votes.base.reshape(len(self.trees) + 1, self.n_values()), self.latest_target

    cdef int read_answers(self, const double[:, :, ::1] answers, Py_ssize_t at,
                          int width) except -1:
        """Take over the answers of the groups and of naive Bayes to a sample, and combine them."""
        cdef Py_ssize_t g, c, n_groups = len(self.groups)
        require(answers.shape[1] == n_groups + 1 and self.regression <= width <= answers.shape[2]
                and width <= self.n_values(), "MemoryForest: these answers are of another forest")
        self.n_row = -1
        self.reserve_answers(<int>len(self.labels.labels))
        for c in range(width):
            for g in range(n_groups):
                self.answers[g * width + c] = answers[at, g, c]
            self.logs[(n_groups + 1) * width + c] = answers[at, n_groups, c]
        self.combine(width)
        return 0

    def combined(self, const double[:, :, ::1] answers):
        """The answers of the whole forest, as an array [row, class].

        Takes the answers [row, member, class] of all groups and of naive Bayes.
        """
        cdef Py_ssize_t row, c, width
        cdef double[:, ::1] found
        with self.using():
            width = self.n_values()
            found = np.zeros((answers.shape[0], width))
            for row in range(answers.shape[0]):
                self.read_answers(answers, row, <int>width)
                for c in range(width):
                    found[row, c] = self.pooled[c]
            return found.base

    def weigh_answers(self, const double[:, :, ::1] answers, const double[::1] targets,
                      const int[::1] widths):
        """Learn the weights from the answers [sample, member, class] to samples learned before.

        Of each sample there are its target, and the number of classes known when it was learned.
        """
        cdef Py_ssize_t i
        with self.using():
            require(answers.shape[0] == targets.shape[0] == widths.shape[0],
                    "MemoryForest: there are not as many answers as targets")
            for i in range(targets.shape[0]):
                require(self.regression or 0.0 <= targets[i] < widths[i],
                        "MemoryForest: a target has no answer")
                self.read_answers(answers, i, widths[i])
                self.learn_weights(targets[i], widths[i])
            self.n_row = -1

    # ---------------------------------------------------------------- looking at the trees

    cdef int count_trees(self) noexcept:
        return <int>len(self.trees)

    cdef list tree_nodes(self, int tree):
        return [self.trees[tree].node(node) for node in self.trees[tree].preorder()]

    cdef tuple tree_sizes(self):
        return (sum(trees.n_nodes for trees in self.trees),
                max((trees.height for trees in self.trees), default=0))

    def __sizeof__(self):
        cdef Group group
        cdef size_t size = (
            self.n_trees * (sizeof(int64_t) + (1 + <size_t>self.batch_size) * sizeof(int))
            + self.row_capacity * sizeof(double) + self.small.n_bytes()
            + self.answer_capacity * (2 * <size_t>len(self.groups) + 3) * sizeof(double))
        if self.is_part:
            size += (len(self.trees) + 1) * <size_t>self.answer_capacity * sizeof(double)
        for group in self.groups:
            size += group.growth.n_bytes()
            if group.tree is not None:
                size += group.tree.__sizeof__()
        return object.__sizeof__(self) + size

    # ---------------------------------------------------------------- copies and states

    def settings(self):
        """The arguments that make such a forest."""
        return {
            "n_trees": self.n_trees, "regression": self.regression,
            "memories": [(group.memory, group.n) for group in self.groups],
            "batch_size": self.batch_size,
            "fading": self.fading, "max_features": self.max_features,
            "max_nodes": self.max_nodes, "rules": dict(self.rules), "seed": self.seed,
        }

    cdef Learner serving_copy(self):
        """A copy with all trees, as if it had seen no sample yet."""
        values = self.fields()
        values["growths"][:, STEPS_DONE] = IDLE
        values["growths"][:, BEGUN] = 0
        values["births"][:] = 0
        values["buffer"] = self.buffer.emptied()
        return deepcopy(self.restored(values))

    cdef dict fields(self):
        """All but what follows: leaves are found again, and growths are done again."""
        cdef Group group
        cdef int n = self.n_trees, n_groups = len(self.groups)
        growths = [[group.memory, group.n, group.turn, *where_growth_is(group)]
                   for group in self.groups]
        return {
            "regression": self.regression, "batch_size": self.batch_size, "fading": self.fading,
            "max_features": self.max_features, "max_nodes": self.max_nodes,
            **self.rules, "seed": self.seed, "schema": self.schema, "labels": self.labels,
            "buffer": self.buffer, "trees": self.trees, "naive": self.naive,
            "births": np.array([self.births[i] for i in range(n)], np.int64),
            "growths": np.array(growths, np.int64).reshape(n_groups, GROWTH_FIELDS),
            "due": np.array([group.due for group in self.groups], np.float64),
            "weights": np.array([self.weights[i] for i in range(n_groups)], np.float64),
            "exponents": np.array([self.exponents[i] for i in range(n_groups + 2)], np.float64),
            "errors": np.array([self.errors[i] for i in range(n_groups + 1)], np.float64),
            "first_tree": self.first_tree, "is_part": self.is_part,
        }

    STATE = ("regression", "batch_size", "fading", "max_features", "max_nodes", *RULES,
             "seed", "schema", "labels", "buffer", "trees", "naive", "births", "growths", "due",
             "weights", "exponents", "errors", "first_tree", "is_part")

    @classmethod
    def restored(cls, values):
        """The forest of a state."""
        cdef MemoryForest forest
        state = State("MemoryForest", values, cls.STATE)
        trees = state.parts("trees", Trees)
        growths = state.array("growths", np.int64, None, GROWTH_FIELDS)
        n_trees, is_part = len(state.array("births", np.int64, None)), state.flag("is_part")
        first_tree = state.whole("first_tree", 0, n_trees - len(trees) if is_part else 0)
        require(np.all((growths[:, 0] >= 1) & (growths[:, 0] <= LARGEST_MEMORY)
                       & (growths[:, 1] >= 1) & (growths[:, 1] <= n_trees))
                and 0 < sum(growths[:, 1].tolist()) == n_trees
                and (is_part or len(trees) == n_trees),
                "MemoryForest: the groups do not hold the trees")
        regression = state.flag("regression")
        memories = [(memory, n) for memory, n in growths[:, :2].tolist()]
        batch_size = state.whole("batch_size", 1, LARGEST_MEMORY)
        buffer = state.part("buffer", Buffer)
        require(buffer.n_blocks == Buffer(n_remembered(memories, batch_size)).n_blocks,
                "MemoryForest: the buffer is of another size")
        require(buffer.n_seen - buffer.oldest
                >= min(buffer.n_seen, n_remembered(memories, batch_size)),
                "MemoryForest: samples are missing")
        forest = cls(
            regression=regression,
            memories=memories,
            batch_size=batch_size,
            fading=state.number("fading", 0.0, 1.0),
            max_features=read_max_features(values["max_features"]),
            max_nodes=state.whole("max_nodes", 1, 2**31 - 1),
            rules={
                "criterion": state.word(
                    "criterion", ("variance",) if regression else ("gini", "entropy")),
                **{name: state.whole(name, 0, 2**31 - 1) for name in RULES[1:]},
            },
            seed=state.whole("seed", 0, 2**64 - 1),
        )
        forest.buffer = buffer
        forest.first_tree, forest.stop_tree = first_tree, first_tree + len(trees)
        forest.is_part = is_part
        forest.read(state, trees, growths)
        return forest

    cdef int read(self, object state, list trees, const int64_t[:, ::1] growths) except -1:
        """Take over a state; what follows from it is found again."""
        cdef int i, n_groups = len(self.groups)
        cdef Group group
        cdef const int64_t[::1] births = state.array("births", np.int64, self.n_trees)
        cdef const double[::1] due, weights, exponents, errors
        due = state.numbers("due", n_groups, least=0.0, most=<double>LARGEST_COUNT)
        weights = state.numbers("weights", n_groups, least=0.0, most=1.0)
        exponents = state.numbers("exponents", n_groups + 2, least=0.0, most=LARGEST_EXPONENT)
        require(abs(sum(weights) - 1.0) < 1e-6, "MemoryForest: the weights do not sum to one")
        errors = state.numbers("errors", n_groups + 1, least=0.0, most=LARGEST_FLOAT)
        self.schema, self.labels = state.part("schema", Schema), state.part("labels", Labels)
        self.trees = trees
        self.n_labels = <int>len(self.labels)
        if self.regression:
            require(state.values["naive"] is None, "MemoryForest: a regression has no classes")
            self.naive = None
        else:
            self.naive = state.part("naive", NaiveBayes)
        for i in range(self.n_trees):
            self.births[i] = births[i]
        for i in range(n_groups):
            self.weights[i] = weights[i]
            group = self.groups[i]
            group.turn, group.begun = growths[i, 2], growths[i, 3]
            group.n_columns, group.n_labels = growths[i, 4], growths[i, 5]
            group.n_visited, group.steps = growths[i, 6], growths[i, 7]
            group.due = due[i]
        for i in range(n_groups + 2):
            self.exponents[i] = exponents[i]
        for i in range(n_groups + 1):
            self.errors[i] = errors[i]
        self.check_fits()
        self.n_visited = n_features_of(self.max_features, self.schema.n_columns)
        for i in range(n_groups):
            if growths[i, STEPS_DONE] != IDLE:
                self.grow_again(self.groups[i], growths[i, STEPS_DONE], growths[i, 8])
        self.find_leaves()
        return 0

    cdef int grow_again(self, Group group, int64_t n_steps, int64_t caught_up) except -1:
        """Bring the growth of the next tree to where it was."""
        require(0 <= n_steps and self.holds(group.first + group.turn)
                and group.begun > 0 and group.due > self.buffer.n_seen
                and group.begun - group.n_samples() >= self.buffer.oldest
                and (caught_up == -1 or group.begun <= caught_up <= self.buffer.n_seen),
                "MemoryForest: a growth is not where one can be")
        group.tree = Trees(group.n_labels, self.regression, self.fading)
        group.tree.add_tree()
        group.growth.reserve(self.buffer, group.tree, self.schema, group.n_columns, group.n_labels,
                             group.n_samples())
        self.learn_roots(group)
        group.caught_up = -1
        if not group.growth.advance(n_steps if caught_up == -1 else LARGEST_STEPS):
            require(caught_up == -1, "MemoryForest: a growth has not ended")
        if caught_up != -1:
            group.tree.shrink_to(self.max_nodes)
            group.caught_up = group.begun
        group.tree.reserve(0, self.n_labels)
        group.tree.widen(self.n_labels)
        if caught_up != -1:
            self.catch_up(group, caught_up - group.begun)
        return 0

    cdef void find_leaves(self) noexcept:
        """Find the leaves that the samples of the present batches have reached."""
        cdef int tree
        cdef int64_t arrival, n_seen = self.buffer.n_seen
        for tree in range(self.first_tree, self.stop_tree):
            arrival = n_seen - (n_seen + self.batch_size - tree % self.batch_size) % self.batch_size
            arrival = max(arrival, self.births[tree], self.buffer.oldest)
            while arrival < n_seen:
                self.leaves[<Py_ssize_t>tree * self.batch_size + arrival % self.batch_size] = (
                    self.walk(self.tree(tree), self.buffer.place_of(arrival)))
                arrival += 1

    cdef int check_structure(self) except -1:
        self.buffer.check()
        if self.naive is not None:
            self.naive.check()
        for trees in self.trees:
            trees.check()
        return self.check_fits()

    cdef int check_fits(self) except -1:
        """Raise a StateError unless the parts of the forest, each sound in itself, fit together."""
        cdef Trees trees
        cdef Group group
        cdef int i, column
        cdef int64_t n_seen = self.buffer.n_seen
        n_values = 2 if self.regression else len(self.labels)
        require((self.trees or self.is_part) and not (self.regression and self.labels.labels),
                "MemoryForest: there is no tree, or a regression has labels")
        for trees in self.trees:
            require(trees.n_roots == 1 and trees.regression == self.regression
                    and trees.n_values == n_values and trees.fading == self.fading
                    and trees.n_features <= self.schema.n_columns,
                    "MemoryForest: a tree does not belong to it")
        require(self.buffer.n_features <= self.schema.n_columns,
                "MemoryForest: a column has no name")
        for i in range(self.n_trees):
            require(0 <= self.births[i] <= n_seen, "MemoryForest: a tree comes later")
        self.check_codes(self.buffer.oldest, n_seen, len(self.labels))
        for column in range(self.buffer.n_features):
            if self.schema.codes[column] is not None:
                self.check_values(column, len(self.schema.codes[column]))
        for group in self.groups:
            require(group.n > 0 and 0 <= group.turn < group.n and 0 <= group.begun <= n_seen
                    and 0 <= group.n_columns <= self.schema.n_columns
                    and 0 <= group.n_labels <= len(self.labels) and 0 <= group.n_visited
                    and 0 <= group.steps <= LARGEST_STEPS,
                    "MemoryForest: a group has no such growth")
            if group.begun > 0 and group.begun - group.n_samples() >= self.buffer.oldest:
                self.check_codes(group.begun - group.n_samples(), group.begun, group.n_labels)
        return 0 if self.regression else self.check_naive()

    cdef int check_codes(self, int64_t arrival, int64_t stop, int n_labels) except -1:
        """Refuse remembered samples whose targets are no codes of so many labels."""
        cdef double target
        while arrival < stop and not self.regression:
            target = self.buffer.target(self.buffer.place_of(arrival))
            require(0 <= target < n_labels and target == <int>target,
                    "MemoryForest: a sample has no known label")
            arrival += 1
        return 0

    cdef int check_values(self, int column, int n_codes) except -1:
        """Refuse remembered samples whose nominal values have no such codes."""
        cdef int64_t arrival
        cdef double value
        for arrival in range(self.buffer.oldest, self.buffer.n_seen):
            value = self.buffer.value(column, self.buffer.place_of(arrival))
            require(value != value or (OTHER <= value < n_codes and value == <int>value),
                    "MemoryForest: a sample has no known value")
        return 0

    cdef int check_naive(self) except -1:
        cdef int column
        require(self.naive.n_classes == len(self.labels)
                and self.naive.n_columns <= self.schema.n_columns,
                "MemoryForest: naive Bayes knows other classes or columns")
        for column in range(self.naive.n_columns):
            require((self.naive.n_values[column] > 0) == (self.schema.codes[column] is not None),
                    "MemoryForest: naive Bayes takes a column for one of another kind")
        return 0
