"""A forest of groups of trees with different memory sizes. See the header."""

from cpython.object cimport PyObject
from libc.math cimport log2, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcmp, memcpy, memset

from ..table cimport Reader
from ..learner cimport Learner
from ..lists cimport item_of
from ..memory cimport free, product, resized, zeroed
from ..naive_bayes cimport NaiveBayes
from ..trees cimport HEADER, WEIGHT, Trees
from .answers cimport answer_rows, combine_numbers, find_leaves
from .buffer cimport Buffer
from .compact_trees cimport CompactTrees
from .ensemble cimport Ensemble
from .growth cimport Growth
from .mixtures cimport ClassPool, NumberMixture
from .model_trees cimport IN_LEAVES, LinearModels, TreeGrowth, remainder
from .rotation cimport continue_growth, reserve_group, split_leaves

from copy import deepcopy

from .memory_exchange import (
    check, combined, learn_and_vote, n_remembered, restored, serving_state, state_of, votes_of,
    weigh_answers,
)

cdef enum:
    FIRST_GROWTH = 10       # number of samples before the first growth

cdef double NAIVE_MEMORY = 1000.0   # memory of naive Bayes, in samples

cdef int n_features_of(object max_features, int n_columns) except -1:
    """Number of features that a split visits."""
    if max_features is None:
        return n_columns
    if max_features == "sqrt":
        return max(1, <int>sqrt(<double>n_columns))
    if max_features == "log2":
        return max(1, <int>log2(max(1.0, <double>n_columns)))
    if isinstance(max_features, float):
        return max(1, <int>(<double>max_features * n_columns))
    return max_features


cdef class Group:
    """The trees of one memory size. See the header."""

    def __cinit__(self, int memory, int first, int n, TreeGrowth growth):
        self.memory, self.first, self.n = memory, first, n
        self.growth = growth
        self.due = FIRST_GROWTH
        self.caught_up = -1

    cdef int n_samples(self) noexcept nogil:
        """Number of samples on which the next tree is grown."""
        return <int>min(self.begun, <int64_t>self.memory)


