"""One step of particle learning, and rejuvenation.

Equations and sections are those of Anagnostopoulos and Gramacy (2013).

Several forgetting factors compete, which the paper leaves as future work at the end of section 5.
Each factor has its own particles. The best factor is a hidden state that may change at every
sample, and the filter computes its posterior distribution by Bayesian model averaging, as in
dynamic model averaging (Raftery, Karny and Ettler 2010) with the switches of fixed share (Herbster
and Warmuth 1998). Fixed share keeps the probability of every factor above zero, so that the filter
returns to a short memory a few samples after a change. In a regression, one such rule forgets old
evidence and another does not; Bayes' rule decides between them in the same way.
"""

from libc.math cimport INFINITY, exp, isfinite, isnan, log, pow
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..linalg cimport add_sample, add_samples, merge, scale
from ..moments cimport follow_mean
from ..rng cimport REJUVENATE, RESAMPLE, Rng, below, rng_for, uniform
from ..shares cimport share_weights
from .leaf_models cimport log_marginal
from .moves cimport move_all
from .particles cimport (
    MAX_DECAYS, MAX_RULES, Particles, Regressor, add_roots, decays_by_leaf, divide_particles,
    features_of, fill_v, finish_leaf, fit_scratch, gather, is_active, is_due, limited, n_rules,
    prior_window, refresh, set_shares, sum_beliefs, update_time, v_of, weigh_samples, weight_at,
)
from .shared_trees cimport Leaf, SharedTrees, side

# Tolerance for expected numbers of copies that are whole numbers.
cdef double ROUNDING = 1e-9

# Two rules learn the probabilities of the forgetting factors of a regression; a classification has
# the third alone. `BELIEF_KEPT` is the exponent of the posterior, by which old evidence is
# forgotten (Raftery, Karny and Ettler 2010, section 3). `SWITCH` is the probability of a switch to
# a random factor before each sample. The first rule follows a drift: every factor keeps SWITCH / K
# of the posterior, and the log of this is the evidence that the factor needs to return. The second
# rule hardly switches: where nothing drifts, evidence that fades would never settle.
cdef double[3] BELIEF_KEPT = [0.95, 1.0, 1.0]
cdef double[3] SWITCH = [0.01, 0.0001, 0.005]
# The same probability for a switch of the rule.
cdef double RULE_SWITCH = 0.001


# --- Learning ------------------------------------------------------------------------------

cdef int learn_row(Particles filter, double target, double weight, int gone) except -1 nogil:
    """Learn the row that the schema encoded last, in place of a retired sample if `gone` >= 0."""
    cdef int slot, i
    cdef const double* x = filter.schema.row
    cdef Regressor* here
    for i in range(filter.model.n_regressors):
        here = &filter.regressors[i]
        if not isnan(x[here.feature]):
            here.fill_weight += weight
            follow_mean(&here.fill, limited(x[here.feature]), weight, here.fill_weight)
    fill_v(filter, x, target)
    if not filter.model.multinomial:
        scale(&filter.model, filter.global_statistics, 1.0 - 0.1 / prior_window(filter))
        add_sample(&filter.model, filter.global_statistics, filter.v, weight)
        filter.lowest = min(filter.lowest, target)
        filter.highest = max(filter.highest, target)
    slot = filter.pool.slide(filter.schema, target, weight, gone)
    memcpy(v_of(filter, slot), filter.v, (filter.model.n_regressors + 1) * sizeof(double))
    if gone < 0:
        filter.drawn[filter.pool.size - 1] = slot
    fit_scratch(filter)
    step(filter, x, slot, 0, filter.n_alive)
    retire_aged(filter)
    filter.log_evidence += filter.log_predictive            # p(y^T | x^T), section 2.3
    filter.n_alive = filter.n_particles
    if is_due(filter):
        refresh(filter)
    return 0


