"""Explanations of extra trees. See the header."""

from libc.math cimport INFINITY, exp, log
from libc.string cimport memcpy, memset

from ..allocation cimport free, product, zeroed
from ..explain cimport (
    TreeExplanations, slope_of_exp, slope_of_limits, slope_of_log, subtotal_of,
)
from ..tree cimport UNUSED, Tree, add_leaf, is_leaf, mean_of
from .extra_trees cimport Group
from .logistic cimport LogisticRegression
from .mixtures cimport FLOOR, ClassPool, NumberMixture
from .model_trees cimport LinearModels

cdef double ONLY_CLASS = 1e-6       # probability of all other classes where there are none

cdef enum:
    WORK = 3            # scratch of a class: its numbers in `explain_logistic`


cdef Explanations explanations_of(ExtraTrees forest, Contributions total, bint shapley, Team team):
    """Explanations of predictions of a forest."""
    cdef GroupExplanations found
    if forest.regression:
        found = NumberExplanations.__new__(NumberExplanations)
    else:
        found = ClassExplanations.__new__(ClassExplanations)
    found.begin(total, shapley, team, forest.trees)
    found.by_forest(forest)
    return found


cdef class GroupExplanations(TreeExplanations):
    """The contributions in the groups of a forest, each with factors of its own."""

    cdef ExtraTrees forest
    cdef double* of_groups      # the `factors` of each group
    cdef double* base           # base[group * n_classes + class]: the answer without any feature
    cdef double* saved          # the base values of the rows
    cdef double* scratch        # all four are one piece of memory

    def __dealloc__(self):
        free(self.of_groups)

    cdef int reserve(self, ExtraTrees forest, int n_classes, Py_ssize_t n_scratch) except -1:
        """Allocate the numbers of the groups, all 0, and more for scratch."""
        cdef Py_ssize_t n = forest.n_groups() * <Py_ssize_t>n_classes, n_rows = self.total.n_rows
        self.forest, self.empty_answers, self.n_classes = forest, True, n_classes
        self.of_groups = <double*>zeroed(
            product(n + 1, n_rows) + n + n_scratch, sizeof(double))
        self.base = self.of_groups + n * n_rows
        self.saved = self.base + n
        self.scratch = self.saved + n_rows
        self.factors = self.of_groups
        return 0

    cdef double* factors_of(self, int group) noexcept:
        """The factors of a group."""
        return self.of_groups + group * <Py_ssize_t>self.n_classes * self.total.n_rows

    cdef int by_forest(self, ExtraTrees forest) except -1:
        """Compute what does not depend on the rows."""
        return 0

    cdef int finish(self) except -1:
        cdef Group group
        cdef int g
        memcpy(self.saved, self.total.base, self.total.n_rows * sizeof(double))
        for g in range(self.forest.n_groups()):
            group, self.factors = self.forest.groups[g], self.factors_of(g)
            self.explain(group.first, group.n)
        memcpy(self.total.base, self.saved, self.total.n_rows * sizeof(double))
        return 0

# --- Classes --------------------------------------------------------------------------------------


cdef class ClassExplanations(GroupExplanations):
    """The contributions to the log odds of a class."""

    cdef double* logs           # of the pool, if no feature is known
    cdef double* slopes         # slopes[member * n_classes + class]: of F between base and
                                #   prediction, for q_m(c)

    cdef int by_forest(self, ExtraTrees forest) except -1:
        cdef int width = forest.n_labels(), n = forest.n_groups()
        cdef ClassPool pool = forest.pool
        cdef Py_ssize_t n_logs = pool.scratch_of(width)
        self.reserve(forest, width, n_logs + (n + 3 + WORK) * <Py_ssize_t>width)
        self.logs, self.slopes = self.scratch, self.scratch + n_logs
        self.scratch = self.slopes + (n + 3) * width
        self.prepare(False)
        add_mean_shares(self)
        forest.logistic.answer(forest.schema.row, NULL, 0, forest.schema,
                               pool.logistic_answer(self.logs, width), width)
        pool.pool(self.base, self.logs, width)
        return 0

    cdef int put_row(self, int row, const double* values, int code) except -1:
        cdef ExtraTrees forest = self.forest
        cdef ClassPool pool = forest.pool
        cdef int width = self.n_classes, n = forest.n_groups(), g, k
        cdef double* factors
        TreeExplanations.put_row(self, row, values, code)
        if width - pool.labels.n_free == 1:
            self.total.base[row] = log(1.0 - ONLY_CLASS) - log(ONLY_CLASS)
            return 0
        self.reach(row, forest.single.leaves)
        self.total.base[row] = find_slopes(self, forest.single.mixed, code)
        for g in range(n):
            factors = self.factors_of(g) + row * <Py_ssize_t>width
            for k in range(width):
                factors[k] = (
                    self.slopes[g * width + k] + pool.weights[g] * self.slopes[n * width + k]
                ) / (<Group>forest.groups[g]).n
        if forest.logistic.n:
            explain_logistic(self, row, self.slopes + (n + 2) * width)
        return 0


