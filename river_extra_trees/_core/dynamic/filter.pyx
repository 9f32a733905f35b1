"""The particle filter as Python uses it: particles that learn samples, answer, and can be saved."""

import numpy as np

from libc.math cimport NAN, fabs
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..allocation cimport product
from ..parts cimport view
from ..cart.value_history cimport ValueHistory
from ..explain cimport (
    MOST_CLASSES, Contributions, Explainer, Explanations, Fork, Visit, mean_below, slope_of_limits,
)
from ..learner cimport Learner
from ..linalg cimport MAX_REGRESSORS, Fit, LeafModel, fit, slopes_of
from ..schema cimport MAX_COLUMNS, Labels, Schema
from ..shares cimport first_largest
from ..split cimport goes_left
from ..trees cimport threshold_in
from ..team cimport Team
from ..window cimport Window
from .leaf_models cimport Predictive, class_share, mean_of, predictive
from .particles cimport (
    ALC, ALM, ENTROPY, LARGEST_REGRESSOR, MAX_DECAYS, MOST_PAST, OLDEST, RANDOM, Particles,
    Regressor, decay_ahead, decayed, fades, features_of, fill_v, finish_leaf, follow, gather,
    is_active, n_rules, reshape, row_score, score_subtree, set_constants, set_shares, sum_beliefs,
    sum_subtree, v_of,
)
from .shared_trees cimport Leaf, Node, restored_trees, side
from .step cimport alc_at, leaf_entropy, learn_row, rejuvenate, retire_slot, to_retire

from ..state import (
    LARGEST_FLOAT, LARGEST_TARGET, captured, fields_of, put_back, require,
)
from .shared_trees import FIELDS as TREES

cdef double LARGEST_SQUARE = 1e290      # limit of weight * target ** 2

# Limits of the sums of weights and of squares in a leaf. Those of ten billion samples are smaller,
# and the sums of ten million leaves can be merged without overflow.
cdef double LARGEST_TOTAL = 1e130
FILL = {"least": -1.01 * LARGEST_REGRESSOR, "most": 1.01 * LARGEST_REGRESSOR}
SUMS = {"least": -1e300, "most": 1e300}
cdef double LARGEST_MEAN = 1.01 * LARGEST_TARGET        # allows for rounding
LEAST_POSTERIOR = 1e-9      # of a forgetting factor and a rule: see `SWITCH` in `step`
LARGEST_INT = 2**31 - 1
POLICIES = {"oldest": OLDEST, "random": RANDOM, "alc": ALC, "alm": ALM, "entropy": ENTROPY}
SETTINGS = {        # the arguments of the constructor
    "n_particles": ("whole", 1), "window": ("whole", 1, LARGEST_INT), "classifier": ("flag",),
    "linear": ("flag",), "min_samples_leaf": ("whole", 0, LARGEST_INT),
    "alpha": ("number", 0.0, 1.0), "beta": ("number", 0.0, LARGEST_FLOAT),
    "leaf_bonus": ("number", -LARGEST_FLOAT, LARGEST_FLOAT), "decays": ("items",),
    "prior_weight": ("number", 0.0, LARGEST_FLOAT), "published": ("flag",),
    "seed": ("whole", 0, 2**64 - 1),
}
MUTABLE = {         # see `set_policy`
    "discard": ("word", tuple(POLICIES)), "rejuvenate_every": ("whole",),
}
PARTS = {"schema": ("part", Schema), "labels": ("part", Labels), "pool": ("part", Window),
         "history": ("part", ValueHistory)}
