"""One step of particle learning. See the header.

Equations and sections are those of Anagnostopoulos and Gramacy (2013).
"""

from libc.math cimport INFINITY, exp, isfinite, isnan, log, pow
from libc.string cimport memcpy

from ..linalg cimport add_sample, scale
from ..moments cimport follow_mean
from ..rng cimport DISCARD, RESAMPLE, Rng, below, rng_for, uniform
from .leaf_models cimport log_marginal
from .leaves cimport finish_leaf, refresh, sum_slots, update_time, weigh_samples, weight_at
from .moves cimport move_all
from .particles cimport MAX_DECAYS, MOST_PROPOSALS, ParticleFilter, fades_by_leaf
from .pool cimport v_of, x_of
from .shared_trees cimport MAX_DEPTH, MIN_BLOCK, Leaf, Node, side

LARGEST_REGRESSOR = 1e50

# Tolerance for expected numbers of copies that are whole numbers.
cdef double ROUNDING = 1e-9

# Exponent of the posterior of the forgetting factors, by which old evidence is forgotten, as in
# dynamic model averaging (Raftery, Karny and Ettler 2010, section 3). It reduced the accuracy of
# classifiers, which do not use it.
cdef double BELIEF_KEPT = 0.95, BELIEF_KEPT_OF_CLASSIFIER = 1.0
# Probability of a switch to a random factor before each sample, as in fixed share (Herbster and
# Warmuth 1998). It is the largest log loss per sample on a stream that does not change, so it is
# small. It is not smaller, because every factor keeps SWITCH / K of the posterior, and the log of
# this is the evidence that the factor needs to return.
cdef double SWITCH = 0.01, SWITCH_OF_CLASSIFIER = 0.005


# --- The leaves of a sample -----------------------------------------------------------------

cdef void fill_v(ParticleFilter filter, const double* x, double target) noexcept nogil:
    """Fill v of a sample; the running mean replaces a missing regressor."""
    cdef int i
    cdef double value
    for i in range(filter.model.n_regressors):
        value = x[filter.regressors[i]]
        filter.v[i] = filter.fill[i] if isnan(value) else limited(value)
    filter.v[filter.model.n_regressors] = target


cdef void next_epoch(ParticleFilter filter) noexcept nogil:
    """Start a new epoch, which invalidates the memos of all nodes."""
    cdef int node
    filter.epoch += 1
    if filter.epoch == 0:      # overflow: reset the stamps, so that no old one looks current
        for node in range(filter.trees.n_nodes):
            filter.trees.nodes[node].stamp = 0
        filter.epoch = 1


cdef void gather(ParticleFilter filter, const double* x, int first, int stop) noexcept nogil:
    """Find the distinct leaves (hits) and leaf-parent pairs of x.

    A node that has been visited in this epoch remembers the pair below it, so that each distinct
    node is visited once.
    """
    cdef Node* nodes = filter.trees.nodes
    cdef int path[MAX_DEPTH + 2]
    cdef int particle, node, n_path, i, pair
    next_epoch(filter)
    filter.n_hits = filter.n_pairs = 0
    for particle in range(first, stop):
        node = filter.roots[particle]
        if particle > first and node == filter.roots[particle - 1]:
            pair = filter.pair_of[particle - 1]
        else:
            n_path = 0
            while nodes[node].split.feature >= 0 and nodes[node].stamp != filter.epoch:
                path[n_path] = node
                n_path += 1
                node = side(&nodes[node], x)
            if nodes[node].split.feature >= 0:
                pair = nodes[node].memo
            else:
                if nodes[node].stamp != filter.epoch:
                    nodes[node].stamp = filter.epoch
                    nodes[node].memo = filter.n_hits
                    filter.hits[filter.n_hits].node = node
                    filter.hits[filter.n_hits].share = 0.0
                    filter.n_hits += 1
                pair = filter.n_pairs
                filter.pairs[pair].hit = nodes[node].memo
                filter.pairs[pair].parent = path[n_path - 1] if n_path else -1
                filter.n_pairs += 1
            for i in range(n_path):
                nodes[path[i]].stamp = filter.epoch
                nodes[path[i]].memo = pair
        filter.pair_of[particle] = pair
        filter.hits[filter.pairs[pair].hit].share += filter.share[particle]


