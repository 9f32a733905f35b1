"""Explanations of extra trees. See the header."""

import numpy as np

from libc.math cimport INFINITY, exp, log
from libc.string cimport memcpy

from ..explain cimport (
    Explainer, TreeExplanations, slope_of_exp, slope_of_limits, slope_of_log,
)
from ..subtotals cimport subtotal_of
from ..tree cimport UNUSED, Tree, add_leaf, is_leaf, mean_of
from .extra_trees cimport ExtraTrees, Group
from .logistic cimport LogisticRegression
from .mixtures cimport FLOOR, ClassPool, NumberMixture
from .model_trees cimport LinearModels

cdef double ONLY_CLASS = 1e-6       # probability of all other classes where there are none

# --- Classes --------------------------------------------------------------------------------------


cdef int explain_classes(ExtraTrees forest, Explainer explainer, int code) except -1:
    """Divide the log odds of a class."""
    cdef int width = forest.n_labels(), n = forest.n_groups(), g, k
    cdef Group group
    cdef TreeExplanations shares
    cdef ClassPool pool = forest.pool
    # Per group and class: predictions if no feature is known.
    cdef double[:, ::1] base = np.zeros((n, width))
    cdef double[::1] logs = np.zeros(pool.scratch_of(width))
    # Per member and class: slope of F between base and prediction, for q_m(c).
    cdef double[:, ::1] slopes = np.zeros((n + 3, width))
    cdef double of_base
    if width - pool.labels.n_free == 1:
        explainer.base = log(1.0 - ONLY_CLASS) - log(ONLY_CLASS)
        return 0
    shares = TreeExplanations(explainer, forest.trees, slopes[0])
    shares.row, shares.empty_answers = forest.schema.row, True
    add_mean_shares(forest, shares, base)
    forest.logistic.answer(forest.schema.row, NULL, 0, forest.schema,
                           pool.logistic_answer(&logs[0], width), width)
    pool.pool(&base[0, 0], &logs[0], width)
    of_base = slopes_of_pool(pool, forest.single.mixed, &logs[0], code, slopes)
    for k in range(width):
        for g in range(n):
            slopes[g, k] += pool.weights[g] * slopes[n, k]
    for g in range(n):
        group, shares.factors = forest.groups[g], slopes[g]
        with nogil:
            shares.explain(group.first, group.n, explainer, 1.0 / group.n)
    if forest.logistic.speaks():
        explain_logistic(forest, explainer, slopes[n + 2])
    explainer.base = of_base
    return 0


cdef int add_mean_shares(ExtraTrees forest, TreeExplanations shares,
                         double[:, ::1] base) except -1:
    """Add the class shares of all samples in the trees of each group."""
    cdef Group group
    cdef const Tree* this
    cdef int g, k, tree, width = <int>base.shape[1]
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
                base[g, k] += (totals[k + 1] / totals[0] if totals[0] > 0.0
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


cdef int explain_logistic(ExtraTrees forest, Explainer explainer, double[::1] slopes) except -1:
    """Add the contributions to the regression, whose scores are sums over the columns."""
    cdef LogisticRegression logistic = forest.logistic
    cdef const double* row = forest.schema.row
    cdef const int* columns = forest.schema.filled
    cdef int i, k, width = <int>slopes.shape[0]
    cdef double[::1] scores = np.zeros(width), base = np.zeros(width), each = np.zeros(width)
    cdef double[::1] weights = np.zeros(width)
    cdef double others, base_others, mean = 0.0, total = 0.0
    logistic.scores(row, columns, forest.schema.n_filled, forest.schema, &scores[0])
    logistic.scores(row, columns, 0, forest.schema, &base[0])
    others, base_others = log_sum(scores, -1), log_sum(base, -1)
    for k in range(width):      # q = exp(score - log of the sum of all): as in the header
        weights[k] = slope_of_exp(scores[k] - others, base[k] - base_others)
        slopes[k] *= weights[k]
        mean += slopes[k]
        total += weights[k]
    for i in range(forest.schema.n_filled):
        logistic.scores(row, columns + i, 1, forest.schema, &each[0])
        for k in range(width):
            explainer.phi[columns[i]] += (
                slopes[k] - mean * weights[k] / total) * (each[k] - base[k])
    return 0

# --- Numbers --------------------------------------------------------------------------------------


cdef int explain_numbers(ExtraTrees forest, Explainer explainer) except -1:
    """Divide the predicted number."""
    cdef int g, n = forest.n_groups()
    cdef double[::1] base = np.zeros(n), factors = np.zeros(n)
    cdef MeanExplanations means = MeanExplanations(explainer, forest.trees)
    cdef Explainer of_group
    cdef Group group
    cdef list parts = []
    means.forest, means.row, means.empty_answers = forest, forest.schema.row, True
    for g in range(n):
        group = forest.groups[g]
        of_group = Explainer(explainer.n_features, explainer.shapley, explainer.team)
        with nogil:
            means.explain(group.first, group.n, of_group, 1.0 / group.n)
        base[g] = of_group.base
        parts.append(of_group)
    explainer.base = factors_of_groups(
        forest.mixture, forest.single.answers + 2 * forest.n_trees, &base[0], &factors[0])
    for g in range(n):
        of_group = parts[g]
        explainer.add(of_group.phi, 0.0, factors[g])
    return 0


cdef class MeanExplanations(TreeExplanations):
    """The contributions to the mean in a tree.

    The mean of a leaf is that of the residuals of its linear model; the model is added in closed
    form: slope times (value - mean of the feature among the samples of the tree).
    """

    cdef ExtraTrees forest

    cdef double mean_of_leaf(self, int tree, int leaf) noexcept nogil:
        return mean_of(&self.trees.trees[tree], leaf) + (
            <LinearModels>self.forest.models_of(tree)).in_middle(leaf)

    cdef int explain_tree(self, Explainer explainer, int tree) except -1 nogil:
        TreeExplanations.explain_tree(self, explainer, tree)
        (<LinearModels>self.forest.models_of(tree)).add_terms(
            self.forest.single.leaves[tree], self.row, self.forest.schema.n_columns, 1.0,
            explainer.phi)
        return 0


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