CONTENT = {
    "global_statistics": ("numbers", "row", SUMS), "prior": ("numbers", "prior", SUMS),
    "columns": ("whole_numbers", np.int32, None, {"most": MAX_COLUMNS - 1}),     # the regressors
    "fill": ("numbers", "regressors", FILL),
    "fill_weight": ("numbers", "regressors", {"least": 0.0}),
    "v": ("numbers", "samples", "regressors", FILL),        # without the target
    "drawn": ("whole_numbers", np.int32, "samples", {"most": LARGEST_INT}),
    "lowest": ("number",), "highest": ("number",), "n_steps": ("whole",),
    "log_evidence": ("number",), "log_predictive": ("number",),
    "belief": ("numbers", "rules", "factors", {"least": LEAST_POSTERIOR, "most": 1.0}),
    "stratum": ("array", np.int32, "bounds"), **TREES,
    "rows": ("numbers", "leaves", "two rows", SUMS),
}
FIELDS = {**SETTINGS, **MUTABLE, **PARTS, **CONTENT}


cdef double finite(double mean) noexcept nogil:
    """The mean, limited to numbers with finite squares; 0 for NaN."""
    return min(max(mean, -LARGEST_MEAN), LARGEST_MEAN) if mean == mean else 0.0


cdef class ParticleFilter(Particles):
    """A particle filter: learns samples, answers, and describes its trees."""

    # What explanations need of the nodes, for the model as it is:
    cdef double* numbers        # per node: its weight; the share of the particles on the path of a
                                #   row that pass it; and its means, one per class
    cdef int n_means            # number of these ...
    cdef int first_mean         # ... from this class on
    cdef int64_t measured       # steps until they were computed, plus one; 0: never

    # --- Learning ---------------------------------------------------------------------------

    def set_policy(self, *, discard, int64_t rejuvenate_every):
        """Set which active sample retires from a full window, see `to_retire`, and after how many
        samples the particles are rejuvenated; 0: never.
        """
        self.policy, self.rejuvenate_every = POLICIES[discard], rejuvenate_every

    cdef int check_sample(self, double target, double weight) except -1:
        """Raise if the target is so large that the sums of squares of a long stream overflow."""
        if self.regression and weight * target * target > LARGEST_SQUARE:
            raise ValueError(
                f"w times the square of the target must be at most {LARGEST_SQUARE:g}: the target "
                f"is {target:g} and w is {weight:g}")
        return 0

    cdef int update(self, double target, double weight) except -1 nogil:
        cdef int leaving = to_retire(self, self.policy) if self.pool.size >= self.window else -1
        if leaving < 0:
            self.pool.reserve_one(self.schema, self.window)
        else:
            self.pool.reserve_row(self.schema, self.pool.capacity)
        follow(self)
        if leaving >= 0:
            retire_slot(self, leaving)
            if not self.regression and not self.published:
                self.history.learn(self.pool, leaving, self.schema)
        learn_row(self, target, weight, leaving)
        if self.rejuvenate_every and self.pool.n_seen % self.rejuvenate_every == 0:
            with gil:
                rejuvenate(self)
        return 0

    # --- Answers: averages over the predictive distributions of the leaves --------------------

    cdef double clamped(self, double mean) noexcept nogil:
        """The mean as a prediction, limited to the range of the targets seen.

        Linear models extrapolate, and so do the predictions of dynaTree.
        """
        if self.published:
            return finite(mean)
        if self.lowest > self.highest:      # no sample yet
            return 0.0
        return min(max(mean, self.lowest), self.highest)

    cdef double row_number(self) except? -1.0 nogil:
        cdef double total = 0.0
        cdef int hit
        self.find_row()
        for hit in range(self.n_hits):
            total += self.hits[hit].share * self.clamped(
                predictive(&self.model, self.statistics_of(hit), self.v).mean)
        return self.clamped(total)

    def mixture(self, x):
        """(mean, squared scale, degrees of freedom, weight) of each distinct leaf at x.

        It is that of equation (1), also where a linear leaf extrapolates.
        """
        cdef int hit
        cdef Predictive student
        cdef list parts = []
        with self.using():
            self.schema.encode(x)
            self.find_row()
            for hit in range(self.n_hits):
                student = predictive(&self.model, self.statistics_of(hit), self.v)
                parts.append((finite(student.mean), student.scale2, student.df,
                              self.hits[hit].share))
        return parts

    def number_of_tree(self, int tree, x):
        """The mean that one tree predicts."""
        with self.using():
            if not 0 <= tree < self.n_alive:
                raise IndexError(f"there is no tree {tree}, only 0 to {self.n_alive - 1}")
            self.schema.encode(x)
            fill_v(self, self.schema.row, 0.0)
            gather(self, self.schema.row, tree, tree + 1)
            return self.clamped(predictive(&self.model, self.statistics_of(0), self.v).mean)

    cdef double* row_shares(self) except? NULL nogil:
        cdef int hit, k
        cdef double* answer = self.model.prior      # scratch here: no other use in classification
        cdef const double* row
        self.find_row()
        memset(answer, 0, self.model.width * sizeof(double))
        for hit in range(self.n_hits):
            row = self.statistics_of(hit)
            for k in range(self.model.n_classes):
                answer[k] += self.hits[hit].share * class_share(&self.model, row, k)
        return answer

    cdef Explanations explanations(self, Contributions total, bint shapley, Team team):
        cdef FilterExplanations found = FilterExplanations()
        found.total, found.shapley, found.team, found.filter = total, shapley, team, self
        if shapley:
            found.explainer = Explainer(total.n_features)
        return found

    cdef int measure_trees(self, int code) except -1:
        """Compute weight and means of all nodes, unless that has been done since the last sample.

        Of more than MOST_CLASSES, only the means of one class are kept.
        """
        cdef int particle, first = 0, n = 1 if self.regression else self.model.n_classes
        if n > MOST_CLASSES:
            first, n = code, 1
        if self.measured == self.n_steps + 1 and self.first_mean == first and self.n_means == n:
            return 0
        self.resize(&self.numbers, product(self.trees.n_nodes, 2 + n), sizeof(double))
        self.measured, self.first_mean, self.n_means = self.n_steps + 1, first, n
        self.epoch += 1
        for particle in range(self.n_alive):
            measure(self, self.roots[particle])
        return 0

    cdef double* numbers_of(self, int node) noexcept nogil:
        return self.numbers + node * <Py_ssize_t>(2 + self.n_means)

    cdef int row_label(self) except -1 nogil:
        """The first of the largest probabilities, normalised first: rounding can make two equal."""
        cdef int k, n = self.model.n_classes
        cdef double* shares = self.row_shares()
        cdef double total = self.labels.total_of(shares, n)
        for k in range(n):
            shares[k] /= total
        return first_largest(shares, n)

    @property
    def n_seen(self):
        """Number of samples learned."""
        return self.pool.n_seen

    def alc_at(self, x):
        """Decrease of the predictive variance over the space if the target at x were known."""
        with self.using():
            return alc_at(self, x)

    # --- Inspection -------------------------------------------------------------------------

    cdef int count_trees(self) noexcept:
        return self.n_alive      # twice as many after a rejuvenation

    cdef list tree_nodes(self, int tree):
        """Beside what the nodes of all trees have: `spread`, see `fitted`."""
        cdef const Node* here
        cdef int n_active, node
        cdef double gain
        cdef double* row = self.row_other
        nodes = self.trees.below(self.roots[tree])
        numbers = {node: number for number, node in enumerate(nodes)}
        found, parents = [], {0: -1}
        for node in nodes:
            here = &self.trees.nodes[node]
            n_active = sum_subtree(self, node, row)
            gain, left, right = 0.0, -1, -1
            if here.leaf == NULL:
                gain = score_subtree(self, node, True) - self.log_stop[here.depth]
                gain = max(0.0, gain - row_score(self, row, row + self.model.width))
                left, right = numbers[here.left], numbers[here.right]
                parents[left] = parents[right] = len(found)
            found.append({
                "node": len(found), "parent": parents[len(found)], "depth": here.depth,
                "left": left, "right": right, "feature": here.split.feature,
                "threshold": threshold_in(here.split.threshold, here.split.nominal),
                "nominal": here.split.nominal,
                "missing_left": here.split.missing_left, "weight": row[0], "active": n_active,
                "retired": row[self.model.width], "gain": gain,
                **(frequencies(self, row) if self.model.multinomial else fitted(self, row)),
            })
        return found

    cdef tuple tree_sizes(self):
        cdef int i
        n_leaves = sum([self.trees.nodes[self.roots[i]].n_leaves for i in range(self.n_alive)])
        return 2 * n_leaves - self.n_alive, max(
            [self.trees.nodes[i].depth for i in range(self.trees.n_nodes)
             if self.trees.nodes[i].refs])

    def factor_weights(self):
        """Posterior probability of each forgetting factor."""
        return {self.decays[k]: self.factor_posterior[k] for k in range(self.n_decays)}

    def particle_shares(self):
        """Weight of each particle in the predictions."""
        return [self.share[particle] for particle in range(self.n_alive)]

    # --- State ------------------------------------------------------------------------------

    cdef dict views(self):
        """The arrays of the filter itself, see `state.py`; `v` by slot, without the targets."""
        cdef int q = self.model.n_regressors
        cdef Regressor* here = self.regressors
        cdef tuple row = (self.model.width,), n = (q,), step = (sizeof(Regressor),)
        return {
            "global_statistics": view(self.global_statistics, "f8", row),
            "prior": view(self.model.prior, "f8", row if self.regression else (0,)),
            "columns": view(&here.feature, "i4", n, step),
            "fill": view(&here.fill, "f8", n, step),
            "fill_weight": view(&here.fill_weight, "f8", n, step),
            "v": view(self.active_v, "f8", (self.capacity, q),
                      ((q + 1) * sizeof(double), sizeof(double))),
            "belief": view(self.belief, "f8", (n_rules(self), self.n_decays),
                           (sizeof(self.belief[0]), sizeof(double))),
            "stratum": view(self.stratum, "i4", (self.n_decays + 1,)),
        }

    def settings(self):
        """The arguments that make an empty filter of the same kind, and its policy."""
        return fields_of(self, {**SETTINGS, **MUTABLE}, {
            "discard": [word for word in POLICIES if POLICIES[word] == self.policy][0],
            "classifier": not self.regression,
            "min_samples_leaf": 0 if self.leaves_follow else self.min_samples_leaf,
            "decays": [self.decays[i] for i in range(self.n_decays)],
        })

    DEFAULTS = {"discard": "oldest", "rejuvenate_every": 0,
                "nominal": np.empty(0, np.uint8), "columns": np.empty(0, np.int32),
                "set_of": np.empty(0, np.int32), "set_sizes": np.empty(0, np.int32),
                "set_others": np.empty(0, np.uint8), "set_codes": np.empty(0),
                "set_borders": np.empty((0, 2)), "set_labels": np.empty(0, np.int32)}

    cdef dict fields(self):
        """Beside attributes and views: active samples are numbered by their order of arrival."""
        cdef int[::1] number = np.zeros(self.pool.capacity, np.int32)
        cdef int i, n = self.pool.size
        for i in range(n):
            number[self.pool.by_arrival[i]] = i
        slots = np.array(self.pool.slots(), np.intp)
        views = self.views()
        views["v"] = views["v"].take(slots, 0)
        return fields_of(self, FIELDS, {
            **self.settings(), **views,
            **self.trees.state(self.roots, self.n_alive, number),
            "drawn": np.array([number[self.drawn[i]] for i in range(n)], np.int32),
        })

    cdef Learner serving_copy(self):
        """A copy in which all samples are retired, which does not change the predictions."""
        state = captured(self.fields(), self.DEFAULTS)
        rows = state["rows"]
        rows[:, self.model.width:] = rows[:, : self.model.width]
        return self.restored({
            **state, "pool": Window.restored({"n_seen": self.pool.n_seen}),
            "history": ValueHistory(self.regression), "v": state["v"][:0],
            "drawn": np.zeros(0, np.int32), "leaf_slots": np.zeros(0, np.int32),
            "n_active": np.zeros_like(state["n_active"]),
        })

    FIELDS = FIELDS

    cdef int load(self, dict fields) except -1:
        cdef int i, n, n_labels
        settings = {name: fields[name] for name in SETTINGS}
        check_settings(settings, <int>len(fields["roots"]))
        self.__init__(**settings)
        self.set_policy(**{name: fields[name] for name in MUTABLE})
        require(self.policy < ALC or (self.policy == ENTROPY) == settings["classifier"],
                "ParticleFilter: scores of samples that its leaves do not have")
        self.schema, self.labels, self.pool, self.history = [fields[name] for name in PARTS]
        self.history.most, n = MOST_PAST, self.pool.size
        n_labels = -1 if self.regression else <int>len(self.labels)
        self.pool.check_codes(self.schema, n_labels)
        self.history.check_codes(self.schema, n_labels)
        require(not self.regression or len(self.labels) == 0,
                "ParticleFilter: a regression has labels")
        require(self.pool.n_fresh == 0 and n <= self.window,
                "ParticleFilter: the pool is not its own")
        self.shape_by(fields["columns"].tolist())
        require(fields["rows"].shape[1] == 2 * self.model.width,
                "ParticleFilter: the leaves have other statistics")
        views = self.views()
        views["v"] = views["v"][:n]
        del views["columns"]
        put_back(views, fields)
        check_fields(self, fields)
        for i in range(n):
            v_of(self, i)[self.model.n_regressors] = self.pool.target[i]
            self.drawn[i] = fields["drawn"][i]
        self.n_steps, self.lowest, self.highest = (
            fields["n_steps"], fields["lowest"], fields["highest"])
        self.log_evidence, self.log_predictive = fields["log_evidence"], fields["log_predictive"]
        sum_beliefs(self)
        set_constants(self)
        self.trees = restored_trees(self.model.width, self.schema, self.published, fields)
        self.n_alive = <int>len(fields["roots"])
        put_back({"roots": view(self.roots, "i4", (self.n_alive,))}, fields)
        set_shares(self, 0)
        check_samples(self, fields)
        for i in range(self.trees.n_nodes):
            if self.trees.nodes[i].leaf != NULL:
                require(not holds_future(self, self.trees.nodes[i].leaf),
                        "ParticleFilter: a leaf is older than a sample that it holds")
                finish_leaf(self, self.trees.nodes[i].leaf)
        return 0

    cdef int shape_by(self, list columns) except -1:
        """Take the shape of a state whose regressors are in these columns."""
        require(len(columns) <= MAX_REGRESSORS * self.linear and all([
            column < self.schema.n_columns and not self.schema.has_codes(column)
            for column in columns]) and len(set(columns)) == len(columns),
            "ParticleFilter: the regressors are no numeric columns")
        reshape(self, max(self.model.n_classes, <int>len(self.labels)), columns)
        return 0

    cdef list derived(self):
        """What a restored filter computes anew, of particles and nodes."""
        cdef const Node* here
        cdef int node
        cdef list found = [
            self.trees.nodes_in_use, self.trees.leaves_in_use, self.particle_shares()]
        for node in self.trees.nodes_below(self.roots, self.n_alive):
            here = &self.trees.nodes[node]
            found.append((here.depth, here.refs, here.n_leaves))
            if here.leaf != NULL:
                found.append((here.leaf.stratum, here.leaf.log_marginal))
        return found

    def check(self):
        """Raise an error if what is computed from the state differs."""
        cdef ParticleFilter other
        Learner.check(self)
        with self.using():      # no thread may learn a sample between the two
            other = self.restored(captured(self.fields(), self.DEFAULTS))
            require(repr(self.derived()) == repr(other.derived()),     # also NaN, by their repr
                    "ParticleFilter: depths, sizes, references, shares or scores do not follow "
                    "from the state")