cdef int reserve_step(ParticleFilter filter) except -1 nogil:
    """Allocate all memory that a step may need in the trees, after `gather`.

    Every particle moves at most once. It then needs a copy of its path, and new leaves, which
    particles with the same move share: two for a cut, one for a pruned parent.
    """
    cdef size_t n_cuts = 0, n_prunes = 0, n_nodes, n_leaves, n_cells = 0
    cdef int hit, pair, depth = 0, largest = 0
    cdef const Leaf* leaf
    cdef const Node* node
    for hit in range(filter.n_hits):
        node = &filter.trees.nodes[filter.hits[hit].node]
        leaf = &filter.trees.leaves[node.left]
        depth = max(depth, node.depth)
        if leaf.n_active == MIN_BLOCK << leaf.block:        # full
            n_cells += MIN_BLOCK << (leaf.block + 1)
        if (leaf.n_active + 1) // 2 >= filter.min_samples_leaf:
            n_cuts += filter.n_particles if filter.published else MOST_PROPOSALS
            largest = max(largest, leaf.n_active)
    for pair in range(filter.n_pairs):
        n_prunes += filter.pairs[pair].parent >= 0
    n_cuts = min(n_cuts, <size_t>filter.n_particles)
    n_nodes = <size_t>filter.n_particles * (depth + 3)
    n_leaves = 2 * n_cuts + n_prunes
    # A block is at most twice as long as its content, and at least MIN_BLOCK.
    n_cells += n_cuts * 2 * (largest + 1 + MIN_BLOCK)
    n_cells += n_prunes * 2 * (filter.pool.size + 1 + MIN_BLOCK)
    filter.trees.reserve(n_nodes, n_leaves, n_cells)
    return 0


cdef double limited(double value) noexcept nogil:
    """Limit a regressor, so that products with others are finite."""
    return min(max(value, -LARGEST_REGRESSOR), LARGEST_REGRESSOR)


# --- Learning ------------------------------------------------------------------------------

cdef void learn_row(ParticleFilter filter, double target, double weight) noexcept nogil:
    """Learn the row that the schema encoded last; `reserve` has found its leaves."""
    cdef int slot, i
    cdef const double* x = filter.schema.row
    filter.n_seen += 1
    for i in range(filter.model.n_regressors):
        if not isnan(x[filter.regressors[i]]):
            filter.fill_weight[i] += weight
            follow_mean(&filter.fill[i], limited(x[filter.regressors[i]]), weight,
                        filter.fill_weight[i])
    fill_v(filter, x, target)
    if not filter.model.multinomial:
        scale(&filter.model, filter.global_statistics, 1.0 - 0.1 / filter.window)
        add_sample(&filter.model, filter.global_statistics, filter.v, weight)
        filter.lowest = min(filter.lowest, target)
        filter.highest = max(filter.highest, target)
    slot = filter.pool.push(x, filter.v, weight, filter.n_seen)
    step(filter, slot, 0, filter.n_alive)
    filter.log_evidence += filter.log_predictive            # p(y^T | x^T), section 2.3
    filter.n_alive = filter.n_particles
    if filter.n_seen % filter.window == 0 or filter.n_seen & (filter.n_seen - 1) == 0:
        refresh(filter)
        compact(filter)


cdef void compact(ParticleFilter filter) noexcept with gil:
    """Compact the arena of the trees."""
    try:
        filter.trees = filter.trees.compacted(filter.roots, filter.n_alive)
    except MemoryError:
        pass        # the old arena remains valid


cdef void step(ParticleFilter filter, int slot, int first, int stop) noexcept nogil:
    """Weigh, resample, add, move: the recursion of section 2.3. After `gather`, `reserve_step`.

    The sample is added first, to each distinct leaf, because its log predictive density is the
    increase of the log marginal likelihood of the leaf. This order does not change the result of
    the resampling.
    """
    cdef const double* x = x_of(filter.pool, slot)
    filter.n_steps += 1
    add_to_leaves(filter, slot)
    filter.log_predictive = weigh(filter, first, stop)
    if first == 0:      # a sample of the stream, not of a rejuvenation
        update_factor_posterior(filter)
    resample(filter, first)
    move_all(filter, x, first, first + filter.n_particles)


