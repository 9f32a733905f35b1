"""Explanations of extra trees. See the header."""

import numpy as np

from libc.math cimport INFINITY, exp, log
from libc.string cimport memcpy

from ..arrays cimport view
from ..explain cimport (
    Contributions, Explanations, TreeExplanations, slope_of_exp, slope_of_limits, slope_of_log,
)
from ..subtotals cimport subtotal_of
from ..team cimport Team
from ..tree cimport UNUSED, Tree, add_leaf, is_leaf, mean_of
from .extra_trees cimport ExtraTrees, Group
from .logistic cimport LogisticRegression
from .mixtures cimport FLOOR, ClassPool, NumberMixture
from .model_trees cimport LinearModels

cdef double ONLY_CLASS = 1e-6       # probability of all other classes where there are none


cdef Explanations explanations_of(ExtraTrees forest, Contributions total, bint shapley, Team team):
    """Explanations of predictions of a forest."""
    if forest.regression:
        return NumberExplanations(total, shapley, team, forest.trees).by_forest(forest)
    return ClassExplanations(total, shapley, team, forest.trees).by_forest(forest)


cdef class GroupExplanations(TreeExplanations):
    """The contributions in the groups of a forest, each with factors of its own."""

    cdef ExtraTrees forest
    cdef double[:, :, ::1] of_groups    # the `factors` of each group
    cdef double[:, ::1] base            # per group: the answer if no feature is known

    cdef int finish(self) except -1:
        cdef double[::1] base = view(self.total.base, "f8", (self.total.n_rows,)).copy()
        cdef Group group
        cdef int g
        for g in range(self.forest.n_groups()):
            group, self.factors = self.forest.groups[g], self.of_groups[g]
            with nogil:
                self.explain(group.first, group.n)
        memcpy(self.total.base, &base[0], self.total.n_rows * sizeof(double))
        return 0

# --- Classes --------------------------------------------------------------------------------------


cdef class ClassExplanations(GroupExplanations):
    """The contributions to the log odds of a class."""

    cdef double[::1] logs               # of the pool, if no feature is known

    def by_forest(self, ExtraTrees forest):
        cdef int width = forest.n_labels(), n = forest.n_groups()
        cdef ClassPool pool = forest.pool
        self.forest, self.empty_answers = forest, True
        self.of_groups = np.zeros((n, width, self.total.n_rows))
        self.factors, self.base = self.of_groups[0], np.zeros((n, width))
        add_mean_shares(self)
        self.logs = np.zeros(pool.scratch_of(width))
        forest.logistic.answer(forest.schema.row, NULL, 0, forest.schema,
                               pool.logistic_answer(&self.logs[0], width), width)
        pool.pool(&self.base[0, 0], &self.logs[0], width)
        return self

    cdef int put_row(self, int row, const double* values, int code) except -1:
        cdef ExtraTrees forest = self.forest
        cdef ClassPool pool = forest.pool
        cdef int width = forest.n_labels(), n = forest.n_groups(), g, k
        # Per member and class: slope of F between base and prediction, for q_m(c).
        cdef double[:, ::1] slopes = np.zeros((n + 3, width))
        TreeExplanations.put_row(self, row, values, code)
        if width - pool.labels.n_free == 1:
            self.total.base[row] = log(1.0 - ONLY_CLASS) - log(ONLY_CLASS)
            return 0
        forest.reserve_and_answer()
        self.total.base[row] = slopes_of_pool(
            pool, forest.single.mixed, &self.logs[0], code, slopes)
        for k in range(width):
            for g in range(n):
                slopes[g, k] += pool.weights[g] * slopes[n, k]
                self.of_groups[g, k, row] = slopes[g, k] / (<Group>forest.groups[g]).n
        if forest.logistic.speaks():
            explain_logistic(self, row, slopes[n + 2])
        return 0


cdef int add_mean_shares(ClassExplanations shares) except -1:
    """Add the class shares of all samples in the trees of each group."""
    cdef ExtraTrees forest = shares.forest
    cdef Group group
    cdef const Tree* this
    cdef int g, k, tree, width = <int>shares.base.shape[1]
    cdef double[::1] totals = np.zeros(width + 1)
    for g in range(forest.n_groups()):
        group = forest.groups[g]
        for tree in range(group.first, group.first + group.n):
            this = &forest.trees.trees[tree]
            totals[:] = 0.0
            if shares.keeps_subtotals() and not is_leaf(this.nodes):
                shares.add_up(tree)
                memcpy(&totals[0], subtotal_of(this, 0), (width + 1) * sizeof(double))
            else:
                count_samples(this, &totals[0])
            for k in range(width):
                shares.base[g, k] += (totals[k + 1] / totals[0] if totals[0] > 0.0
                                      else 1.0 / width) / group.n
    return 0