# --- Explanations -----------------------------------------------------------------------------

cdef class FilterExplanations(Explanations):
    """The contributions to the mean of the particles, row by row."""

    cdef ParticleFilter filter
    cdef Explainer explainer    # of Shapley values

    cdef int put_row(self, int row, const double* values, int code) except -1:
        """Divide the trees, and a linear leaf at x by its slopes."""
        cdef ParticleFilter filter = self.filter
        cdef Contributions total = self.total
        cdef int hit
        filter.measure_trees(code)
        if self.shapley:
            self.add_shapley(row, code)
        else:
            total.base[row] = add_paths(filter, code, total.phi + row, total.n_rows)
        if filter.regression:
            for hit in range(filter.n_hits):
                add_slopes(filter, total.phi + row, total.n_rows, hit)
        return 0

    cdef int add_shapley(self, int row, int code) except -1:
        """Add the Shapley values in each different tree."""
        cdef ParticleFilter filter = self.filter
        cdef FilterSource source = FilterSource(
            filter.trees.nodes, filter.numbers, 2 + filter.n_means,
            2 + code - filter.first_mean, filter.schema.row)
        cdef Visit visit = Visit(look_in_filter, &source, 1, self.total.phi + row,
                                 self.total.n_rows, NULL, NULL, 0, NULL)
        cdef const double* numbers
        cdef int i, root, most, n = meet_roots(filter)
        for i in range(n):
            root = filter.trees.stack[i]
            numbers = filter.numbers_of(root)
            self.total.base[row] += numbers[1] * numbers[source.mean]
            most = min(self.total.n_features, filter.trees.nodes[root].n_leaves - 1)
            if most > 0:
                self.explainer.add(&visit, root, most, &numbers[1])
        return 0

    cdef int finish(self) except -1:
        if not self.filter.regression:
            self.total.to_log_odds()
        return 0