cdef void add_to_leaves(ParticleFilter filter, int slot) noexcept nogil:
    """Add the sample to each distinct leaf, and store its log predictive density there."""
    cdef const double* v = v_of(filter.pool, slot)
    cdef double weight
    cdef double before, after
    cdef int hit, leaf
    cdef bint was_linear, dummy
    cdef Leaf* here
    for hit in range(filter.n_hits):
        leaf = filter.trees.nodes[filter.hits[hit].node].left
        update_time(filter, leaf)
        here = &filter.trees.leaves[leaf]
        before, was_linear = here.log_marginal, here.is_linear
        weight = weight_at(filter, slot, here)
        add_sample(&filter.model, filter.trees.total(leaf), v, weight)
        filter.trees.add_slot(here, slot)
        finish_leaf(filter, leaf)
        after = here.log_marginal
        if here.is_linear != was_linear:    # compare marginal likelihoods of the same model
            after = log_marginal(&filter.model, filter.trees.total(leaf), was_linear, &dummy)
        if before == -INFINITY:     # no density without variance; weight 0, as in dynaTree
            filter.hits[hit].log_weight = -INFINITY
        else:
            filter.hits[hit].log_weight = after - before


cdef double weigh(ParticleFilter filter, int first, int stop) noexcept nogil:
    """Compute the weights p(y | T, x) of the particles, section 2.3.

    Returns the log of their mean; 0 if no leaf has a density.
    """
    cdef double largest = -INFINITY, total = 0.0
    cdef int hit, particle
    for hit in range(filter.n_hits):
        if isnan(filter.hits[hit].log_weight):      # no proper predictive, or sums of a forged file
            filter.hits[hit].log_weight = 0.0
        if filter.hits[hit].log_weight > largest:
            largest = filter.hits[hit].log_weight
    if not isfinite(largest):
        for particle in range(first, stop):
            filter.weights[particle] = 1.0
        return 0.0
    for hit in range(filter.n_hits):
        filter.hits[hit].log_weight = exp(filter.hits[hit].log_weight - largest)
        total += filter.hits[hit].log_weight * filter.hits[hit].share
    for particle in range(first, stop):
        filter.weights[particle] = (
            filter.hits[filter.pairs[filter.pair_of[particle]].hit].log_weight)
    return largest + log(total)


cdef void resample(ParticleFilter filter, int first) noexcept nogil:
    """Resample every stratum, after the number of its particles has been determined."""
    cdef Rng rng = rng_for(filter.seed, 0, filter.n_steps, RESAMPLE)
    cdef int stratum[MAX_DECAYS + 1]
    cdef int k
    divide_particles(filter, stratum)
    if filter.published:
        draw_residual(filter, &rng, first, first + filter.stratum[1], filter.n_particles)
    else:
        for k in range(filter.n_decays):
            draw(filter, uniform(&rng), first + filter.stratum[k], first + filter.stratum[k + 1],
                 stratum[k], stratum[k + 1])
    memcpy(filter.roots + first, filter.resampled, filter.n_particles * sizeof(int))
    memcpy(filter.pair_of + first, filter.resampled_pairs, filter.n_particles * sizeof(int))
    memcpy(filter.stratum, stratum, sizeof(stratum))
    set_shares(filter, first)