cdef void count_samples(const Tree* tree, double* totals) noexcept nogil:
    """Add the weight of all leaves, and their class weights."""
    cdef int node
    for node in range(tree.n_used):
        if tree.nodes[node].feature != UNUSED and is_leaf(&tree.nodes[node]):
            add_leaf(tree, node, totals, totals + 1)


cdef double slopes_of_pool(ClassPool pool, const double* logs, const double* base, int code,
                           double[:, ::1] slopes) except? -1.0:
    """Compute the slope of F for q_m(c); return F at the base."""
    cdef int m, k, n_members = <int>slopes.shape[0], width = <int>slopes.shape[1]
    cdef double[::1] sums = np.zeros(width), base_sums = np.zeros(width), weights = np.zeros(width)
    cdef double others, base_others
    for m in range(n_members):
        for k in range(width):
            sums[k] += pool.exponents[m] * logs[m * width + k]
            base_sums[k] += pool.exponents[m] * base[m * width + k]
    for k in range(width if pool.labels.n_free else 0):
        if pool.labels.is_free(k):      # no label: it has no share, see `pool`
            sums[k] = base_sums[k] = -INFINITY
    others, base_others = log_sum(sums, code), log_sum(base_sums, code)
    for k in range(width):
        if k != code and not pool.labels.is_free(k):
            weights[k] = slope_of_exp(sums[k] - others, base_sums[k] - base_others)
    total = np.sum(weights)
    for k in range(width):
        weights[k] = 1.0 if k == code else -weights[k] / total
        for m in range(n_members):
            slopes[m, k] = weights[k] * pool.exponents[m] * (1.0 - FLOOR) * slope_of_log(
                exp(logs[m * width + k]), exp(base[m * width + k]))
    return base_sums[code] - base_others


cdef double log_sum(double[::1] sums, int code) noexcept:
    """The log of the sum of exp(sums), without that of a class; -1 for all classes."""
    cdef int k
    cdef double largest = -INFINITY, total = 0.0
    for k in range(sums.shape[0]):
        if k != code:
            largest = max(largest, sums[k])
    for k in range(sums.shape[0]):
        if k != code:
            total += exp(sums[k] - largest)
    return log(total) + largest


cdef int explain_logistic(ClassExplanations explanations, int row,
                          double[::1] slopes) except -1:
    """Add the contributions to the regression, whose scores are sums over the columns."""
    cdef ExtraTrees forest = explanations.forest
    cdef Contributions contributions = explanations.total
    cdef LogisticRegression logistic = forest.logistic
    cdef const double* values = forest.schema.row
    cdef const int* columns = forest.schema.filled
    cdef Py_ssize_t place
    cdef int i, k, width = <int>slopes.shape[0]
    cdef double[::1] scores = np.zeros(width), base = np.zeros(width), each = np.zeros(width)
    cdef double[::1] weights = np.zeros(width)
    cdef double others, base_others, mean = 0.0, total = 0.0
    logistic.scores(values, columns, forest.schema.n_filled, forest.schema, &scores[0])
    logistic.scores(values, columns, 0, forest.schema, &base[0])
    others, base_others = log_sum(scores, -1), log_sum(base, -1)
    for k in range(width):      # q = exp(score - log of the sum of all): as in the header
        weights[k] = slope_of_exp(scores[k] - others, base[k] - base_others)
        slopes[k] *= weights[k]
        mean += slopes[k]
        total += weights[k]
    for i in range(forest.schema.n_filled):
        logistic.scores(values, columns + i, 1, forest.schema, &each[0])
        place = columns[i] * <Py_ssize_t>contributions.n_rows + row
        for k in range(width):
            contributions.phi[place] += (
                slopes[k] - mean * weights[k] / total) * (each[k] - base[k])
    return 0

# --- Numbers --------------------------------------------------------------------------------------