cdef void measure(ParticleFilter filter, int node) noexcept nogil:
    """Compute weight and means of a node and of those below it, unless that has been done."""
    cdef Node* here = &filter.trees.nodes[node]
    cdef double* numbers = filter.numbers_of(node)
    cdef const double* left
    cdef const double* right
    cdef const double* row
    cdef int k
    if here.stamp == filter.epoch:
        return
    here.stamp = filter.epoch
    if here.leaf == NULL:       # no deeper than MAX_DEPTH
        measure(filter, here.left)
        measure(filter, here.right)
        left, right = filter.numbers_of(here.left), filter.numbers_of(here.right)
        numbers[0] = left[0] + right[0]
        for k in range(2, 2 + filter.n_means):
            numbers[k] = mean_below(left[0], left[k], right[0], right[k])
    elif filter.regression:     # means do not decay
        numbers[0] = here.leaf.total[0] * decay_ahead(filter, here.leaf, 1)
        numbers[2] = filter.clamped(mean_of(
            &filter.model, numbers[0], here.leaf.total[1 + filter.model.n_regressors]))
    else:
        row = decayed(filter, here.leaf, 1)
        numbers[0] = row[0]
        for k in range(filter.n_means):
            numbers[2 + k] = class_share(&filter.model, row, filter.first_mean + k)


