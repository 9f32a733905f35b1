"""A cloud of dynamic trees. See the header for the structures."""

import numpy as np

from libc.math cimport INFINITY, NAN, exp, fabs, isfinite, isnan, log, log1p, pow
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from .forest cimport read_number, read_weight
from .grove cimport MAX_DEPTH, MIN_BLOCK, Grove, Leaf, Node, side
from .pool cimport Pool
from .posterior cimport (
    Predictive, add_sample, add_samples, log_gamma, log_marginal, merge, predictive, reference_score,
    row_width, scale, scratch_size, subtract,
)
from .rng cimport DISCARD, MOVE, MUTATE, REJUVENATE, RESAMPLE, Rng, below, rng_for, uniform
from .schema cimport Labels, Schema

cdef extern from *:
    """
    #ifdef _MSC_VER
    #include <intrin.h>
    static int lowest_bit(unsigned long long word) {
        unsigned long place;
        _BitScanForward64(&place, word);
        return (int)place;
    }
    #else
    #define lowest_bit __builtin_ctzll
    #endif
    """
    int lowest_bit(unsigned long long word) noexcept nogil

cdef double LARGEST_REGRESSOR = 1e50
cdef double LARGEST_LOG_ODDS = 600.0


cdef class Cloud:
    """Particles, the points they share, and one learning step.

    Parameters
    ----------
    n_particles
        Number of trees.
    window
        Active points at most; the caller retires one before the next is learned.
    n_classes
        0 for regression. Classes may be added later by learning one.
    linear
        Whether regression leaves are linear in the numeric features.
    min_samples_leaf
        Active points that a split leaves on both sides.
    alpha, beta
        A node at depth D is split with prior probability alpha (1 + D)^-beta.
    decays
        Forgetting factors per sample of the stream, ascending; with `reference` one factor per
        retirement in a leaf. Of several, each particle has its own and may change it.
    prior_weight
        See `set_prior`.
    reference
        Flat priors, move scores and forgetting of dynaTree 1.2-17.
    cuts_by_range
        Propose cuts uniformly over the range of a feature in the leaf, not over its gaps.
    seed
        Of all random numbers.
    """

    def __cinit__(
        self, int n_particles, int window, bint classifier, bint linear, int min_samples_leaf,
        double alpha, double beta, decays, double prior_weight, bint reference,
        bint cuts_by_range, uint64_t seed,
    ):
        cdef int depth
        cdef double share
        self.n_particles = self.n_alive = n_particles
        self.window, self.min_samples_leaf = window, min_samples_leaf
        self.alpha, self.beta, self.prior_weight, self.seed = alpha, beta, prior_weight, seed
        assert 1 <= len(decays) <= MAX_DECAYS and n_particles >= 1
        self.n_decays = len(decays)
        for depth in range(self.n_decays):
            self.decays[depth] = decays[depth]
        self.decay = self.decays[self.n_decays - 1]
        self.linear, self.reference, self.cuts_by_range = linear, reference, cuts_by_range
        self.model.multinomial = classifier
        for depth in range(MAX_DEPTH + 2):
            share = alpha * pow(1.0 + depth, -beta)
            self.log_split[depth] = log(share) if share > 0.0 else -INFINITY
            self.log_stop[depth] = log1p(-share)
        self.schema, self.labels = Schema(), Labels()
        self.lowest, self.highest = INFINITY, -INFINITY
        self.roots = <int*>calloc(2 * n_particles, sizeof(int))
        self.resampled = <int*>calloc(2 * n_particles, sizeof(int))
        self.group_of = <int*>calloc(2 * n_particles, sizeof(int))
        self.regrouped = <int*>calloc(2 * n_particles, sizeof(int))
        self.next = <int*>calloc(2 * n_particles, sizeof(int))
        self.weights = <double*>calloc(2 * n_particles, sizeof(double))
        self.visits = <Visit*>calloc(2 * n_particles, sizeof(Visit))
        self.groups = <Group*>calloc(2 * n_particles, sizeof(Group))
        self.cuts = <Cut*>calloc(2 * n_particles, sizeof(Cut))
        if (
            self.roots == NULL or self.resampled == NULL or self.group_of == NULL
            or self.regrouped == NULL or self.next == NULL or self.weights == NULL
            or self.visits == NULL or self.groups == NULL or self.cuts == NULL
        ):
            raise MemoryError
        self.widen(0, 0, 1 if classifier else 0)
        self.plant_roots(0)

    def __dealloc__(self):
        free(self.roots)
        free(self.resampled)
        free(self.group_of)
        free(self.regrouped)
        free(self.next)
        free(self.weights)
        free(self.visits)
        free(self.groups)
        free(self.v)
        free(self.overall)
        free(self.fill)
        free(self.fill_weight)
        free(self.regressors)
        free(self.nominal)
        free(self.order)
        free(self.n_present)
        free(self.memo)
        free(self.sample_weight)
        free(self.row_small)
        free(self.row_other)
        free(self.row_child)
        free(self.n_needed)
        free(self.bits)
        free(self.cuts)
        free(self.model.prior)
        free(self.model.scratch)

    cdef int plant_roots(self, int first) except -1:
        """An empty leaf per forgetting factor, each for as many particles from `first` on."""
        cdef int node = -1, particle, factor, last = -1
        if not self.grove.reserve(self.n_decays, self.n_decays, self.n_decays * MIN_BLOCK):
            raise MemoryError
        for particle in range(self.n_particles):
            factor = particle * self.n_decays // self.n_particles
            if factor == last:
                self.grove.hold(node)
            else:
                last = factor
                node = self.grove.new_leaf(0, MIN_BLOCK)
                self.grove.leaves[self.grove.nodes[node].left].decay = self.decays[factor]
                self.grove.leaves[self.grove.nodes[node].left].time = self.n_seen
                self.finish_leaf(node)
            self.roots[first + particle] = node
        return 0

    # --- Columns, regressors and classes ----------------------------------------------------

    cdef int adapt(self) except -1:
        """Follow the schema to new columns."""
        cdef Schema schema = self.schema
        cdef int column, n_regressors = self.model.n_regressors
        if schema.n_columns == self.pool.n_columns:
            return 0
        for column in range(self.pool.n_columns, schema.n_columns):
            n_regressors += self.linear and schema.codes[column] is None
        n_regressors = min(n_regressors, MAX_REGRESSORS)
        cdef int old_columns = self.pool.n_columns, old_regressors = self.model.n_regressors
        self.widen(schema.n_columns, n_regressors, self.model.n_classes)
        n_regressors = old_regressors
        for column in range(old_columns, schema.n_columns):
            self.nominal[column] = schema.codes[column] is not None
            if self.linear and not self.nominal[column] and n_regressors < MAX_REGRESSORS:
                self.regressors[n_regressors] = column
                n_regressors += 1
        return 0

    cdef int widen(self, int n_columns, int n_regressors, int n_classes) except -1:
        """Give everything that depends on these numbers its new shape.

        Earlier samples miss a new feature, and the value 0 stands in for it in their statistics.
        """
        cdef int width = row_width(self.model.multinomial, n_regressors, n_classes)
        cdef Grove grove = Grove(width)
        cdef Py_ssize_t i
        cdef double* rows
        if self.pool is None:
            self.pool = Pool(n_columns, n_regressors + 1)
        elif n_columns != self.pool.n_columns or n_regressors + 1 != self.pool.size_v:
            self.pool.reserve(self.pool.capacity, n_columns, n_regressors + 1)
        self.overall = self.wider(self.overall, 1, width, n_regressors)
        self.model.prior = self.wider(self.model.prior, 1, width, n_regressors)
        self.row_small = self.wider(self.row_small, 2, width, n_regressors)
        self.row_other = self.wider(self.row_other, 2, width, n_regressors)
        self.row_child = self.wider(self.row_child, 2, width, n_regressors)
        if self.grove is None:
            self.grove = grove
        elif width != self.grove.width:
            self.grove.rows = self.wider(
                self.grove.rows, 2 * self.grove.leaf_capacity, width, n_regressors)
            self.grove.width = width
        self.v = <double*>self.resized(self.v, (n_regressors + 1) * sizeof(double))
        self.fill = <double*>self.resized(self.fill, (n_regressors + 1) * sizeof(double))
        self.fill_weight = <double*>self.resized(
            self.fill_weight, (n_regressors + 1) * sizeof(double))
        self.regressors = <int*>self.resized(self.regressors, (n_regressors + 1) * sizeof(int))
        self.nominal = <uint8_t*>self.resized(self.nominal, n_columns + 1)
        self.model.scratch = <double*>self.resized(
            self.model.scratch, scratch_size(n_regressors) * sizeof(double))
        for i in range(self.model.n_regressors, n_regressors):
            self.fill[i] = self.fill_weight[i] = 0.0
        self.model.n_regressors, self.model.n_classes = n_regressors, n_classes
        self.model.width = width
        self.scratch_capacity = 0
        self.refresh()
        return 0

    cdef void* resized(self, void* memory, size_t size) except NULL:
        memory = realloc(memory, max(<size_t>1, size))
        if memory == NULL:
            raise MemoryError
        return memory

    cdef double* wider(
        self, double* rows, Py_ssize_t n_rows, int width, int n_regressors
    ) except NULL:
        """Rows of the current shape, copied into rows of a new one; the old ones are freed."""
        cdef double* new = <double*>calloc(max(<Py_ssize_t>1, n_rows * width), sizeof(double))
        cdef Py_ssize_t i, old_width = self.model.width
        cdef int old = self.model.n_regressors, j
        cdef double* to_row
        cdef const double* row
        if new == NULL:
            raise MemoryError
        for i in range(n_rows if rows != NULL else 0):
            row, to_row = rows + i * old_width, new + i * width
            if self.model.multinomial:
                memcpy(to_row, row, old_width * sizeof(double))
                continue
            memcpy(to_row, row, (1 + old) * sizeof(double))
            to_row[1 + n_regressors] = row[1 + old]
            row, to_row = row + 2 + old, to_row + 2 + n_regressors
            memcpy(to_row, row, (old * (old + 1) // 2) * sizeof(double))
            row += old * (old + 1) // 2
            to_row += n_regressors * (n_regressors + 1) // 2
            memcpy(to_row, row, old * sizeof(double))
            to_row[n_regressors] = row[old]
        free(rows)
        return new

    cdef int reserve_scratch(self) except -1:
        """Work space for proposals in a leaf that holds the whole pool."""
        cdef size_t capacity = self.pool.capacity
        cdef size_t columns = max(1, self.pool.n_columns)
        if self.scratch_capacity == self.pool.capacity:
            return 0
        self.order = <int*>self.resized(self.order, columns * capacity * sizeof(int))
        self.n_present = <int*>self.resized(self.n_present, columns * sizeof(int))
        self.memo = <double*>self.resized(
            self.memo, 2 * columns * (capacity + 1) * sizeof(double))
        self.n_needed = <int*>self.resized(self.n_needed, 2 * columns * sizeof(int))
        self.bits = <uint64_t*>self.resized(self.bits, (capacity // 64 + 1) * sizeof(uint64_t))
        self.sample_weight = <double*>self.resized(
            self.sample_weight, capacity * sizeof(double))
        self.scratch_capacity = self.pool.capacity
        return 0

    cdef int prepare(self, double target) except -1:
        """Everything that can fail before a sample is learned."""
        self.adapt()
        if self.model.multinomial and target >= self.model.n_classes:
            self.widen(self.pool.n_columns, 0, <int>target + 1)
        if self.pool.size == self.pool.capacity:
            self.pool.reserve(
                2 * self.pool.capacity, self.pool.n_columns, self.pool.size_v)
        self.reserve_scratch()
        return 0

    cdef void fill_v(self, const double* x, double target) noexcept nogil:
        """The point as leaf statistics see it: a missing regressor has its running mean."""
        cdef int i
        cdef double value
        for i in range(self.model.n_regressors):
            value = x[self.regressors[i]]
            self.v[i] = self.fill[i] if isnan(value) else limited(value)
        self.v[self.model.n_regressors] = target

    # --- The prior of a leaf ----------------------------------------------------------------

    cdef void set_prior(self) noexcept nogil:
        """The prior of the leaves, from the statistics of all samples.

        It is worth `prior_weight` samples that look like all others: a leaf that knows little
        answers like the overall (linear) fit. A ridge keeps it proper when features repeat each
        other or do not vary, and one degree of freedom for the variance does when weights fade.
        """
        cdef int size = self.model.n_regressors + 1, i
        cdef double* prior = self.model.prior
        cdef double* cells = prior + 1 + size
        cdef double log_determinant, sse
        cdef bint is_linear
        if self.model.multinomial:
            self.model.concentration = 1.0 / self.model.n_classes
            self.model.per_leaf = (
                log_gamma(self.model.n_classes * self.model.concentration)
                - self.model.n_classes * log_gamma(self.model.concentration)
            )
            return
        memset(prior, 0, self.model.width * sizeof(double))
        if self.reference or self.prior_weight <= 0.0 or self.overall[0] <= 0.0:
            self.model.df_offset = -size
            self.model.per_leaf = 0.0
            return
        merge(&self.model, prior, self.overall, self.prior_weight / self.overall[0])
        for i in range(size):
            cells[i] *= 1.0 + 1e-4
            cells[i] += self.prior_weight * 1e-9 * (prior[1 + i] * prior[1 + i] + 1e-9)
            cells += i + 1
        # The log marginal likelihood of no samples at all is 0 by the choice of `per_leaf`.
        self.model.df_offset = 1.0
        self.model.per_leaf = 0.0
        memset(self.row_small, 0, self.model.width * sizeof(double))
        self.model.per_leaf = -log_marginal(
            &self.model, self.row_small, True, &is_linear)

    cdef void refresh(self) noexcept nogil:
        """Take the prior anew; what leaves have cached follows."""
        cdef int node
        self.set_prior()
        for node in range(self.grove.n_nodes):
            if self.grove.nodes[node].refs and self.grove.nodes[node].feature < 0:
                self.finish_leaf(node)

    cdef void finish_leaf(self, int node) noexcept nogil:
        """Cache what follows from the statistics of a leaf."""
        cdef int leaf = self.grove.nodes[node].left
        cdef Leaf* cached = &self.grove.leaves[leaf]
        cached.log_marginal = log_marginal(
            &self.model, self.grove.total(leaf), True, &cached.is_linear)

    # --- Finding the leaves -----------------------------------------------------------------

    cdef void next_tick(self) noexcept nogil:
        """Make all memos of nodes out of date."""
        cdef int node
        self.tick += 1
        if self.tick == 0:      # the counter went round: no stamp of the past may look current
            for node in range(self.grove.n_nodes):
                self.grove.nodes[node].stamp = 0
            self.tick = 1

    cdef void gather(self, const double* x, int first, int stop) noexcept nogil:
        """Find the distinct leaves (visits) and leaf-parent pairs (groups) of x.

        A node that was passed in this gathering remembers the group below it, so that each
        distinct node is passed once.
        """
        cdef Node* nodes = self.grove.nodes
        cdef int path[MAX_DEPTH + 2]
        cdef int particle, node, n_path, i, group
        self.next_tick()
        self.n_visits = self.n_groups = 0
        for particle in range(first, stop):
            node = self.roots[particle]
            if particle > first and node == self.roots[particle - 1]:
                group = self.group_of[particle - 1]
            else:
                n_path = 0
                while nodes[node].feature >= 0 and nodes[node].stamp != self.tick:
                    path[n_path] = node
                    n_path += 1
                    node = side(&nodes[node], x)
                if nodes[node].feature >= 0:
                    group = nodes[node].memo
                else:
                    if nodes[node].stamp != self.tick:
                        nodes[node].stamp = self.tick
                        nodes[node].memo = self.n_visits
                        self.visits[self.n_visits].node = node
                        self.visits[self.n_visits].n_particles = 0
                        self.n_visits += 1
                    group = self.n_groups
                    self.groups[group].visit = nodes[node].memo
                    self.groups[group].parent = path[n_path - 1] if n_path else -1
                    self.n_groups += 1
                for i in range(n_path):
                    nodes[path[i]].stamp = self.tick
                    nodes[path[i]].memo = group
            self.group_of[particle] = group
            self.visits[self.groups[group].visit].n_particles += 1

    # --- One step ---------------------------------------------------------------------------

    cdef bint step(self, int slot, int first, int stop) noexcept nogil:
        """Weigh, resample, add, move. False when there was no memory for some moves.

        The point is added first, to every distinct leaf: the increase of the leaf's log marginal
        likelihood is its log predictive density there, and the resampling does not mind.
        """
        cdef const double* x = self.pool.x + slot * self.pool.n_columns
        cdef int n_out = self.n_particles
        self.n_steps += 1
        self.add_to_leaves(slot)
        self.log_predictive = self.weigh(first, stop)
        self.resample(first, stop, n_out)
        return self.move_all(x, first, first + n_out)

    cdef void update_time(self, int leaf) noexcept nogil:
        """Let the samples of a leaf fade up to now."""
        cdef Leaf* here = &self.grove.leaves[leaf]
        cdef double factor
        if here.decay == 1.0 or self.reference or here.time == self.n_seen or self.looking:
            return
        factor = pow(here.decay, <double>(self.n_seen - here.time))
        scale(&self.model, self.grove.total(leaf), factor)
        scale(&self.model, self.grove.retired(leaf), factor)
        here.time = self.n_seen
        here.log_marginal = log_marginal(
            &self.model, self.grove.total(leaf), True, &here.is_linear)

    cdef double weight_at(self, int slot, const Leaf* leaf) noexcept nogil:
        """Weight of an active point in a leaf, faded up to the leaf's time."""
        if leaf.decay == 1.0 or self.reference:
            return self.pool.weight[slot]
        return self.pool.weight[slot] * pow(
            leaf.decay, <double>(leaf.time - self.pool.arrival[slot]))

    cdef void add_to_leaves(self, int slot) noexcept nogil:
        """Add the point to each distinct leaf and note its log predictive density there."""
        cdef const double* v = self.pool.v + slot * self.pool.size_v
        cdef double weight
        cdef double before, after
        cdef int visit, leaf
        cdef bint was_linear, dummy
        cdef Leaf* here
        for visit in range(self.n_visits):
            leaf = self.grove.nodes[self.visits[visit].node].left
            self.update_time(leaf)
            here = &self.grove.leaves[leaf]
            before, was_linear = here.log_marginal, here.is_linear
            weight = self.weight_at(slot, here)
            add_sample(&self.model, self.grove.total(leaf), v, weight)
            self.grove.add_slot(here, slot)
            here.log_marginal = log_marginal(
                &self.model, self.grove.total(leaf), True, &here.is_linear)
            after = here.log_marginal
            if here.is_linear != was_linear:    # a density compares like with like
                after = log_marginal(&self.model, self.grove.total(leaf), was_linear, &dummy)
            if isnan(before) or isnan(after) or before == after:
                self.visits[visit].log_weight = 0.0     # no proper predictive yet
            else:
                self.visits[visit].log_weight = after - before

    cdef double weigh(self, int first, int stop) noexcept nogil:
        """Weights of the particles; returns the log of their mean."""
        cdef double largest = -INFINITY, total = 0.0
        cdef int visit, particle
        for visit in range(self.n_visits):
            if self.visits[visit].log_weight > largest:
                largest = self.visits[visit].log_weight
        if not isfinite(largest):
            for particle in range(first, stop):
                self.weights[particle] = 1.0
            return largest
        for visit in range(self.n_visits):
            self.visits[visit].log_weight = exp(self.visits[visit].log_weight - largest)
            total += self.visits[visit].log_weight * self.visits[visit].n_particles
        for particle in range(first, stop):
            self.weights[particle] = (
                self.visits[self.groups[self.group_of[particle]].visit].log_weight)
        return largest + log(total / (stop - first))

    cdef void resample(self, int first, int stop, int n_out) noexcept nogil:
        """Systematic resampling; copies of a particle end up side by side.

        A particle of weight w has floor(n w) or ceil(n w) copies, as in residual resampling.
        """
        cdef Rng rng = rng_for(self.seed, 0, self.n_steps, RESAMPLE)
        cdef double u = uniform(&rng), total = 0.0, cumulative = 0.0
        cdef int particle, n = 0, copies
        cdef bint equal = stop - first == n_out
        for particle in range(first, stop):
            total += self.weights[particle]
            equal = equal and self.weights[particle] == self.weights[first]
        if equal:
            return
        for particle in range(first, stop):
            cumulative += self.weights[particle] * n_out / total
            copies = n
            while n < n_out and (n + u < cumulative or particle == stop - 1):
                self.resampled[n] = self.roots[particle]
                self.regrouped[n] = self.group_of[particle]
                n += 1
            self.grove.count(self.roots[particle], n - copies - 1)
        memcpy(self.roots + first, self.resampled, n_out * sizeof(int))
        memcpy(self.group_of + first, self.regrouped, n_out * sizeof(int))

    cdef bint move_all(self, const double* x, int first, int stop) noexcept nogil:
        """Stay, grow or prune, visit by visit."""
        cdef int visit, group, particle
        cdef bint ok = True
        for visit in range(self.n_visits):
            self.visits[visit].first = -1
        for group in range(self.n_groups):
            self.groups[group].pruned = -1
            self.groups[group].prune_odds = -1.0 if self.groups[group].parent >= 0 else 0.0
        for particle in range(stop - 1, first - 1, -1):
            visit = self.groups[self.group_of[particle]].visit
            self.next[particle] = self.visits[visit].first
            self.visits[visit].first = particle
        for visit in range(self.n_visits):
            if self.visits[visit].first >= 0:       # else the resampling has left none
                ok = self.move_visit(x, &self.visits[visit]) and ok
        return ok

    cdef bint move_visit(self, const double* x, Visit* visit) noexcept nogil:
        """The moves of all particles that hold one leaf (there is at least one)."""
        cdef int particle = visit.first
        cdef bint ok = True
        cdef double u, grow
        cdef Group* group
        self.propose_all(visit)
        while particle >= 0:
            group = &self.groups[self.group_of[particle]]
            if group.prune_odds < 0.0:
                group.prune_odds = self.prune_odds(group)
            grow = self.cuts[particle].odds[0] if self.cuts[particle].odds != NULL else 0.0
            u = self.cuts[particle].u * (1.0 + group.prune_odds + grow)
            if u < group.prune_odds:
                ok = self.apply_prune(x, particle, group) and ok
            elif u < group.prune_odds + grow:
                ok = self.apply_grow(x, particle, visit.node, &self.cuts[particle]) and ok
            particle = self.next[particle]
        return ok

    # --- Scores -----------------------------------------------------------------------------

    cdef double row_score(self, const double* total, const double* retired) noexcept nogil:
        """What a leaf with these statistics adds to the log posterior of its tree."""
        cdef bint is_linear
        if self.reference:
            return reference_score(&self.model, total, retired)
        return log_marginal(&self.model, total, True, &is_linear)

    cdef double leaf_score(self, int leaf) noexcept nogil:
        if self.reference:
            return reference_score(
                &self.model, self.grove.total(leaf), self.grove.retired(leaf))
        return self.grove.leaves[leaf].log_marginal

    cdef void sum_subtree(
        self, int node, double* row, double* score, int* n_active
    ) noexcept nogil:
        """Statistics (two rows), log posterior and active points of a whole subtree."""
        cdef int* stack = self.grove.stack
        cdef Node* here
        cdef int n_stack = 1, leaf
        stack[0] = node
        score[0] = 0.0
        n_active[0] = 0
        memset(row, 0, 2 * self.model.width * sizeof(double))
        while n_stack:
            n_stack -= 1
            here = &self.grove.nodes[stack[n_stack]]
            if here.feature >= 0:
                score[0] += self.log_split[here.depth]
                stack[n_stack] = here.left
                stack[n_stack + 1] = here.right
                n_stack += 2
                continue
            leaf = here.left
            self.update_time(leaf)
            score[0] += self.log_stop[here.depth] + self.leaf_score(leaf)
            n_active[0] += self.grove.leaves[leaf].n_active
            merge(&self.model, row, self.grove.total(leaf), 1.0)
            merge(&self.model, row + self.model.width, self.grove.retired(leaf), 1.0)

    cdef double prune_odds(self, Group* group) noexcept nogil:
        """Odds of pruning the leaf's parent against staying."""
        cdef double stay
        cdef int n_active
        cdef double* row = self.row_other
        self.sum_subtree(group.parent, row, &stay, &n_active)
        if self.reference and n_active < 2 * self.min_samples_leaf:
            return 0.0
        return odds(
            self.log_stop[self.grove.nodes[group.parent].depth]
            + self.row_score(row, row + self.model.width) - stay
        )

    # --- Proposals --------------------------------------------------------------------------

    cdef void propose_all(self, Visit* visit) noexcept nogil:
        """A proposal for each particle at one leaf: a feature at random, then a cut at random.

        All cuts are drawn first. Their odds are then found by one sweep over each feature.
        """
        cdef int leaf = self.grove.nodes[visit.node].left, particle = visit.first, i, slot
        cdef int n_columns = self.pool.n_columns, n_drawn = 0, n_cells, other
        cdef double u
        cdef const Leaf* here = &self.grove.leaves[leaf]
        cdef bint can_grow = (
            here.n_active >= 2 * self.min_samples_leaf and self.alpha > 0.0 and n_columns > 0
            and self.grove.nodes[visit.node].depth < MAX_DEPTH
        )
        cdef Cut* cut
        cdef Rng rng
        if can_grow:
            for i in range(n_columns):
                self.n_present[i] = -1
            for i in range(here.n_active):
                slot = self.grove.slots[here.slots + i]
                self.sample_weight[slot] = self.weight_at(slot, here)
        n_cells = n_columns * (here.n_active - 2 * self.min_samples_leaf + 1)
        while particle >= 0:
            cut = &self.cuts[particle]
            rng = rng_for(self.seed, particle, self.n_steps, MOVE)
            cut.u = uniform(&rng)
            cut.odds = NULL
            if can_grow and n_drawn >= MAX_PROPOSALS and n_cells > n_drawn and not self.reference:
                i = <int>(uniform(&rng) * n_drawn)
                other = visit.first
                while i > 0:
                    other = self.next[other]
                    i -= 1
                u, cut[0] = cut.u, self.cuts[other]
                cut.u = u
                self.move_cut(&rng, cut)
            elif can_grow:
                n_drawn += 1
                cut.column = <int>(uniform(&rng) * n_columns)
                if self.n_present[cut.column] < 0:
                    self.sort_leaf(leaf, cut.column)
                self.place_cut(&rng, leaf, cut)
            particle = self.next[particle]
        if can_grow:
            self.weigh_cuts(visit.node)

    cdef void move_cut(self, Rng* rng, Cut* cut) noexcept nogil:
        """Another threshold that parts the points of the leaf in the same way."""
        cdef const int* order
        cdef double u = uniform(rng)
        if cut.odds == NULL or cut.nominal:
            return
        order = self.order + <Py_ssize_t>cut.column * self.scratch_capacity + cut.n_left
        cut.threshold = between(
            self.pool.x[order[-1] * self.pool.n_columns + cut.column],
            self.pool.x[order[0] * self.pool.n_columns + cut.column], u)

    cdef void weigh_cuts(self, int node) noexcept nogil:
        """Odds of all cuts that were proposed at one leaf."""
        cdef int depth = self.grove.nodes[node].depth, leaf = self.grove.nodes[node].left
        cdef int column, missing_left
        cdef double base = (
            self.log_split[depth] + 2.0 * self.log_stop[depth + 1] - self.log_stop[depth]
            - self.leaf_score(leaf)
        )
        for column in range(self.pool.n_columns):
            for missing_left in range(2):
                if self.n_present[column] < 0 or self.n_needed[2 * column + missing_left] == 0:
                    continue
                if self.nominal[column]:
                    self.weigh_nominal(leaf, column, missing_left, base)
                else:
                    self.sweep(leaf, column, missing_left, True, base)
                    self.sweep(leaf, column, missing_left, False, base)

    cdef void sweep(
        self, int leaf, int column, bint missing_left, bint from_left, double base
    ) noexcept nogil:
        """Pass over half of the sorted points and weigh the cuts proposed between them.

        The statistics of the side that the pass comes from grow on the way.
        """
        cdef int n = self.grove.leaves[leaf].n_active, n_present = self.n_present[column]
        cdef int middle = n_present // 2, done = 0, here, i
        cdef int end = middle if from_left else n_present - middle - 1
        cdef int n_missing = n - n_present if missing_left == from_left else 0
        cdef const int* order = self.order + <Py_ssize_t>column * self.scratch_capacity
        cdef double* row = self.row_small
        cdef double* memo = self.memo + (2 * <Py_ssize_t>column + missing_left) * (
            self.scratch_capacity + 1)
        memset(row, 0, self.model.width * sizeof(double))
        self.sum_slots(order + n_present, n_missing, row)
        for here in range(1, end + 1):
            i = here if from_left else n_present - here
            if memo[i] < 0.0:
                self.sum_slots(order + (done if from_left else i), here - done, row)
                done = here
                memo[i] = odds(base + self.children_score(
                    leaf, <double>(here + n_missing) / n))

    cdef void weigh_nominal(
        self, int leaf, int column, bint missing_left, double base
    ) noexcept nogil:
        """Weigh the cuts proposed of one nominal value against the rest."""
        cdef int n = self.grove.leaves[leaf].n_active, n_present = self.n_present[column]
        cdef int n_missing = n - n_present if missing_left else 0
        cdef const int* order = self.order + <Py_ssize_t>column * self.scratch_capacity
        cdef const double* x = self.pool.x + column
        cdef int width = self.pool.n_columns, start = 0, end
        cdef double* row = self.row_small
        cdef double* memo = self.memo + (2 * <Py_ssize_t>column + missing_left) * (
            self.scratch_capacity + 1)
        while start < n_present:
            end = start + 1
            while end < n_present and x[order[end] * width] == x[order[start] * width]:
                end += 1
            if memo[start] < 0.0:
                memset(row, 0, self.model.width * sizeof(double))
                self.sum_slots(order + start, end - start, row)
                self.sum_slots(order + n_present, n_missing, row)
                memo[start] = odds(base + self.children_score(
                    leaf, <double>(end - start + n_missing) / n))
            start = end

    cdef void sort_leaf(self, int leaf, int column) noexcept nogil:
        """Sort the leaf's active points by a column, missing ones behind; forget its cuts.

        The points set bits at their ranks in the pool; reading the bits is the sort.
        """
        cdef int n = self.grove.leaves[leaf].n_active, n_present = 0, n_missing = 0, i, place
        cdef int n_words = self.pool.n_present[column] // 64 + 1
        cdef const int* slots = self.grove.slots + self.grove.leaves[leaf].slots
        cdef const int* rank = self.pool.rank + <size_t>column * self.pool.capacity
        cdef const int* ranked = self.pool.order + <size_t>column * self.pool.capacity
        cdef int* order = self.order + <Py_ssize_t>column * self.scratch_capacity
        cdef double* memo = self.memo + 2 * <Py_ssize_t>column * (self.scratch_capacity + 1)
        cdef uint64_t word
        memset(self.bits, 0, n_words * sizeof(uint64_t))
        for i in range(n):
            place = rank[slots[i]]
            if place < 0:
                n_missing += 1
                order[n - n_missing] = slots[i]
            else:
                self.bits[place >> 6] = self.bits[place >> 6] | <uint64_t>1 << (place & 63)
        for i in range(n_words):
            word = self.bits[i]
            while word:
                order[n_present] = ranked[64 * i + lowest_bit(word)]
                n_present += 1
                word &= word - 1
        memset(memo, 0, (n + 1) * sizeof(double))
        memset(memo + self.scratch_capacity + 1, 0, (n + 1) * sizeof(double))
        self.n_needed[2 * column] = self.n_needed[2 * column + 1] = 0
        self.n_present[column] = n_present

    cdef void place_cut(self, Rng* rng, int leaf, Cut* cut) noexcept nogil:
        """Draw the place of a cut and ask for its odds, unless the column allows none."""
        cdef int n = self.grove.leaves[leaf].n_active, n_present = self.n_present[cut.column]
        cdef int least = self.min_samples_leaf, low, high, middle, cell
        cdef const int* order = self.order + <Py_ssize_t>cut.column * self.scratch_capacity
        cdef const double* x = self.pool.x + cut.column
        cdef int width = self.pool.n_columns
        cdef double lower, upper
        cut.missing_left = n_present < n and uniform(rng) < 0.5
        cut.nominal = self.nominal[cut.column]
        cut.start = 0
        if cut.nominal:
            if n_present == 0:
                return
            low = high = <int>(uniform(rng) * n_present)
            cut.threshold = x[order[low] * width]
            while low > 0 and x[order[low - 1] * width] == cut.threshold:
                low -= 1
            while high < n_present and x[order[high] * width] == cut.threshold:
                high += 1
            if high - low < least or n_present - (high - low) < least:
                return
            cut.start = cell = low
            cut.n_left = high - low
        else:
            low, high = least - 1, n_present - least
            if low >= high:
                return
            if not self.cuts_by_range:      # a gap between neighbours, then anywhere in it
                low += <int>(uniform(rng) * (high - low))
                high = low + 1
            lower, upper = x[order[low] * width], x[order[high] * width]
            if not lower < upper:
                return
            cut.threshold = between(lower, upper, uniform(rng))
            while high - low > 1:           # x[low] <= threshold < x[high]
                middle = (low + high) // 2
                if x[order[middle] * width] <= cut.threshold:
                    low = middle
                else:
                    high = middle
            cut.n_left = cell = high
        middle = 2 * cut.column + cut.missing_left
        cut.odds = self.memo + <Py_ssize_t>middle * (self.scratch_capacity + 1) + cell
        cut.odds[0] = -1.0
        self.n_needed[middle] = self.n_needed[middle] + 1

    cdef double children_score(self, int leaf, double share) noexcept nogil:
        """Score of the two children, the active points of one being in `row_small`.

        A child inherits its share of what the leaf has retired (section 3.2).
        """
        cdef int width = self.model.width
        cdef const double* retired = self.grove.retired(leaf)
        cdef double* rest = self.row_other
        cdef double* child = self.row_small
        memcpy(rest, self.grove.total(leaf), width * sizeof(double))
        if retired[0] > 0.0:
            child = self.row_child
            memcpy(child, self.row_small, width * sizeof(double))
            memset(child + width, 0, width * sizeof(double))
            merge(&self.model, child, retired, share)
        subtract(&self.model, rest, child, 1.0)
        if self.reference:
            memset(child + width, 0, width * sizeof(double))
            merge(&self.model, child + width, retired, share)
            memset(rest + width, 0, width * sizeof(double))
            merge(&self.model, rest + width, retired, 1.0 - share)
        return self.row_score(child, child + width) + self.row_score(rest, rest + width)

    cdef void sum_slots(self, const int* slots, int n, double* row) noexcept nogil:
        add_samples(&self.model, row, self.pool.v, slots, n, self.sample_weight)

    # --- Moves ------------------------------------------------------------------------------

    cdef bint apply_prune(self, const double* x, int particle, Group* group) noexcept nogil:
        """Put one leaf in the place of the parent; particles of a group share it."""
        cdef int depth = self.grove.nodes[group.parent].depth
        if not self.grove.reserve(depth + 1, 1, 4 * self.pool.size + 16):
            return False
        if group.pruned < 0:
            group.pruned = self.plant_pruned(group)
        else:
            self.grove.hold(group.pruned)
        self.roots[particle] = self.grove.replant(
            self.roots[particle], x, depth, group.pruned)
        return True

    cdef int plant_pruned(self, Group* group) noexcept nogil:
        """The leaf that holds everything below the parent."""
        cdef double score
        cdef int n_active, node, n_stack = 1
        cdef int* stack = self.grove.stack
        cdef int* slots
        cdef int leaf, old
        cdef Leaf* whole
        cdef Leaf* part
        self.sum_subtree(group.parent, self.row_other, &score, &n_active)
        node = self.grove.new_leaf(self.grove.nodes[group.parent].depth, n_active)
        leaf = self.grove.nodes[node].left
        whole = &self.grove.leaves[leaf]
        slots = self.grove.slots + whole.slots
        memcpy(self.grove.total(leaf), self.row_other, 2 * self.model.width * sizeof(double))
        stack[0] = group.parent
        while n_stack:
            n_stack -= 1
            old = stack[n_stack]
            if self.grove.nodes[old].feature >= 0:
                stack[n_stack] = self.grove.nodes[old].left
                stack[n_stack + 1] = self.grove.nodes[old].right
                n_stack += 2
                continue
            old = self.grove.nodes[old].left
            part = &self.grove.leaves[old]
            memcpy(slots + whole.n_active, self.grove.slots + part.slots,
                   part.n_active * sizeof(int))
            whole.n_active += part.n_active
            whole.decay = part.decay
        whole.time = self.n_seen
        self.finish_leaf(node)
        return node

    cdef bint apply_grow(
        self, const double* x, int particle, int node, const Cut* cut
    ) noexcept nogil:
        """Split the leaf in this particle."""
        cdef int depth = self.grove.nodes[node].depth, new, left, right
        if not self.grove.reserve(depth + 3, 2, 4 * self.pool.size + 32):
            return False
        new = self.grove.new_node()
        self.grove.nodes[new].cut = cut.threshold
        self.grove.nodes[new].feature = cut.column
        self.grove.nodes[new].nominal = cut.nominal
        self.grove.nodes[new].missing_left = cut.missing_left
        self.grove.nodes[new].n_leaves = 2
        self.grove.nodes[new].depth = <short>depth
        left = self.plant_leaf(node, cut, True)
        right = self.plant_leaf(node, cut, False)
        self.grove.nodes[new].left, self.grove.nodes[new].right = left, right
        self.roots[particle] = self.grove.replant(self.roots[particle], x, depth, new)
        return True

    cdef int plant_leaf(self, int node, const Cut* cut, bint left) noexcept nogil:
        """One child of a leaf that is split; its statistics are summed, not subtracted."""
        cdef int old = self.grove.nodes[node].left
        cdef int n = self.grove.leaves[old].n_active, n_present = self.n_present[cut.column]
        cdef int n_left = cut.n_left + (n - n_present) * cut.missing_left
        cdef int n_here = n_left if left else n - n_left
        cdef int child = self.grove.new_leaf(self.grove.nodes[node].depth + 1, n_here)
        cdef int leaf = self.grove.nodes[child].left, i
        cdef Leaf* here = &self.grove.leaves[leaf]
        cdef int* slots = self.grove.slots + here.slots
        cdef const int* order = self.order + <Py_ssize_t>cut.column * self.scratch_capacity
        cdef double share = <double>n_here / n
        cdef bint inside
        for i in range(n):
            inside = (
                cut.missing_left if i >= n_present
                else cut.start <= i < cut.start + cut.n_left
            )
            if inside == left:
                slots[here.n_active] = order[i]
                here.n_active += 1
        self.sum_slots(slots, n_here, self.grove.total(leaf))
        merge(&self.model, self.grove.total(leaf), self.grove.retired(old), share)
        merge(&self.model, self.grove.retired(leaf), self.grove.retired(old), share)
        here.time, here.decay = self.grove.leaves[old].time, self.grove.leaves[old].decay
        self.finish_leaf(child)
        return child

    # --- Forgetting factors -----------------------------------------------------------------

    cdef int mutate(self) except -1:
        """Give one particle a neighbouring forgetting factor, so that none dies out for good."""
        cdef Rng rng = rng_for(self.seed, 0, self.n_steps, MUTATE)
        cdef int particle = <int>below(&rng, self.n_particles), node = self.roots[particle], i = 0
        cdef int root = node, n_leaves = self.grove.nodes[node].n_leaves
        while self.grove.nodes[node].feature >= 0:
            node = self.grove.nodes[node].left
        while self.decays[i] != self.grove.leaves[self.grove.nodes[node].left].decay:
            i += 1
        i += 1 if uniform(&rng) < 0.5 else -1
        if not 0 <= i < self.n_decays:
            return 0
        if not self.grove.reserve(
            2 * n_leaves, n_leaves, 2 * self.pool.size + MIN_BLOCK * n_leaves
        ):
            raise MemoryError
        self.roots[particle] = self.regrown(root, self.decays[i])
        self.grove.release(root)
        return 0

    cdef int regrown(self, int node, double decay) noexcept nogil:
        """A copy of a whole tree whose active points have always faded with another factor."""
        cdef int* stack = self.grove.stack
        cdef int root = self.regrown_node(node, decay), at, child, n_stack = 0
        if self.grove.nodes[root].feature >= 0:
            stack[0] = root
            n_stack = 1
        while n_stack:              # copies whose children are not copied yet
            n_stack -= 1
            at = stack[n_stack]
            child = self.regrown_node(self.grove.nodes[at].left, decay)
            self.grove.nodes[at].left = child
            if self.grove.nodes[child].feature >= 0:
                stack[n_stack] = child
                n_stack += 1
            child = self.regrown_node(self.grove.nodes[at].right, decay)
            self.grove.nodes[at].right = child
            if self.grove.nodes[child].feature >= 0:
                stack[n_stack] = child
                n_stack += 1
        return root

    cdef int regrown_node(self, int old, double decay) noexcept nogil:
        """A copy of one node; an inner one still has the old children."""
        cdef int copy, leaf, i
        cdef const int* slots
        cdef Leaf* here
        if self.grove.nodes[old].feature >= 0:
            copy = self.grove.new_node()
            self.grove.nodes[copy] = self.grove.nodes[old]
            self.grove.nodes[copy].refs = 1
            self.grove.nodes[copy].stamp = 0
            return copy
        leaf = self.grove.nodes[old].left
        self.update_time(leaf)
        copy = self.grove.new_leaf(
            self.grove.nodes[old].depth, self.grove.leaves[leaf].n_active)
        here = &self.grove.leaves[self.grove.nodes[copy].left]
        here.time, here.decay = self.n_seen, decay
        old, leaf = leaf, self.grove.nodes[copy].left
        memcpy(self.grove.retired(leaf), self.grove.retired(old),
               self.model.width * sizeof(double))
        memcpy(self.grove.total(leaf), self.grove.retired(old),
               self.model.width * sizeof(double))
        slots = self.grove.slots + self.grove.leaves[old].slots
        for i in range(self.grove.leaves[old].n_active):
            self.grove.add_slot(here, slots[i])
            self.sample_weight[slots[i]] = self.weight_at(slots[i], here)
        self.sum_slots(slots, here.n_active, self.grove.total(leaf))
        self.finish_leaf(copy)
        return copy

    # --- Rejuvenation -----------------------------------------------------------------------

    def rejuvenate(self):
        """Add as many new particles, grown from the active points in random order.

        They inherit what the old ones have retired, as near to its place as the active points tell:
        a leaf's retired statistics go to the new leaves of its active points in equal parts, or of
        those of the smallest subtree around it that has any. The next sample decides between the
        2 n particles.
        """
        cdef int n = self.n_particles, particle, i, j, slot
        cdef double log_predictive = self.log_predictive
        cdef Rng rng = rng_for(self.seed, 0, self.n_steps, REJUVENATE)
        if self.n_alive > n or self.pool.size == 0:
            return
        slots = self.pool.slots()
        for i in range(len(slots) - 1, 0, -1):      # Fisher and Yates
            j = <int>below(&rng, i + 1)
            slots[i], slots[j] = slots[j], slots[i]
        self.plant_roots(n)
        for slot in slots:
            self.gather(self.pool.x + slot * self.pool.n_columns, n, 2 * n)
            self.reserve_slots()
            if not self.step(slot, n, 2 * n):
                raise MemoryError("some trees could not move")
        self.log_predictive = log_predictive
        inherited = {}
        for particle in range(n, 2 * n):
            slot = self.roots[particle]
            if slot not in inherited:
                inherited[slot] = self.inherit(slot, self.roots[particle - n])
            else:
                self.grove.hold(inherited[slot])
            self.roots[particle] = inherited[slot]
        for slot in inherited:
            while slot >= 0 and self.grove.nodes[slot].refs:
                self.grove.release(slot)
        self.n_alive = 2 * n

    cdef int inherit(self, int root, int old) except -1:
        """A copy of a tree that has what another tree has retired."""
        cdef int node, leaf, part, slot, n_leaves = self.grove.nodes[root].n_leaves
        cdef const double* retired
        if not self.grove.reserve(
            2 * n_leaves, n_leaves, 2 * self.pool.size + MIN_BLOCK * n_leaves
        ):
            raise MemoryError
        node = root
        while self.grove.nodes[node].feature >= 0:
            node = self.grove.nodes[node].left
        root = self.regrown(root, self.grove.leaves[self.grove.nodes[node].left].decay)
        stack = [(old, ())]
        while stack:
            node, around = stack.pop()
            near = self.slots_below(node) or around
            if self.grove.nodes[node].feature >= 0:
                stack += [(self.grove.nodes[node].left, near),
                          (self.grove.nodes[node].right, near)]
                continue
            leaf = self.grove.nodes[node].left
            self.update_time(leaf)
            for slot in near:
                part = root
                while self.grove.nodes[part].feature >= 0:
                    part = side(&self.grove.nodes[part],
                                self.pool.x + slot * self.pool.n_columns)
                part = self.grove.nodes[part].left
                retired = self.grove.retired(leaf)
                merge(&self.model, self.grove.total(part), retired, 1.0 / len(near))
                merge(&self.model, self.grove.retired(part), retired, 1.0 / len(near))
        for node in self.leaves_below(root):
            self.finish_leaf(node)
        return root

    def leaves_below(self, int node):
        """Nodes of the leaves of a subtree."""
        found, stack = [], [node]
        while stack:
            node = stack.pop()
            if self.grove.nodes[node].feature >= 0:
                stack += [self.grove.nodes[node].right, self.grove.nodes[node].left]
            else:
                found.append(node)
        return found

    def slots_below(self, int node):
        """Slots of the active points of a subtree."""
        cdef int i
        cdef const Leaf* leaf
        found = []
        for node in self.leaves_below(node):
            leaf = &self.grove.leaves[self.grove.nodes[node].left]
            found += [self.grove.slots[leaf.slots + i] for i in range(leaf.n_active)]
        return found

    cdef int reserve_slots(self) except -1:
        """Make room for one more point in each of the leaves gathered."""
        cdef int visit, cells = 0
        cdef const Leaf* leaf
        for visit in range(self.n_visits):
            leaf = &self.grove.leaves[self.grove.nodes[self.visits[visit].node].left]
            if leaf.n_active == MIN_BLOCK << leaf.block:
                cells += MIN_BLOCK << (leaf.block + 1)
        if not self.grove.reserve(0, 0, cells):
            raise MemoryError
        return 0

    # --- Retirement -------------------------------------------------------------------------

    cdef void retire_slot(self, int slot) noexcept nogil:
        """Move an active point into the prior of its leaf, equation (4), once per distinct leaf."""
        cdef const double* x = self.pool.x + slot * self.pool.n_columns
        cdef const double* v = self.pool.v + slot * self.pool.size_v
        cdef int visit, node, leaf
        cdef Leaf* here
        self.gather(x, 0, self.n_alive)
        for visit in range(self.n_visits):
            node = self.visits[visit].node
            leaf = self.grove.nodes[node].left
            here = &self.grove.leaves[leaf]
            self.grove.remove_slot(here, slot)
            if self.reference and self.decay < 1.0:     # power prior, section 5, leaf by leaf
                subtract(&self.model, self.grove.total(leaf), self.grove.retired(leaf),
                         1.0 - self.decay)
                scale(&self.model, self.grove.retired(leaf), self.decay)
            add_sample(&self.model, self.grove.retired(leaf), v, self.weight_at(slot, here))
            if self.reference and self.decay < 1.0:
                self.finish_leaf(node)
        self.pool.release(slot)

    # --- For Python -------------------------------------------------------------------------

    cdef double read_target(self, object y) except? -1.0:
        """Number or code of a target; -1 for a label that is new. Raises where it is neither."""
        return self.labels.code(y) if self.model.multinomial else read_number(y)

    def validate(self, x, y, w):
        """Raise what learning this sample would raise."""
        read_weight(w)
        self.read_target(y)
        self.schema.encode(x)

    def learn(self, x, y, w=1.0):
        """Learn one sample; the caller has made room in the window. True if it was learned."""
        cdef double weight = read_weight(w)
        cdef double target = self.read_target(y)
        cdef bint is_new = self.model.multinomial and target < 0.0
        if weight == 0.0:
            self.schema.encode(x)
            return False
        self.schema.admit(x)
        self.prepare(len(self.labels) if is_new else target)
        if is_new:
            target = self.labels.learn(y)
        self.learn_row(target, weight)
        return True

    cdef int learn_row(self, double target, double weight) except -1:
        """Learn the row that the schema encoded last."""
        cdef int slot, i
        cdef const double* x = self.schema.row
        cdef bint ok
        self.gather(x, 0, self.n_alive)
        self.reserve_slots()
        self.n_seen += 1
        for i in range(self.model.n_regressors):
            if not isnan(x[self.regressors[i]]):
                self.fill_weight[i] += weight
                self.fill[i] += weight / self.fill_weight[i] * (
                    limited(x[self.regressors[i]]) - self.fill[i])
        self.fill_v(x, target)
        if not self.model.multinomial:
            scale(&self.model, self.overall, 1.0 - 0.1 / self.window)
            add_sample(&self.model, self.overall, self.v, weight)
            self.lowest = min(self.lowest, target)
            self.highest = max(self.highest, target)
        slot = self.pool.push(x, self.v, weight, self.n_seen)
        with nogil:
            ok = self.step(slot, 0, self.n_alive)
            if isfinite(self.log_predictive):
                self.log_evidence += self.log_predictive
            self.n_alive = self.n_particles
            if self.n_seen % self.window == 0 or self.n_seen & (self.n_seen - 1) == 0:
                self.refresh()
        if self.n_decays > 1:
            self.mutate()
        if not ok:
            raise MemoryError("some trees could not move; the sample is learned")
        return 0

    def retire(self, int slot):
        """Move an active point into the priors of its leaves."""
        if not 0 <= slot < self.pool.capacity or self.pool.arrival[slot] < 0:
            raise ValueError(f"no active point in slot {slot}")
        self.retire_slot(slot)

    def oldest(self):
        """Slot of the active point that arrived first."""
        cdef int slot, oldest = -1
        for slot in range(self.pool.capacity):
            if self.pool.arrival[slot] >= 0 and (
                oldest < 0 or self.pool.arrival[slot] < self.pool.arrival[oldest]
            ):
                oldest = slot
        return oldest

    def random(self):
        """Slot of an active point drawn at random."""
        cdef Rng rng = rng_for(self.seed, 0, self.n_seen, DISCARD)
        cdef int left = <int>below(&rng, self.pool.size), slot = 0
        while self.pool.arrival[slot] < 0 or left > 0:
            left -= self.pool.arrival[slot] >= 0
            slot += 1
        return slot

    cdef int find(self, object x) except -1:
        """Find the leaves of x for a prediction."""
        self.schema.encode(x)
        self.adapt()
        self.fill_v(self.schema.row, 0.0)
        self.gather(self.schema.row, 0, self.n_alive)
        return 0

    cdef const double* faded(self, int visit) noexcept nogil:
        """Statistics of a leaf that was found, as the next sample will meet them."""
        cdef int leaf = self.grove.nodes[self.visits[visit].node].left
        cdef double decay = self.grove.leaves[leaf].decay
        if decay == 1.0 or self.reference:
            return self.grove.total(leaf)
        memcpy(self.row_child, self.grove.total(leaf), self.model.width * sizeof(double))
        scale(&self.model, self.row_child, pow(
            decay, <double>(self.n_seen + 1 - self.grove.leaves[leaf].time)))
        return self.row_child

    cdef double clamped(self, double mean) noexcept nogil:
        """No leaf answers outside the range of the targets seen, however far off x lies."""
        return min(max(mean, self.lowest), self.highest)

    def predict(self, x):
        """Mean over the particles of the predictive mean at x; 0 before the first sample."""
        cdef double total = 0.0
        cdef int visit
        cdef Predictive student
        self.find(x)
        if self.n_seen == 0:
            return 0.0
        for visit in range(self.n_visits):
            student = predictive(&self.model, self.faded(visit), self.v)
            total += self.visits[visit].n_particles * self.clamped(student.mean)
        return self.clamped(total / self.n_alive)

    def mixture(self, x):
        """(mean, squared scale, degrees of freedom, weight) per distinct leaf at x."""
        cdef int visit
        cdef Predictive student
        self.find(x)
        parts = []
        for visit in range(self.n_visits):
            student = predictive(&self.model, self.faded(visit), self.v)
            parts.append((self.clamped(student.mean), student.scale2, student.df,
                          <double>self.visits[visit].n_particles / self.n_alive))
        return parts

    def probabilities(self, x):
        """Every label learned so far and its mean predictive probability at x."""
        cdef int visit, k
        cdef const double* row
        cdef double share, total = 0.0, a = self.model.concentration
        cdef double* answer = self.model.prior      # scratch here: no other use in classification
        self.find(x)
        memset(answer, 0, self.model.width * sizeof(double))
        for visit in range(self.n_visits):
            row = self.faded(visit)
            share = self.visits[visit].n_particles / (
                self.n_alive * (row[0] + a * self.model.n_classes))
            for k in range(self.model.n_classes):
                answer[k] += share * (row[1 + k] + a)
        for k in range(self.model.n_classes):
            total += answer[k]
        return {label: answer[<int>k] / total for k, label in enumerate(self.labels.labels)}

    def describe(self, int particle):
        """The nodes of one tree in preorder, as dicts of plain values."""
        cdef Node* here
        cdef double score
        cdef int n_active, node, parent, is_left, number
        cdef double* row = self.row_other
        cdef bint is_linear
        self.looking = True
        found = []
        stack = [(self.roots[particle], -1, False)]
        while stack:
            node, parent, is_left = stack.pop()
            here = &self.grove.nodes[node]
            number = len(found)
            if parent >= 0:
                found[parent]["left" if is_left else "right"] = number
            self.sum_subtree(node, row, &score, &n_active)
            found.append({
                "node": number, "parent": parent, "depth": here.depth, "left": -1, "right": -1,
                "feature": here.feature, "threshold": here.cut, "nominal": here.nominal,
                "missing_left": here.missing_left, "weight": row[0],
                "active": n_active, "retired": row[self.model.width],
                "gain": max(0.0, score - self.log_stop[here.depth] - log_marginal(
                    &self.model, row, True, &is_linear)) if here.feature >= 0 else 0.0,
                "values": [row[i] for i in range(1, self.model.width)]
                if self.model.multinomial
                else [row[self.model.n_regressors + 1], row[self.model.width - 1]],
            })
            if here.feature >= 0:
                stack += [(here.right, number, False), (here.left, number, True)]
        self.looking = False
        return found

    def forgetting_factors(self):
        """Per particle: its forgetting factor."""
        cdef int particle, node
        factors = []
        for particle in range(self.n_alive):
            node = self.roots[particle]
            while self.grove.nodes[node].feature >= 0:
                node = self.grove.nodes[node].left
            factors.append(self.grove.leaves[self.grove.nodes[node].left].decay)
        return factors

    def split_shares(self):
        """Per particle and column: share of the column in the splits of the tree."""
        cdef int node
        answers = []
        for particle in range(self.n_alive):
            shares = [0.0] * self.pool.n_columns
            stack = [self.roots[<int>particle]]
            n_splits = max(1, self.grove.nodes[self.roots[<int>particle]].n_leaves - 1)
            while stack:
                node = stack.pop()
                if self.grove.nodes[node].feature >= 0:
                    shares[self.grove.nodes[node].feature] += 1.0 / n_splits
                    stack += [self.grove.nodes[node].left, self.grove.nodes[node].right]
            answers.append(shares)
        return answers

    def tree_statistics(self):
        """Per particle: number of leaves and height, the number of splits on the longest path."""
        cdef int particle, node, deepest
        leaves, heights = [], []
        for particle in range(self.n_alive):
            stack = [self.roots[particle]]
            deepest = 0
            while stack:
                node = stack.pop()
                if self.grove.nodes[node].feature >= 0:
                    stack += [self.grove.nodes[node].left, self.grove.nodes[node].right]
                else:
                    deepest = max(deepest, self.grove.nodes[node].depth)
            leaves.append(self.grove.nodes[self.roots[particle]].n_leaves)
            heights.append(deepest)
        return leaves, heights

    # --- State ------------------------------------------------------------------------------

    def _settings(self):
        return (
            self.n_particles, self.window, self.model.multinomial, self.linear,
            self.min_samples_leaf, self.alpha, self.beta,
            [self.decays[i] for i in range(self.n_decays)], self.prior_weight,
            self.reference, self.cuts_by_range, self.seed,
        )

    def _distinct(self):
        """The nodes that any particle holds, each once, in an order that only depends on shapes."""
        numbers = {}
        for particle in range(self.n_alive):
            stack = [self.roots[<int>particle]]
            while stack:
                node = stack.pop()
                if node not in numbers:
                    numbers[node] = len(numbers)
                    if self.grove.nodes[<int>node].feature >= 0:
                        stack += [self.grove.nodes[<int>node].right,
                                  self.grove.nodes[<int>node].left]
        return numbers

    def _state(self):
        cdef int node, leaf, q = self.model.n_regressors
        cdef Py_ssize_t i, width = 2 * self.model.width
        numbers = self._distinct()
        shape = np.zeros((len(numbers), 7), dtype=np.int32)
        cuts = np.zeros(len(numbers))
        leaves = [node for node in numbers if self.grove.nodes[<int>node].feature < 0]
        times = np.zeros((len(leaves), 2), dtype=np.int64)
        cached = np.zeros((len(leaves), 2))
        rows = np.zeros((len(leaves), width))
        slots = []
        for node, i in numbers.items():
            here = self.grove.nodes[node]
            inner = here.feature >= 0
            shape[i] = (here.feature, numbers[here.left] if inner else -1,
                        numbers[here.right] if inner else -1, here.n_leaves, here.depth,
                        here.nominal, here.missing_left)
            cuts[i] = here.cut
        for i in range(len(leaves)):
            leaf = self.grove.nodes[<int>leaves[i]].left
            times[i] = self.grove.leaves[leaf].time, self.grove.leaves[leaf].n_active
            cached[i] = self.grove.leaves[leaf].log_marginal, self.grove.leaves[leaf].decay
            for j in range(width):
                rows[i, j] = self.grove.rows[leaf * width + <int>j]
            slots += [self.grove.slots[self.grove.leaves[leaf].slots + <int>j]
                      for j in range(self.grove.leaves[leaf].n_active)]
        return (
            self.schema, self.labels, self.pool, self.model.n_classes,
            [self.overall[j] for j in range(self.model.width)],
            [self.model.prior[j] for j in range(self.model.width)]
            if not self.model.multinomial else [],
            self.model.df_offset, self.model.per_leaf,
            [self.fill[j] for j in range(q)], [self.fill_weight[j] for j in range(q)],
            self.lowest, self.highest, self.n_seen, self.n_steps, self.log_evidence,
            self.log_predictive, [numbers[self.roots[j]] for j in range(self.n_alive)],
            shape.tobytes(), cuts.tobytes(), times.tobytes(), cached.tobytes(), rows.tobytes(),
            np.array(slots, dtype=np.int32).tobytes(),
        )

    def _restore(self, state):
        cdef int i, j, node, leaf, start, n_leaves = 0, q
        cdef Py_ssize_t width
        (self.schema, self.labels, pool, n_classes, overall, prior, df_offset, per_leaf, fill,
         fill_weight,         self.lowest, self.highest, self.n_seen, self.n_steps, self.log_evidence,
         self.log_predictive, roots, shape, cuts, times, cached, rows, slots) = state
        self.adapt()
        self.widen(self.pool.n_columns, self.model.n_regressors, n_classes)
        self.pool = pool
        q, width = self.model.n_regressors, 2 * self.model.width
        for i in range(self.model.width):
            self.overall[i] = overall[i]
        for i in range(q):
            self.fill[i], self.fill_weight[i] = fill[i], fill_weight[i]
        self.set_prior()
        for i in range(len(prior)):
            self.model.prior[i] = prior[i]
        self.model.df_offset, self.model.per_leaf = df_offset, per_leaf
        cdef const int[:, ::1] shapes = np.frombuffer(shape, dtype=np.int32).reshape(-1, 7)
        cdef const double[::1] cut = np.frombuffer(cuts)
        cdef const int64_t[:, ::1] time = np.frombuffer(times, dtype=np.int64).reshape(-1, 2)
        cdef const double[:, ::1] cache = np.frombuffer(cached).reshape(-1, 2)
        cdef const double[:, ::1] row = np.frombuffer(rows).reshape(-1, width)
        cdef const int[::1] slot = np.frombuffer(slots, dtype=np.int32)
        self.grove = Grove(self.model.width)
        if not self.grove.reserve(
            shapes.shape[0], time.shape[0], 2 * slot.shape[0] + MIN_BLOCK * time.shape[0]
        ):
            raise MemoryError
        start = 0
        for i in range(shapes.shape[0]):
            if shapes[i, 0] >= 0:
                node = self.grove.new_node()
                self.grove.nodes[node].left, self.grove.nodes[node].right = (
                    shapes[i, 1], shapes[i, 2])
            else:
                node = self.grove.new_leaf(shapes[i, 4], <int>time[n_leaves, 1])
                leaf = self.grove.nodes[node].left
                self.grove.leaves[leaf].time = time[n_leaves, 0]
                self.grove.leaves[leaf].decay = cache[n_leaves, 1]
                for j in range(width):
                    self.grove.rows[leaf * width + j] = row[n_leaves, j]
                for j in range(<int>time[n_leaves, 1]):
                    self.grove.add_slot(&self.grove.leaves[leaf], slot[start + j])
                start += <int>time[n_leaves, 1]
                self.finish_leaf(node)
                self.grove.leaves[leaf].log_marginal = cache[n_leaves, 0]
                n_leaves += 1
            self.grove.nodes[node].feature = shapes[i, 0]
            self.grove.nodes[node].cut = cut[i]
            self.grove.nodes[node].n_leaves = shapes[i, 3]
            self.grove.nodes[node].depth = <short>shapes[i, 4]
            self.grove.nodes[node].nominal = shapes[i, 5]
            self.grove.nodes[node].missing_left = shapes[i, 6]
            self.grove.nodes[node].refs = 0
        for i in range(shapes.shape[0]):
            if shapes[i, 0] >= 0:
                self.grove.hold(shapes[i, 1])
                self.grove.hold(shapes[i, 2])
        self.n_alive = len(roots)
        for i in range(self.n_alive):
            self.roots[i] = roots[i]
            self.grove.hold(self.roots[i])

    def __reduce__(self):
        return _cloud_from_state, (self._settings(), self._state())

    def distinct_roots(self):
        """(root, number of particles) of each distinct tree."""
        found = {}
        for particle in range(self.n_alive):
            found[self.roots[<int>particle]] = found.get(self.roots[<int>particle], 0) + 1
        return list(found.items())

    def nodes(self, int root):
        """Nodes of the tree at a root in preorder, left before right, as plain values.

        Statistics of a leaf are as of its time, the number of samples seen when it last faded.
        """
        cdef int id
        cdef Node* node
        cdef Leaf* leaf
        found = []
        stack = [root]
        while stack:
            id = stack.pop()
            assert 0 <= id < self.grove.n_nodes and self.grove.nodes[id].refs > 0
            node = &self.grove.nodes[id]
            entry = {"node": id, "depth": node.depth, "feature": node.feature,
                     "n_leaves": node.n_leaves, "refs": node.refs}
            if node.feature >= 0:
                entry.update(left=node.left, right=node.right, threshold=node.cut,
                             nominal=bool(node.nominal), missing_left=bool(node.missing_left))
                stack += [node.right, node.left]
            else:
                leaf = &self.grove.leaves[node.left]
                entry.update(
                    slots=[self.grove.slots[leaf.slots + i] for i in range(leaf.n_active)],
                    total=[self.grove.total(node.left)[i] for i in range(self.model.width)],
                    retired=[self.grove.retired(node.left)[i] for i in range(self.model.width)],
                    time=leaf.time, decay=leaf.decay, log_marginal=leaf.log_marginal)
            found.append(entry)
        return found

    def check(self):
        """Raise AssertionError if an invariant is broken."""
        cdef int id
        self.pool.check()
        refs, seen = {}, {}
        for root, n in self.distinct_roots():
            refs[root] = refs.get(root, 0) + n
            held = []
            for node in self.nodes(root):
                id = node["node"]
                if node["feature"] < 0:
                    held += node["slots"]
                    self.check_leaf(node)
                else:
                    left, right = node["left"], node["right"]
                    assert node["n_leaves"] == (
                        self.grove.nodes[<int>left].n_leaves
                        + self.grove.nodes[<int>right].n_leaves)
                    assert self.grove.nodes[<int>left].depth == node["depth"] + 1
                    assert self.grove.nodes[<int>right].depth == node["depth"] + 1
                    if id not in seen:
                        refs[left] = refs.get(left, 0) + 1
                        refs[right] = refs.get(right, 0) + 1
                seen[id] = node["refs"]
            assert sorted(held) == sorted(self.pool.slots()), "a tree holds each point once"
            self.check_routes(root)
        assert refs == seen, "references are counted"
        assert len(seen) == self.grove.nodes_in_use
        assert sum(self.grove.nodes[<int>id].feature < 0 for id in seen) == (
            self.grove.leaves_in_use)

    def check_leaf(self, node):
        """Statistics are those of the active points and the retired ones together."""
        cdef int i, slot
        cdef Leaf* leaf = &self.grove.leaves[self.grove.nodes[<int>node["node"]].left]
        cdef double* row = self.row_small
        memcpy(row, self.grove.retired(self.grove.nodes[<int>node["node"]].left),
               self.model.width * sizeof(double))
        for slot in node["slots"]:
            add_sample(&self.model, row, self.pool.v + slot * self.pool.size_v,
                       self.weight_at(slot, leaf))
        for i in range(self.model.width):
            expected, found = row[i], node["total"][i]
            scale_of = 1.0 + fabs(expected) + sum(fabs(value) for value in node["total"])
            assert fabs(expected - found) <= 1e-6 * scale_of, (i, expected, found)

    def check_routes(self, int root):
        """Every active point lies in the leaf that its features lead to."""
        cdef int node, slot, i
        for slot in self.pool.slots():
            node = root
            while self.grove.nodes[node].feature >= 0:
                node = side(&self.grove.nodes[node], self.pool.x + slot * self.pool.n_columns)
            i = self.grove.nodes[node].left
            leaf_slots = [self.grove.slots[self.grove.leaves[i].slots + k]
                          for k in range(self.grove.leaves[i].n_active)]
            assert slot in leaf_slots, (slot, root)

    def __sizeof__(self):
        cdef size_t columns = max(1, self.pool.n_columns)
        return (
            object.__sizeof__(self)
            + 2 * self.n_particles * (
                5 * sizeof(int) + sizeof(double) + sizeof(Visit) + sizeof(Group) + sizeof(Cut))
            + (8 * self.model.width + scratch_size(self.model.n_regressors)) * sizeof(double)
            + self.scratch_capacity * (columns * (sizeof(int) + 2 * sizeof(double))
                                       + 2 * sizeof(double))
            + (self.model.n_regressors + 1) * (3 * sizeof(double) + sizeof(int)) + columns
        )


def _cloud_from_state(settings, state):
    cdef Cloud cloud = Cloud(*settings)
    cloud._restore(state)
    return cloud


cdef inline double between(double lower, double upper, double u) noexcept nogil:
    """A threshold that keeps `lower` left and `upper` right."""
    cdef double threshold = (1.0 - u) * lower + u * upper
    return threshold if lower <= threshold < upper else lower


cdef inline double odds(double log_odds) noexcept nogil:
    """Odds from their logarithm; 0 where there are none."""
    return exp(min(log_odds, LARGEST_LOG_ODDS)) if log_odds == log_odds else 0.0


cdef inline double limited(double value) noexcept nogil:
    """A regressor whose products with others stay finite."""
    return min(max(value, -LARGEST_REGRESSOR), LARGEST_REGRESSOR)