cdef int step(Particles filter, const double* x, int slot, int first, int stop) except -1 nogil:
    """Weigh, resample, add, move: the recursion of section 2.3.

    The sample is added first, to each distinct leaf, because its log predictive density is the
    increase of the log marginal likelihood of the leaf. This order does not change the result of
    the resampling.
    """
    filter.n_steps += 1
    gather(filter, x, first, stop)
    add_to_leaves(filter, slot)
    filter.log_predictive = weigh(filter, first, stop)
    if first == 0:      # a sample of the stream, not of a rejuvenation
        update_factor_posterior(filter)
    resample(filter, first)
    move_all(filter, x, first, first + filter.n_particles)
    return 0


cdef int add_to_leaves(Particles filter, int slot) except -1 nogil:
    """Add the sample to each distinct leaf, and store its log predictive density there."""
    cdef const double* v = v_of(filter, slot)
    cdef double before, after
    cdef int hit
    cdef bint was_linear, dummy
    cdef Leaf* leaf
    for hit in range(filter.n_hits):
        leaf = filter.trees.nodes[filter.hits[hit].node].leaf
        update_time(filter, leaf)
        before, was_linear = leaf.log_marginal, leaf.is_linear
        add_sample(&filter.model, leaf.total, v, weight_at(filter, slot, leaf))
        filter.trees.add_slot(leaf, slot)
        finish_leaf(filter, leaf)
        after = leaf.log_marginal
        if leaf.is_linear != was_linear:    # compare marginal likelihoods of the same model
            after = log_marginal(&filter.model, leaf.total, was_linear, &dummy)
        if before == -INFINITY:     # no density without variance; weight 0, as in dynaTree
            filter.hits[hit].log_weight = -INFINITY
        else:
            filter.hits[hit].log_weight = after - before
    return 0


cdef double weigh(Particles filter, int first, int stop) noexcept nogil:
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


cdef void resample(Particles filter, int first) noexcept nogil:
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