cdef int meet(ParticleFilter filter, int node, double share, int n) noexcept nogil:
    """Add the share of particles that pass a node, one of n on the stack; return their number."""
    cdef double* numbers = filter.numbers_of(node)
    if filter.trees.nodes[node].stamp != filter.epoch:
        filter.trees.nodes[node].stamp = filter.epoch
        filter.trees.stack[n] = node
        numbers[1] = 0.0
        n += 1
    numbers[1] += share
    return n


cdef int meet_roots(ParticleFilter filter) noexcept nogil:
    """Put each different tree on the stack, with the share of its particles."""
    cdef int particle, n = 0
    filter.epoch += 1
    for particle in range(filter.n_alive):
        n = meet(filter, filter.roots[particle], filter.share[particle], n)
    return n


cdef double add_paths(ParticleFilter filter, int code, double* phi,
                      Py_ssize_t n_rows) noexcept nogil:
    """Add the change of the mean at each split on the paths of a row; return the base value.

    Each node is met once: those above it come before it on the stack, as they are less deep.
    """
    cdef const Node* here
    cdef const double* numbers
    cdef const double* below
    cdef int i = 0, child, n = meet_roots(filter), mean = 2 + code - filter.first_mean
    cdef double base = 0.0
    for i in range(n):
        numbers = filter.numbers_of(filter.trees.stack[i])
        base += numbers[1] * numbers[mean]
    i = 0
    while i < n:
        here = &filter.trees.nodes[filter.trees.stack[i]]
        if here.leaf == NULL:
            child = side(here, filter.schema.row)
            numbers, below = filter.numbers_of(filter.trees.stack[i]), filter.numbers_of(child)
            n = meet(filter, child, numbers[1], n)
            phi[here.split.feature * n_rows] += numbers[1] * (below[mean] - numbers[mean])
        i += 1
    return base