cdef void draw(ParticleFilter filter, double u, int first, int stop, int n,
               int n_end) noexcept nogil:
    """Systematic resampling of particles `first` to `stop` into places `n` to `n_end`.

    The number of copies of a particle is its normalised weight times the number of places, rounded
    down or up, as in residual resampling. The copies are adjacent. If all weights are equal and
    the number of places does not change, nothing changes.
    """
    cdef double total = 0.0, cumulative = n
    cdef int particle, copies, places = n_end - n
    cdef bint equal = True
    for particle in range(first, stop):
        total += filter.weights[particle]
        equal = equal and filter.weights[particle] == filter.weights[first]
    for particle in range(first, stop):
        if equal and stop - first == places:
            cumulative += 1.0
        elif total > 0.0:
            cumulative += filter.weights[particle] * places / total
        else:                   # all weights have underflowed
            cumulative += <double>places / (stop - first)
        copies = n
        while n < n_end and (n + u < cumulative or particle == stop - 1):
            filter.resampled[n] = filter.roots[particle]
            filter.resampled_pairs[n] = filter.pair_of[particle]
            n += 1
        filter.trees.count(filter.roots[particle], n - copies - 1)


cdef void draw_residual(ParticleFilter filter, Rng* rng, int first, int stop,
                        int n_end) noexcept nogil:
    """Residual resampling of particles `first` to `stop` into `n_end` places, for dynaTree.

    A particle with an expected number of copies w gets floor(w). The remaining places are drawn
    independently with probabilities proportional to w - floor(w), in ascending order.
    """
    cdef double total = 0.0, rest = 0.0, passed = 0.0, due, place
    cdef int particle, copies, n = 0, n_left = n_end
    for particle in range(first, stop):
        total += filter.weights[particle]
    for particle in range(first, stop):
        due = filter.weights[particle] * n_end / total if total > 0.0 else (
            <double>n_end / (stop - first))
        filter.weights[particle] = due
        n_left -= <int>(due + ROUNDING)
        rest += max(0.0, due - <int>(due + ROUNDING))
    place = first_of(rng, n_left)
    for particle in range(first, stop):
        copies = <int>(filter.weights[particle] + ROUNDING)
        passed += max(0.0, filter.weights[particle] - copies) / rest if rest > 0.0 else 0.0
        while n_left > 0 and (place < passed or particle == stop - 1):
            copies += 1
            n_left -= 1
            place += (1.0 - place) * first_of(rng, n_left)
        for _ in range(copies):
            filter.resampled[n] = filter.roots[particle]
            filter.resampled_pairs[n] = filter.pair_of[particle]
            n += 1
        filter.trees.count(filter.roots[particle], copies - 1)


cdef double first_of(Rng* rng, int n) noexcept nogil:
    """Draw the smallest of n uniform random numbers."""
    return 1.0 - pow(1.0 - uniform(rng), 1.0 / n) if n > 0 else 1.0


# --- Forgetting factors --------------------------------------------------------------------


cdef int add_roots(ParticleFilter filter, int first) except -1:
    """Make an empty tree per forgetting factor, for its particles from `first` on."""
    cdef int node, leaf, particle, k
    filter.trees.reserve(filter.n_decays, filter.n_decays, filter.n_decays * MIN_BLOCK)
    divide_particles(filter, filter.stratum)
    set_shares(filter, first)
    for k in range(filter.n_decays):
        node = filter.trees.new_leaf(0, filter.trees.new_region(), MIN_BLOCK)
        leaf = filter.trees.nodes[node].left
        filter.trees.leaves[leaf].decay = filter.decays[k]
        filter.trees.leaves[leaf].time = filter.n_seen
        finish_leaf(filter, leaf)
        for particle in range(filter.stratum[k], filter.stratum[k + 1]):
            filter.roots[first + particle] = node
        filter.trees.count(node, filter.stratum[k + 1] - filter.stratum[k] - 1)
    return 0