cdef class NumberExplanations(GroupExplanations):
    """The contributions to a number.

    The mean of a leaf is that of the residuals of its linear model; the model is added in closed
    form: slope times (value - mean of the feature among the samples of the tree).
    """

    cdef double[::1] terms              # of the linear models at a row, per column

    def by_forest(self, ExtraTrees forest):
        cdef int n = forest.n_groups(), g, tree
        cdef double mean
        cdef Group group
        self.forest, self.empty_answers = forest, True
        self.of_groups = np.zeros((n, 1, self.total.n_rows))
        self.base = np.zeros((n, 1))
        self.terms = np.zeros(self.total.n_features + 1)
        self.factors = np.ones((1, self.total.n_rows))
        for g in range(n):
            group = forest.groups[g]
            for tree in range(group.first, group.first + group.n):
                self.add_up(tree)
                self.answer(tree, 0, 0, 1, &mean)
                self.base[g, 0] += mean / group.n
        return self

    cdef int put_row(self, int row, const double* values, int code) except -1:
        cdef ExtraTrees forest = self.forest
        cdef int n = forest.n_groups(), g, tree, i
        cdef double[::1] factors = np.zeros(n)
        cdef Group group
        TreeExplanations.put_row(self, row, values, code)
        forest.reserve_and_answer()
        self.total.base[row] = factors_of_groups(
            forest.mixture, forest.single.answers + 2 * forest.n_trees, &self.base[0, 0],
            &factors[0])
        self.terms[:] = 0.0
        for g in range(n):
            group = forest.groups[g]
            self.of_groups[g, 0, row] = factors[g] / group.n
            for tree in range(group.first, group.first + group.n):
                (<LinearModels>forest.models_of(tree)).add_terms(
                    forest.single.leaves[tree], values, forest.schema.n_columns,
                    factors[g] / group.n, &self.terms[0])
        for i in range(self.total.n_features):
            self.total.phi[i * <Py_ssize_t>self.total.n_rows + row] = self.terms[i]
        return 0

    cdef double mean_of_leaf(self, int tree, int leaf) noexcept nogil:
        return mean_of(&self.trees.trees[tree], leaf) + (
            <LinearModels>self.forest.models_of(tree)).in_middle(leaf)


cdef double factors_of_groups(NumberMixture mixture, const double* groups, const double* base,
                              double* factors) except? -1.0:
    """Compute the slope of the mixture for each group; return the mixture at the base."""
    cdef int k, n = mixture.n_groups
    cdef double[::1] answers = np.zeros(mixture.scratch_of())
    cdef double[::1] base_answers = np.zeros(mixture.scratch_of())
    cdef const double* c = mixture.stack.slopes
    cdef double low = mixture.lowest, high = mixture.highest, mean_slope = 0.0, of_stack
    cdef double mean = 0.0, base_mean = 0.0, slope
    mixture.answer(groups, 0.0, &answers[0])
    mixture.answer(base, 0.0, &base_answers[0])
    for k in range(n):
        mean_slope += c[k] / n
    of_stack = slope_of_limits(stacked(mixture, &answers[0]), stacked(mixture, &base_answers[0]),
                               low, high)
    for k in range(n + 1):
        mean += mixture.weights[k] * answers[k]
        base_mean += mixture.weights[k] * base_answers[k]
    slope = slope_of_limits(mean, base_mean, low, high) * slope_of_chain(
        mixture, &answers[0], &base_answers[0])
    for k in range(n):
        factors[k] = slope * slope_of_limits(groups[k], base[k], low, high) * (
            mixture.weights[k]
            + mixture.weights[n] * of_stack * (1.0 / n + c[k] - mean_slope))
    return mixture.mean(&base_answers[0])[0]


cdef double slope_of_chain(NumberMixture mixture, const double* answers,
                           const double* base) noexcept:
    """The slope of the prediction for the weighted mean m: directly, and through the chain."""
    cdef int n = mixture.n_groups
    cdef double low = mixture.lowest, high = mixture.highest, slope = 1.0
    cdef const double* weights = mixture.chain_weights
    cdef const double* c = mixture.chain.ridge.slopes
    if mixture.chain.n_known > 1:
        slope += c[1] + c[3]        # of m in the regressors
    slope *= slope_of_limits(chained(mixture, answers), chained(mixture, base), low, high)
    return (weights[0] + weights[1] * slope) * slope_of_limits(
        weights[0] * answers[n + 1] + weights[1] * answers[n + 3],
        weights[0] * base[n + 1] + weights[1] * base[n + 3], low, high)


cdef double chained(NumberMixture mixture, const double* answers) noexcept:
    """The prediction of the chain without limits."""
    cdef int n = mixture.n_groups
    cdef double found = answers[n + 1] + mixture.chain.ridge.answer(answers + n + 5)
    return found if found == found else answers[n + 1]


cdef double stacked(NumberMixture mixture, const double* answers) noexcept:
    """The stacked prediction without limits."""
    cdef int k, n = mixture.n_groups
    cdef double middle = 0.0, found
    for k in range(n):
        middle += answers[k] / n
    found = middle
    for k in range(n):
        found += mixture.stack.slopes[k] * (answers[k] - middle)
    return found if found == found else middle