cdef struct FilterSource:       # of the splits of the trees, by a row
    const Node* nodes
    const double* numbers       # as in `ParticleFilter`
    int width                   # numbers of a node
    int mean                    # place among them of the mean that is explained
    const double* x


cdef void look_in_filter(void* source, int node, Fork* found, double* values) noexcept nogil:
    """Describe a split of a tree."""
    cdef const FilterSource* here = <FilterSource*>source
    cdef const Node* split = &here.nodes[node]
    cdef const double* numbers
    cdef int k, child = split.left
    found.feature = split.split.feature
    found.left = goes_left(&split.split, here.x[split.split.feature])
    for k in range(2):
        numbers = here.numbers + child * <Py_ssize_t>here.width
        found.weights[k], values[k] = numbers[0], numbers[here.mean]
        found.children[k] = child if here.nodes[child].leaf == NULL else -1
        child = split.right


cdef void add_slopes(ParticleFilter filter, double* phi, Py_ssize_t n_rows,
                     int hit) noexcept nogil:
    """Add the terms of the linear model of a leaf: slope times (value minus mean in the leaf).

    If the prediction is limited, the terms are limited in proportion.
    """
    cdef const LeafModel* model = &filter.model
    cdef const double* row = filter.statistics_of(hit)
    cdef Fit posterior = fit(model, row, True)
    cdef int size = model.n_regressors + 1, i
    cdef const double* means = model.scratch + size * (size + 1) // 2       # see `fit`
    cdef double[MAX_REGRESSORS] terms
    cdef double mean = means[size - 1], total = mean, factor
    if not posterior.proper:
        return
    slopes_of(model, &posterior, terms)
    for i in range(posterior.n_regressors):
        terms[i] *= filter.v[i] - means[i]
        total += terms[i]
    factor = filter.hits[hit].share
    if not filter.published:
        factor *= slope_of_limits(total, mean, filter.lowest, filter.highest)
    for i in range(posterior.n_regressors):
        phi[filter.regressors[i].feature * n_rows] += factor * terms[i]