cdef void draw(Particles filter, double u, int first, int stop, int n,
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
        copies = 0
        while n + copies < n_end and (n + copies + u < cumulative or particle == stop - 1):
            copies += 1
        n = copy_particle(filter, particle, n, copies)


cdef int copy_particle(Particles filter, int particle, int n, int copies) noexcept nogil:
    """Put copies of a particle into the places from n on; return the next place."""
    cdef int stop = n + copies
    while n < stop:
        filter.resampled[n] = filter.roots[particle]
        filter.resampled_pairs[n] = filter.pair_of[particle]
        n += 1
    if copies:
        filter.trees.add_references(filter.roots[particle], copies - 1)
    else:
        filter.trees.release(filter.roots[particle])
    return n


cdef void draw_residual(Particles filter, Rng* rng, int first, int stop,
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
        n = copy_particle(filter, particle, n, copies)


cdef double first_of(Rng* rng, int n) noexcept nogil:
    """Draw the smallest of n uniform random numbers."""
    return 1.0 - pow(1.0 - uniform(rng), 1.0 / n) if n > 0 else 1.0


# --- Forgetting factors --------------------------------------------------------------------


cdef void update_factor_posterior(Particles filter) noexcept nogil:
    """Update the posterior of the forgetting factors by Bayes' rule, then allow for a switch.

    Each rule r has a joint probability p(r, k) with every factor k. With the predictive density
    f(k) of the particles of factor k, a = `BELIEF_KEPT`, s = `SWITCH` and K factors:
    p(k | r) = (1 - s) * (p(r, k) f(k)) ** a / sum over j of (p(r, j) f(j)) ** a + s / K
    p(r) = (1 - RULE_SWITCH) * sum over k of p(r, k) f(k) / sum over all rules + RULE_SWITCH / rules
    """
    cdef int rule, k, particle, first = 0 if filter.regression else 2, n = n_rules(filter)
    cdef double joint, evidence = 0.0
    cdef double of_rule[MAX_RULES]
    memset(of_rule, 0, sizeof(of_rule))
    for k in range(filter.n_decays):
        joint = 0.0
        for particle in range(filter.stratum[k], filter.stratum[k + 1]):
            joint += filter.share[particle] * filter.weights[particle]
        evidence += joint
        for rule in range(n):
            filter.belief[rule][k] = joint * (filter.belief[rule][k] / filter.factor_posterior[k])
            of_rule[rule] += filter.belief[rule][k]
            filter.belief[rule][k] = pow(filter.belief[rule][k], BELIEF_KEPT[first + rule])
    for rule in range(n):
        share_weights(filter.belief[rule], filter.n_decays, SWITCH[first + rule], NULL)
        of_rule[rule] = (1.0 - RULE_SWITCH) * (of_rule[rule] / evidence) + RULE_SWITCH / n
        for k in range(filter.n_decays):
            filter.belief[rule][k] *= of_rule[rule]
    sum_beliefs(filter)


# --- Retirement ----------------------------------------------------------------------------


cdef void retire_slot(Particles filter, int slot) noexcept nogil:
    """Move a sample that leaves the pool into the prior of the leaves in which it is active."""
    cdef int k
    for k in range(filter.n_decays):
        if is_active(filter, slot, k):
            retire_in(filter, slot, filter.stratum[k], filter.stratum[k + 1])


cdef void retire_aged(Particles filter) noexcept nogil:
    """In each stratum, retire the sample that is out of reach since the last one was learned."""
    cdef int k, slot
    for k in range(filter.n_decays):
        slot = slot_of_age(filter, filter.reach[k] + 1)
        if slot >= 0:
            retire_in(filter, slot, filter.stratum[k], filter.stratum[k + 1])


cdef int slot_of_age(Particles filter, int age) noexcept nogil:
    """The slot of the sample that came as the last but `age` - 1, or -1 if it has left the pool."""
    cdef const int* slots = filter.pool.by_arrival
    cdef int64_t arrival = filter.pool.n_seen - age
    cdef int first = 0, stop = filter.pool.size, middle
    while first < stop:
        middle = (first + stop) // 2
        if filter.pool.arrival[slots[middle]] < arrival:
            first = middle + 1
        else:
            stop = middle
    if first < filter.pool.size and filter.pool.arrival[slots[first]] == arrival:
        return slots[first]
    return -1


cdef void retire_in(Particles filter, int slot, int first, int stop) noexcept nogil:
    """Move an active sample of the particles `first` to `stop` into the prior of its leaf.

    Equation (3), once per distinct leaf.
    """
    cdef int hit
    gather(filter, features_of(filter, slot), first, stop)
    for hit in range(filter.n_hits):
        retire_from(filter, filter.trees.nodes[filter.hits[hit].node].leaf, slot)


cdef void retire_from(Particles filter, Leaf* leaf, int slot) noexcept nogil:
    """Move an active sample of a leaf into its prior."""
    filter.trees.remove_slot(leaf, slot)
    if decays_by_leaf(filter):        # power prior, section 5, leaf by leaf
        scale(&filter.model, leaf.retired, filter.decays[0])
    add_sample(&filter.model, leaf.retired, v_of(filter, slot),
               weight_at(filter, slot, leaf))                               # equation (4)
    if decays_by_leaf(filter):        # sum again: subtraction would leave rounding errors
        memcpy(leaf.total, leaf.retired, filter.model.width * sizeof(double))
        weigh_samples(filter, leaf)
        add_samples(&filter.model, leaf.total, filter.active_v, leaf.slots, leaf.n_active,
                    filter.sample_weight)
        finish_leaf(filter, leaf)


# --- Rejuvenation ---------------------------------------------------------------------------

cdef int rejuvenate(Particles filter) except -1:
    """Add as many new particles, grown from the active samples in random order.

    Every other new particle inherits the retired statistics of an old one: those of a leaf are
    divided evenly among its active samples, and each part goes to the new leaf of the sample. If a
    leaf has no active samples, those of the smallest subtree around it with any are used. The other
    new particles know the active samples only, which is better after a drift. In dynaTree, all new
    particles do. The next sample resamples the 2 n particles to n.
    """
    cdef int n = filter.n_particles, slot, k
    cdef double log_predictive = filter.log_predictive
    if filter.n_alive > n or filter.pool.size == 0:
        return 0
    fit_scratch(filter)
    slots = shuffled_slots(filter)
    add_roots(filter, n)
    for slot in slots:
        step(filter, features_of(filter, slot), slot, n, 2 * n)
    for slot in slots:
        for k in range(filter.n_decays):
            if not is_active(filter, slot, k):
                retire_in(filter, slot, n + filter.stratum[k], n + filter.stratum[k + 1])
    if not filter.published:
        let_half_inherit(filter)
    filter.log_predictive = log_predictive
    join(filter)
    return 0


cdef list shuffled_slots(Particles filter):
    """Slots of the active samples in random order (Fisher and Yates)."""
    cdef Rng rng = rng_for(filter.seed, 0, filter.n_steps, REJUVENATE)
    cdef int i, j
    slots = filter.pool.slots()
    for i in range(len(slots) - 1, 0, -1):
        j = <int>below(&rng, i + 1)
        slots[i], slots[j] = slots[j], slots[i]
    return slots


cdef int let_half_inherit(Particles filter) except -1:
    """Let every other new particle inherit from an old one; equal trees remain shared."""
    cdef int n = filter.n_particles, particle, root, heir
    heirs = {}
    for particle in range(n, 2 * n, 2):
        root = filter.roots[particle]
        if root in heirs:
            heir = heirs[root]
            filter.trees.add_references(heir, 1)
        else:
            heir = copied(filter, root)
            hand_down(filter, heir, filter.roots[particle - n])
        filter.roots[particle] = heir
        filter.trees.release(root)       # `heirs` is not asked for a freed root again
        heirs[root] = heir
    return 0


cdef void join(Particles filter) noexcept nogil:
    """Move the new particles of each stratum behind its old ones."""
    cdef int k, half, first, stop, n = filter.n_particles, place = 0
    for k in range(filter.n_decays):
        first, stop = filter.stratum[k], filter.stratum[k + 1]
        for half in range(2):
            memcpy(filter.resampled + place, filter.roots + half * n + first,
                   (stop - first) * sizeof(int))
            place += stop - first
    memcpy(filter.roots, filter.resampled, 2 * n * sizeof(int))
    for k in range(filter.n_decays + 1):
        filter.stratum[k] *= 2
    set_shares(filter, 0)
    filter.n_alive = 2 * n


cdef int hand_down(Particles filter, int root, int old) except -1:
    """Add the retired statistics of the leaves of one tree to the leaves of another."""
    cdef int node, part, slot
    cdef const double* x
    cdef Leaf* leaf
    cdef Leaf* heir
    stack = [(old, ())]
    while stack:
        node, around = stack.pop()
        near = slots_below(filter, node) or around
        leaf = filter.trees.nodes[node].leaf
        if leaf == NULL:
            stack += [(filter.trees.nodes[node].left, near),
                      (filter.trees.nodes[node].right, near)]
            continue
        update_time(filter, leaf)
        for slot in near:
            part, x = root, features_of(filter, slot)
            while filter.trees.nodes[part].leaf == NULL:
                part = side(&filter.trees.nodes[part], x)
            heir = filter.trees.nodes[part].leaf
            merge(&filter.model, heir.total, leaf.retired, 1.0 / len(near))
            merge(&filter.model, heir.retired, leaf.retired, 1.0 / len(near))
    for node in filter.trees.below(root):
        if filter.trees.nodes[node].leaf != NULL:
            finish_leaf(filter, filter.trees.nodes[node].leaf)
    return 0


cdef list slots_below(Particles filter, int node):
    """Slots of the active samples of a subtree."""
    cdef int i
    cdef const Leaf* leaf
    found = []
    for node in filter.trees.below(node):
        leaf = filter.trees.nodes[node].leaf
        if leaf != NULL:
            found += [leaf.slots[i] for i in range(leaf.n_active)]
    return found


cdef int copied(Particles filter, int old) except -1:
    """Copy a tree completely, with new regions."""
    cdef SharedTrees trees = filter.trees
    cdef int copy
    if trees.nodes[old].leaf != NULL:
        update_time(filter, trees.nodes[old].leaf)
        copy = trees.copied_leaf(old)
    else:       # no deeper than MAX_DEPTH
        copy = trees.copied_split(old)
        trees.nodes[copy].left = copied(filter, trees.nodes[old].left)
        trees.nodes[copy].right = copied(filter, trees.nodes[old].right)
    trees.n_regions += 1
    trees.nodes[copy].region = trees.n_regions
    return copy