cdef class MemoryForest(Ensemble):
    """A forest of groups of trees with different memory sizes. See the header.

    Parameters
    ----------
    regression
        Whether targets are numbers instead of labels.
    memories
        Per group: (memory size, number of trees).
    linear
        Per group of a regression, which nodes of its trees have a linear model: "none", "leaves"
        or "root"; None: no tree has any.
    batch_size
        Number of samples of a small batch, on which the leaves of a tree are split.
    fading
        Decay factor of the weights of a leaf, per sample that it learns.
    max_features
        Number of features that vary in a node and are visited: None (all), "sqrt", "log2", a
        number, or a share of all.
    max_nodes
        Maximum number of nodes of each tree.
    rules
        The arguments of `Growth`.
    seed
        Seed of the streams of random numbers.
    """

    def __init__(self, bint regression, memories, int batch_size, double fading,
                 max_features, int max_nodes, dict rules, seed, linear=None):
        cdef int memory, n, n_trees, first = 0
        self.regression = regression
        self.batch_size, self.fading = batch_size, fading
        self.max_features, self.max_nodes, self.seed = max_features, max_nodes, seed
        self.n_counted = -1
        self.small_leaves = <int*>zeroed(batch_size, sizeof(int))
        self.small_places = <int*>zeroed(batch_size, sizeof(int))
        self.rules = rules
        self.groups = []
        self.linear = ["none"] * len(memories) if linear is None else list(linear)
        for (memory, n), kind in zip(memories, self.linear, strict=True):
            self.groups.append(Group(memory, first, n, TreeGrowth(kind, rules, self.no_tree())))
            first += n
        self.n_trees = self.stop_tree = n_trees = first
        self.trees = [self.new_tree() for _ in range(n_trees)]
        self.models = [LinearModels(kind) for (_, n), kind in zip(memories, self.linear)
                       for _ in range(n)] if regression else []
        self.small = Growth(**rules)
        self.store_in(Buffer(n_remembered(memories, batch_size)))
        self.births = <int64_t*>zeroed(n_trees, sizeof(int64_t))
        self.leaves = <int*>zeroed(product(n_trees, batch_size), sizeof(int))
        self.reached = <int*>zeroed(n_trees, sizeof(int))
        self.slopes = <double*>zeroed(n_trees, sizeof(double))
        if regression:
            self.mixture = NumberMixture(len(self.groups))
        else:
            self.pool = ClassPool(len(self.groups))
            self.naive = NaiveBayes(NAIVE_MEMORY)
        self.n_row = -1

    def __dealloc__(self):
        free(self.births)
        free(self.leaves)
        free(self.reached)
        free(self.slopes)
        free(self.row)
        free(self.answers)
        free(self.latest_votes)
        free(self.small_leaves)
        free(self.small_places)

    cdef object store_in(self, Buffer buffer):
        """Store the latest samples in this buffer, and grow trees on it."""
        cdef Group group
        self.buffer = self.small.buffer = buffer
        for group in self.groups:
            group.growth.growth.buffer = buffer

    cdef Trees no_tree(self):
        """An arena without a tree."""
        if self.regression:
            return Trees(0, True, self.fading)
        return CompactTrees(0, False, self.fading)

    cdef Trees new_tree(self):
        cdef Trees trees = self.no_tree()
        trees.add_tree()
        return trees

    # ---------------------------------------------------------------- learning

    cdef int run(self, Reader reader, Py_ssize_t stop, int n_labels) except -1 nogil:
        if reader.learns or reader.answered or not reader.asks:
            return Learner.run(self, reader, stop, n_labels)
        return answer_rows(self, reader, stop, n_labels)

    cdef int reserve(self, int n_labels) except -1 nogil:
        """Allocate all memory that `take` may need for the sample that was read last."""
        cdef int tree, g, n_columns = self.schema.n_columns
        cdef int64_t n_seen = self.buffer.n_seen + 1
        self.reserve_answers(n_labels)
        self.buffer.reserve(self.schema.row, n_columns)
        if n_columns != self.n_counted:
            self.count_features()
        if not self.regression:
            if self.next_naive is not None or not self.naive.knows(n_columns, n_labels):
                self.change_naive(n_labels)
            for tree in range(self.stop_tree - self.first_tree):  # the sample may have a new class
                (<CompactTrees>item_of(<PyObject*>self.trees, tree)).reserve_row(n_labels)
        for g in range(self.n_groups()):
            reserve_group(self, <Group>self.group(g), n_labels)
        tree = <int>(n_seen % self.batch_size)
        while tree < self.n_trees:      # their small batches are full with this sample
            if self.splits_leaves(tree):
                self.small.reserve(<Trees>self.tree(tree), self.schema, n_columns, n_labels,
                                   self.batch_size)
                if not self.regression:
                    (<CompactTrees>self.tree(tree)).reserve_splits(
                        self.batch_size, self.max_nodes, n_labels)
            tree += self.batch_size
        return 0

    cdef int count_features(self) except -1 with gil:
        """Count the features that a node visits."""
        self.n_visited = n_features_of(self.max_features, self.schema.n_columns)
        self.n_counted = self.schema.n_columns
        return 0

    cdef int change_naive(self, int n_labels) except -1 with gil:
        """Allocate memory for the new columns or the new label of a sample in naive Bayes."""
        self.next_naive = None
        if not self.naive.knows(self.schema.n_columns, n_labels):
            self.next_naive = self.naive.reserved(self.schema, self.schema.n_columns, n_labels)
        return 0

    cdef void widen(self, int n_labels) noexcept:
        cdef Group group
        for tree in self.trees:
            (<Trees>tree).widen(n_labels)
        for group in self.groups:
            group.growth.trees.widen(n_labels)
        self.n_row = -1

    cdef void take(self, double target, double weight) noexcept nogil:
        cdef int tree, g, at
        if self.next_naive is not None:     # the sample has a new label or a new column
            with gil:
                self.naive, self.next_naive = self.next_naive, None
                self.naive.extend(self.schema)
        if self.is_part:
            self.vote(self.latest_votes)
            self.cast_votes(target)
        else:
            self.answer()
            self.learn_weights(target, self.n_values())
        at = <int>(self.buffer.n_seen % self.batch_size)
        for tree in range(self.first_tree, self.stop_tree):
            self.leaves[<Py_ssize_t>tree * self.batch_size + at] = self.reached[tree]
            self.learn_leaf(<Trees>self.tree(tree), self.reached[tree],
                            remainder(target, self.slopes[tree]) if self.regression else target,
                            weight)
        self.buffer.push(self.schema.row, self.schema.n_columns, target, weight)
        if not self.regression:
            self.naive.learn(self.schema.row, <int>target, weight)
        self.n_row = -1
        tree = <int>(self.buffer.n_seen % self.batch_size)
        while tree < self.n_trees:
            if self.splits_leaves(tree):
                split_leaves(self, tree, <Trees>self.tree(tree))
            tree += self.batch_size
        for g in range(self.n_groups()):
            continue_growth(self, <Group>self.group(g))

    cdef void learn_leaf(self, Trees trees, int leaf, double target, double weight) noexcept nogil:
        """Let a leaf learn a sample; the statistics of inner nodes do not change."""
        if not self.regression:
            (<CompactTrees>trees).learn_in_leaf(leaf, <int>target, weight)
            return
        if trees.fading < 1.0:
            trees.fade(leaf)
        trees.add_number(leaf, target, weight, 1.0)

    cdef bint splits_leaves(self, int tree) noexcept nogil:
        """Whether this object has the tree and splits its leaves on small batches."""
        if not self.holds(tree):
            return False
        return not self.regression or (<LinearModels>self.models_of(tree)).kind != IN_LEAVES

    # ---------------------------------------------------------------- predictions

    cdef int reserve_answers(self, int n_labels) except -1 nogil:
        """Allocate memory for the predictions for one row."""
        cdef int width = 2 if self.regression else max(1, n_labels)
        if self.schema.n_columns > self.row_capacity:
            self.row = <double*>resized(self.row, 2 * self.schema.n_columns, sizeof(double))
            self.row_capacity = 2 * self.schema.n_columns
        if width > self.answer_capacity:
            self.answers = <double*>resized(
                self.answers, product(self.n_members(), width), sizeof(double))
            if not self.regression:
                self.pool.reserve(width)
            if self.is_part:
                self.latest_votes = <double*>resized(
                    self.latest_votes, product(self.stop_tree - self.first_tree + 1, width),
                    sizeof(double))
            self.answer_capacity = width
            self.n_row = -1
        return 0

    cdef int n_members(self) noexcept nogil:
        """Number of groups; in a regression of trees and groups."""
        return self.n_groups() + (self.n_trees if self.regression else 0)

    cdef void answer(self) noexcept nogil:
        """Compute the predictions for the row encoded last, unless they are still valid."""
        cdef int tree, g, width = self.n_values(), n_row = self.schema.n_columns
        # Without columns there are no rows to compare or to copy.
        if self.n_row == n_row and (n_row == 0 or memcmp(
                self.row, self.schema.row, n_row * sizeof(double)) == 0):
            return
        self.n_row = n_row
        if n_row > 0:
            memcpy(self.row, self.schema.row, n_row * sizeof(double))
        find_leaves(self)
        if self.regression:
            for tree in range(self.first_tree, self.stop_tree):
                self.slopes[tree] = self.tree_number(
                    tree, <Trees>self.tree(tree), self.reached[tree], self.row, 1,
                    self.answers + 2 * tree)
        else:
            memset(self.answers, 0, self.n_groups() * width * sizeof(double))
            for g in range(self.n_groups()):
                self.add_classes(<Group>self.group(g), 0, width, self.answers + g * width)
            if width:
                self.naive.answer(self.row, self.pool.naive_answer(width))
        self.combine(self.answers, width)

    cdef void add_classes(self, Group group, int stride, int width, double* answers) noexcept nogil:
        """Add the class shares of tree i of a group to answers + i * stride."""
        cdef int tree
        for tree in range(max(group.first, self.first_tree),
                          min(group.first + group.n, self.stop_tree)):
            (<CompactTrees>self.tree(tree)).add_shares(
                self.reached[tree], group.n, width, answers)
            answers += stride

    cdef double tree_number(self, int tree, Trees trees, int leaf, const double* row,
                            Py_ssize_t stride, double* answer) noexcept nogil:
        """Write the prediction of a tree and the variance in its leaf for row[column * stride].

        Returns the slope of its linear model.
        """
        cdef const double* stats = trees.row(leaf)
        cdef double slope = (<LinearModels>self.models_of(tree)).at_row(
            leaf, row, stride, self.schema.n_columns)
        answer[0] = stats[HEADER] + slope
        answer[1] = stats[HEADER + 1] / stats[WEIGHT] if stats[WEIGHT] > 0.0 else 0.0
        return slope

    cdef void combine(self, double* answers, int width) noexcept nogil:
        """Combine the predictions of the groups and of naive Bayes, or of the trees."""
        if self.regression:
            combine_numbers(self, answers)
        elif width:
            self.pool.pool(answers, width)

    cdef void learn_weights(self, double target, int width) noexcept nogil:
        """Update the weights of the members with the predictions for a sample and its target."""
        if self.regression:
            self.mixture.learn(target)
        else:
            self.pool.weigh(self.answers, <int>target, width)

    cdef int n_values(self) noexcept nogil:
        """Number of values of a prediction: classes; or 2, a number and its variance."""
        return 2 if self.regression else self.n_labels()

    cdef int reserve_and_answer(self) except -1 nogil:
        """Compute the predictions for the row that the schema encoded last."""
        self.reserve_answers(self.n_labels())
        self.answer()
        return 0

    cdef double* row_shares(self) except? NULL nogil:
        self.reserve_and_answer()
        return self.pool.pooled

    cdef double row_number(self) except? -1.0 nogil:
        self.reserve_and_answer()
        return self.mixture.mean

    def predict_spread(self, x):
        """(mean, variance, number of errors in the variance) of a predicted number."""
        with self.using():
            self.schema.encode(x)
            self.reserve_and_answer()
            return self.mixture.mean, self.mixture.spread(), self.mixture.n_errors

    def number_of_tree(self, int tree, x):
        """The number that one tree predicts."""
        if not self.regression or not self.holds(tree):
            raise IndexError(f"there is no tree {tree} that predicts numbers here")
        with self.using():
            self.schema.encode(x)
            self.reserve_and_answer()
            return self.answers[2 * tree]

    @property
    def n_seen(self):
        """Number of samples learned."""
        return self.buffer.n_seen

    def memory_weights(self):
        """(memory, weight) of each memory: the sum over its groups."""
        cdef dict found = {}
        with self.using():
            weights = (self.mixture if self.regression else self.pool).member_weights()
        for group, weight in zip(self.groups, weights):
            found[group.memory] = found.get(group.memory, 0.0) + weight
        if self.regression:     # without the stacked answer
            total = sum(found.values())
            found = {memory: weight / total for memory, weight in found.items()}
        return list(found.items())

    # ---------------------------------------------------------------- one part of several

    cdef void vote(self, double* votes) noexcept nogil:
        """Write the votes of the trees of this object for the row encoded last.

        votes[tree * n_values + class]: the term of the tree in the prediction of its group. In the
        part with the first tree, the prediction of naive Bayes follows in place of one more tree.
        """
        cdef int tree, g, first, width = self.n_values(), n_trees = self.stop_tree - self.first_tree
        find_leaves(self)
        memset(votes, 0, (n_trees + 1) * width * sizeof(double))
        if self.regression:
            for tree in range(self.first_tree, self.stop_tree):
                self.slopes[tree] = self.tree_number(
                    tree, <Trees>self.tree(tree), self.reached[tree], self.schema.row, 1,
                    votes + (tree - self.first_tree) * width)
            return
        for g in range(self.n_groups()):
            first = max((<Group>self.group(g)).first, self.first_tree)
            self.add_classes(<Group>self.group(g), width, width,
                             votes + (first - self.first_tree) * width)
        if width and self.holds(0):
            self.naive.answer(self.schema.row, votes + n_trees * width)

    cdef void cast_votes(self, double target) noexcept nogil:
        """Store the votes for a sample that is learned now, if they are asked for."""
        cdef int tree, n_values = self.n_values(), n_trees = self.stop_tree - self.first_tree
        if self.ballot.votes == NULL:
            return
        for tree in range(n_trees + 1):
            memcpy(self.ballot.votes + tree * self.ballot.width,
                   self.latest_votes + tree * n_values, n_values * sizeof(double))
        self.ballot.target[0], self.ballot.n_values[0] = target, n_values
        self.ballot.votes += self.ballot.n_votes
        self.ballot.target += 1
        self.ballot.n_values += 1

    def votes(self, batch):
        """See `memory_exchange`."""
        return votes_of(self, batch)

    def learn_and_vote(self, reader, n):
        """See `memory_exchange`."""
        return learn_and_vote(self, reader, n)

    def combined(self, answers):
        """See `memory_exchange`."""
        return combined(self, answers)

    def weigh_answers(self, answers, targets, widths):
        """See `memory_exchange`."""
        weigh_answers(self, answers, targets, widths)

    # ---------------------------------------------------------------- inspection

    cdef list tree_nodes(self, int tree):
        cdef list nodes = Ensemble.tree_nodes(self, tree)
        if self.regression:
            for node in nodes:
                node["coefficients"] = (<LinearModels>self.models[tree]).coefficients_of(
                    node["node"])
        return nodes

    def __sizeof__(self):
        cdef Group group
        cdef size_t size = (
            self.n_trees * (sizeof(int64_t) + (1 + <size_t>self.batch_size) * sizeof(int)
                            + sizeof(double))
            + self.row_capacity * sizeof(double) + self.small.n_bytes()
            + self.answer_capacity * <size_t>len(self.groups) * sizeof(double))
        if self.regression:
            size += self.answer_capacity * <size_t>self.n_trees * sizeof(double)
        if self.is_part:
            size += (len(self.trees) + 1) * <size_t>self.answer_capacity * sizeof(double)
        for group in self.groups:
            size += group.growth.n_bytes()      # the tree that grows tells its own size
        return object.__sizeof__(self) + size

    # ---------------------------------------------------------------- copies and states

    def settings(self):
        """The arguments of the constructor."""
        return {
            "n_trees": self.n_trees, "regression": self.regression,
            "memories": [(group.memory, group.n) for group in self.groups],
            "linear": list(self.linear), "batch_size": self.batch_size,
            "fading": self.fading, "max_features": self.max_features,
            "max_nodes": self.max_nodes, "rules": dict(self.rules), "seed": self.seed,
        }

    cdef Learner serving_copy(self):
        """A copy with all trees and without samples."""
        return deepcopy(self.restored(serving_state(self)))

    cdef dict fields(self):
        return state_of(self)

    @classmethod
    def restored(cls, values):
        """The forest of a state."""
        return restored(values)

    cdef int check_structure(self) except -1:
        check(self)
        return 0