# --- Nodes as plain values --------------------------------------------------------------------

cdef dict frequencies(ParticleFilter filter, const double* row):
    """The class weights of a node with these statistics, and weight times predictive entropy."""
    return {"values": [row[i] for i in range(1, filter.model.width)],
            "spread": row[0] * leaf_entropy(&filter.model, row)}


cdef dict fitted(ParticleFilter filter, const double* row):
    """The regression of a node with these statistics and the prior; coefficients by column.

    The spread is the weight of the samples times the predictive variance in their middle.
    """
    cdef Fit posterior = fit(&filter.model, row, True)
    cdef int size = filter.model.n_regressors + 1, i
    cdef const double* means = filter.model.scratch + size * (size + 1) // 2      # see `fit`
    cdef double[MAX_REGRESSORS] found
    slopes_of(&filter.model, &posterior, found)
    slopes = [found[i] for i in range(posterior.n_regressors)]
    variance = posterior.sse / posterior.df if posterior.proper else NAN
    return {
        "values": [row[size], row[filter.model.width - 1]],
        "degrees_of_freedom": posterior.df if posterior.proper else 0.0,
        "residual_variance": variance,
        "spread": row[0] * variance * (1.0 + 1.0 / posterior.weight) if posterior.proper else 0.0,
        "intercept": means[size - 1] - sum(slopes[i] * means[i] for i in range(len(slopes))),
        "coefficients": {filter.regressors[i].feature: slopes[i] for i in range(len(slopes))},
    }