cdef void divide_particles(ParticleFilter filter, int* stratum) noexcept nogil:
    """Compute the bounds of the strata: half of the particles by posterior, half evenly."""
    cdef int k, n_strata = filter.n_decays
    cdef int least = max(1, filter.n_particles // (2 * n_strata))
    cdef int free = filter.n_particles - n_strata * least
    cdef double reached = 0.0
    stratum[0] = 0
    for k in range(n_strata):
        reached += filter.factor_posterior[k]
        stratum[k + 1] = (k + 1) * least + <int>(reached * free + 0.5)
    stratum[n_strata] = filter.n_particles


cdef void update_factor_posterior(ParticleFilter filter) noexcept nogil:
    """Update the posterior of the forgetting factors by Bayes' rule, then allow for a switch.

    With the predictive density f(k) of the particles of factor k, a = `BELIEF_KEPT` and K factors:
    p(k) = (1 - SWITCH) * (p(k) f(k)) ** a / sum over j of (p(j) f(j)) ** a + SWITCH / K
    """
    cdef int k, particle
    cdef double joint, total = 0.0
    cdef double power = BELIEF_KEPT if filter.regression else BELIEF_KEPT_OF_CLASSIFIER
    cdef double switched = SWITCH if filter.regression else SWITCH_OF_CLASSIFIER
    for k in range(filter.n_decays):
        joint = 0.0
        for particle in range(filter.stratum[k], filter.stratum[k + 1]):
            joint += filter.share[particle] * filter.weights[particle]
        filter.factor_posterior[k] = pow(joint, power)
        total += filter.factor_posterior[k]
    for k in range(filter.n_decays):
        filter.factor_posterior[k] = (
            (1.0 - switched) * filter.factor_posterior[k] / total + switched / filter.n_decays)


cdef void set_shares(ParticleFilter filter, int first) noexcept nogil:
    """Divide the posterior probability of each forgetting factor evenly among its particles."""
    cdef int k, particle
    for k in range(filter.n_decays):
        for particle in range(first + filter.stratum[k], first + filter.stratum[k + 1]):
            filter.share[particle] = (
                filter.factor_posterior[k] / (filter.stratum[k + 1] - filter.stratum[k]))


# --- Retirement ----------------------------------------------------------------------------


cdef void retire_slot(ParticleFilter filter, int slot) noexcept nogil:
    """Move an active sample into the prior of its leaf, equation (3), once per distinct leaf.

    The hits and pairs of the last `gather` remain valid.
    """
    cdef Node* nodes = filter.trees.nodes
    cdef const double* x = x_of(filter.pool, slot)
    cdef int particle, node
    next_epoch(filter)
    for particle in range(filter.n_alive):
        node = filter.roots[particle]
        while nodes[node].stamp != filter.epoch:      # visited nodes are done
            nodes[node].stamp = filter.epoch
            if nodes[node].split.feature < 0:
                retire_from(filter, node, slot)
                break
            node = side(&nodes[node], x)
    filter.pool.release(slot)


cdef void retire_from(ParticleFilter filter, int node, int slot) noexcept nogil:
    """Move an active sample of a leaf into its prior."""
    cdef const double* v = v_of(filter.pool, slot)
    cdef int leaf = filter.trees.nodes[node].left
    cdef Leaf* here = &filter.trees.leaves[leaf]
    cdef double* retired = filter.trees.retired(leaf)
    filter.trees.remove_slot(here, slot)
    if fades_by_leaf(filter):        # power prior, section 5, leaf by leaf
        scale(&filter.model, retired, filter.decays[0])
    add_sample(&filter.model, retired, v, weight_at(filter, slot, here))    # equation (4)
    if fades_by_leaf(filter):        # sum again: subtraction would leave rounding errors
        memcpy(filter.trees.total(leaf), retired, filter.model.width * sizeof(double))
        weigh_samples(filter, leaf)
        sum_slots(filter, filter.trees.slots + here.slots, here.n_active, filter.trees.total(leaf))
        finish_leaf(filter, leaf)


cdef int oldest(ParticleFilter filter) noexcept nogil:
    """Slot of the active sample that arrived first."""
    cdef int slot, first = -1
    for slot in range(filter.pool.capacity):
        if filter.pool.arrival[slot] >= 0 and (
            first < 0 or filter.pool.arrival[slot] < filter.pool.arrival[first]
        ):
            first = slot
    return first


cdef int random(ParticleFilter filter) noexcept nogil:
    """Slot of an active sample drawn at random."""
    cdef Rng rng = rng_for(filter.seed, 0, filter.n_seen, DISCARD)
    cdef int left = <int>below(&rng, filter.pool.size), slot = 0
    while filter.pool.arrival[slot] < 0 or left > 0:
        left -= filter.pool.arrival[slot] >= 0
        slot += 1
    return slot