cdef void add_mean_shares(ClassExplanations shares) noexcept:
    """Add the class shares of all samples in the trees of each group."""
    cdef ExtraTrees forest = shares.forest
    cdef Group group
    cdef const Tree* this
    cdef const double* totals
    cdef double share
    cdef int g, k, tree, width = shares.n_classes
    cdef double* base = shares.base
    for g in range(forest.n_groups()):
        group = forest.groups[g]
        for tree in range(group.first, group.first + group.n):
            this = &forest.trees.trees[tree]
            if shares.keeps_subtotals() and not is_leaf(this.nodes):
                totals = subtotal_of(this, 0)
            else:
                memset(shares.scratch, 0, (width + 1) * sizeof(double))
                count_samples(this, shares.scratch)
                totals = shares.scratch
            share = 1.0 / (totals[0] * group.n) if totals[0] > 0.0 else 0.0
            for k in range(width):
                base[k] += totals[k + 1] * share if share > 0.0 else 1.0 / (width * group.n)
        base += width


cdef void count_samples(const Tree* tree, double* totals) noexcept nogil:
    """Add the weight of all leaves, and their class weights."""
    cdef int node
    for node in range(tree.n_used):
        if tree.nodes[node].feature != UNUSED and is_leaf(&tree.nodes[node]):
            add_leaf(tree, node, totals, totals + 1)


cdef double find_slopes(ClassExplanations explanations, const double* logs, int code) noexcept:
    """Compute the slopes of F for q_m(c); return F at the base."""
    cdef ClassPool pool = explanations.forest.pool
    cdef const double* base = explanations.logs
    cdef int m, k, width = explanations.n_classes, n_members = explanations.forest.n_groups() + 3
    cdef double* sums = explanations.scratch
    cdef double* base_sums = sums + width
    cdef double* weights = base_sums + width
    cdef double others, base_others, total = 0.0
    memset(sums, 0, 3 * width * sizeof(double))
    for m in range(n_members):
        for k in range(width):
            sums[k] += pool.exponents[m] * logs[m * width + k]
            base_sums[k] += pool.exponents[m] * base[m * width + k]
    sums[pool.frequent] += pool.offset()
    base_sums[pool.frequent] += pool.offset()
    for k in range(width if pool.labels.n_free else 0):
        if pool.labels.is_free(k):      # no label: it has no share, see `pool`
            sums[k] = base_sums[k] = -INFINITY
    others, base_others = log_sum(sums, width, code), log_sum(base_sums, width, code)
    for k in range(width):
        if k != code and not pool.labels.is_free(k):
            weights[k] = slope_of_exp(sums[k] - others, base_sums[k] - base_others)
            total += weights[k]
    for k in range(width):
        weights[k] = 1.0 if k == code else -weights[k] / total
        for m in range(n_members):
            explanations.slopes[m * width + k] = (
                weights[k] * pool.exponents[m] * (1.0 - FLOOR) * slope_of_log(
                    exp(logs[m * width + k]), exp(base[m * width + k])))
    return base_sums[code] - base_others


cdef double log_sum(const double* sums, int n, int code) noexcept:
    """The log of the sum of n numbers exp(sums[k]), without that of a class; -1 for all classes."""
    cdef int k
    cdef double largest = -INFINITY, total = 0.0
    for k in range(n):
        if k != code:
            largest = max(largest, sums[k])
    for k in range(n):
        if k != code:
            total += exp(sums[k] - largest)
    return log(total) + largest


cdef void explain_logistic(ClassExplanations explanations, int row, double* slopes) noexcept:
    """Add the contributions to the regression, whose scores are sums over the columns."""
    cdef ExtraTrees forest = explanations.forest
    cdef Contributions contributions = explanations.total
    cdef LogisticRegression logistic = forest.logistic
    cdef const double* values = forest.schema.row
    cdef const int* columns = forest.schema.filled
    cdef int k, width = explanations.n_classes
    cdef double* scores = explanations.scratch
    cdef double* base = scores + width
    cdef double* weights = base + width
    cdef double others, base_others, mean = 0.0, total = 0.0
    logistic.scores(values, columns, forest.schema.n_filled, forest.schema, scores)
    logistic.scores(values, columns, 0, forest.schema, base)
    others, base_others = log_sum(scores, width, -1), log_sum(base, width, -1)
    for k in range(width):      # q = exp(score - log of the sum of all): as in the header
        weights[k] = slope_of_exp(scores[k] - others, base[k] - base_others)
        slopes[k] *= weights[k]
        mean += slopes[k]
        total += weights[k]
    for k in range(width):
        slopes[k] -= mean * weights[k] / total
    logistic.add_terms(values, columns, forest.schema.n_filled, forest.schema, slopes,
                       contributions.phi + row, contributions.n_rows)