# --- Checks of a restored filter --------------------------------------------------------------

cdef int check_settings(dict settings, int n_roots) except -1:
    """Check the arguments of the constructor; the roots bound the memory that it takes."""
    decays, n_particles = settings["decays"], settings["n_particles"]
    require(n_roots in (n_particles, 2 * n_particles), "ParticleFilter: a particle has no tree")
    require(not (settings["classifier"] and settings["linear"]),
            "ParticleFilter: a classifier has linear models")
    require(len(decays) >= 1 and len(decays) <= min(MAX_DECAYS, n_particles)
            and all([type(decay) is float and decay > 0.0 and decay <= 1.0 for decay in decays])
            and len(set(decays)) == len(decays),
            "ParticleFilter: forgetting factors must differ and be in (0, 1]")
    return 0


cdef int check_fields(ParticleFilter filter, dict fields) except -1:
    """Check what relates fields; no sum of weights or squares may be negative or overflow."""
    cdef int q = filter.model.n_regressors
    bounds, n = fields["stratum"], filter.n_decays
    require(bounds[0] == 0 and bounds[n] == len(fields["roots"]) and np.all(bounds[:n] < bounds[1:])
            and fabs(float(np.sum(fields["belief"])) - 1.0) < 1e-9,
            "ParticleFilter: the factor posterior does not sum to one, or has no particles")
    require(np.array_equal(np.sort(fields["drawn"]), np.arange(filter.pool.size)),
            "ParticleFilter: a draw is of no sample")
    require(np.all((fields["times"] >= 0) & (fields["times"] <= filter.pool.n_seen)),
            "ParticleFilter: a leaf is of the future")
    for name in ("rows", "global_statistics", *(("prior",) if filter.regression else ())):
        rows = fields[name].reshape(-1, filter.model.width)
        sound = (rows[:, 0] >= 0.0) & (rows[:, 0] <= LARGEST_TOTAL)
        sound &= np.all(rows >= 0.0 if filter.model.multinomial else
                        abs(rows[:, 1:2 + q]) <= LARGEST_MEAN, axis=1)
        require(np.all(sound), "ParticleFilter: a weight or a mean that no samples have")
    return 0


cdef bint holds_future(ParticleFilter filter, const Leaf* leaf) noexcept nogil:
    """Whether a leaf whose weights decay is older than one of its samples: that would grow."""
    cdef int i
    if not fades(filter, leaf):
        return False
    for i in range(leaf.n_active):
        if filter.pool.arrival[leaf.slots[i]] >= leaf.time:
            return True
    return False


cdef int check_samples(ParticleFilter filter, dict fields) except -1:
    """Check that each leaf holds the active samples that reach it, each once, and no others."""
    cdef int n = filter.pool.size, slot, hit
    cdef const Leaf* leaf
    held = fields["leaf_slots"].astype(np.int64)
    require(np.all((held >= 0) & (held < n)), "ParticleFilter: a leaf holds no sample")
    leaves = np.flatnonzero(fields["links"][:, 0] < 0)
    held += np.repeat(leaves, fields["n_active"]) * n
    found = []
    for slot in range(n):       # in order of arrival
        gather(filter, features_of(filter, slot), 0, filter.n_alive)
        for hit in range(filter.n_hits):
            leaf = filter.trees.nodes[filter.hits[hit].node].leaf
            if is_active(filter, slot, leaf.stratum):
                found.append(<int64_t>filter.hits[hit].node * n + slot)
    require(np.array_equal(np.sort(found), np.sort(held)),
            "ParticleFilter: a sample is not where its features lead")
    return 0