# --- Numbers --------------------------------------------------------------------------------------


cdef class NumberExplanations(GroupExplanations):
    """The contributions to a number.

    The mean of a leaf is that of the residuals of its linear model; the model is added in closed
    form: slope times (value - mean of the feature among the samples of the tree).
    """

    cdef double* terms          # of the linear models at a row, per column

    cdef int by_forest(self, ExtraTrees forest) except -1:
        cdef int n = forest.n_groups(), g, tree
        cdef Group group
        self.reserve(forest, 1, n + 2 * forest.mixture.scratch_of() + self.total.n_features)
        self.terms = self.scratch + n + 2 * forest.mixture.scratch_of()
        self.prepare(False)
        for g in range(n):
            group = forest.groups[g]
            for tree in range(group.first, group.first + group.n):
                self.base[g] += self.mean_in(tree, 0) / group.n
        return 0

    cdef int put_row(self, int row, const double* values, int code) except -1:
        cdef ExtraTrees forest = self.forest
        cdef int n = forest.n_groups(), g, tree, i
        cdef double* factors = self.scratch
        cdef Group group
        TreeExplanations.put_row(self, row, values, code)
        self.reach(row, forest.single.leaves)
        self.total.base[row] = find_factors(
            forest.mixture, forest.single.means, self.base, factors)
        memset(self.terms, 0, self.total.n_features * sizeof(double))
        for g in range(n):
            group = forest.groups[g]
            self.factors_of(g)[row] = factors[g] / group.n
            for tree in range(group.first, group.first + group.n):
                (<LinearModels>forest.models_of(tree)).add_terms(
                    forest.single.leaves[tree], values, forest.schema.n_columns,
                    factors[g] / group.n, self.terms)
        for i in range(self.total.n_features):
            self.total.phi[i * <Py_ssize_t>self.total.n_rows + row] = self.terms[i]
        return 0

    cdef double mean_of_leaf(self, int tree, int leaf) noexcept nogil:
        return mean_of(&self.trees.trees[tree], leaf) + (
            <LinearModels>self.forest.models_of(tree)).in_middle(leaf)


cdef double find_factors(NumberMixture mixture, const double* groups, const double* base,
                         double* factors) noexcept:
    """Compute the slope of the mixture for each group; return the mixture at the base.

    Behind the factors is scratch for two predictions of the mixture.
    """
    cdef int k, n = mixture.n_groups
    cdef double* answers = factors + n
    cdef double* base_answers = answers + mixture.scratch_of()
    cdef const double* c = mixture.stack.slopes
    cdef double low = mixture.lowest, high = mixture.highest, mean_slope = 0.0, of_stack
    cdef double mean = 0.0, base_mean = 0.0, slope
    mixture.answer(groups, 0.0, answers)
    mixture.answer(base, 0.0, base_answers)
    for k in range(n):
        mean_slope += c[k] / n
    of_stack = slope_of_limits(mixture.stacked(answers), mixture.stacked(base_answers),
                               low, high)
    for k in range(n + 1):
        mean += mixture.weights[k] * answers[k]
        base_mean += mixture.weights[k] * base_answers[k]
    slope = slope_of_limits(mean, base_mean, low, high) * slope_of_chain(
        mixture, answers, base_answers)
    for k in range(n):
        factors[k] = slope * slope_of_limits(groups[k], base[k], low, high) * (
            mixture.weights[k]
            + mixture.weights[n] * of_stack * (1.0 / n + c[k] - mean_slope))
    return mixture.mean(base_answers)[0]


cdef double slope_of_chain(NumberMixture mixture, const double* answers,
                           const double* base) noexcept:
    """The slope of the prediction for the weighted mean m: directly, and through the chain."""
    cdef int n = mixture.n_groups
    cdef double low = mixture.lowest, high = mixture.highest, slope = 1.0
    cdef const double* weights = mixture.chain_weights
    cdef const double* c = mixture.chain.slopes
    if mixture.n_targets > 2:
        slope += c[1] + c[3]        # of m in the regressors
    slope *= slope_of_limits(mixture.chained(answers), mixture.chained(base), low, high)
    return (weights[0] + weights[1] * slope) * slope_of_limits(
        weights[0] * answers[n + 1] + weights[1] * answers[n + 3],
        weights[0] * base[n + 1] + weights[1] * base[n + 3], low, high)
