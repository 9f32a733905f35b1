"""One step of particle learning, rejuvenation, and the scores of samples.

Equations and sections are those of Anagnostopoulos and Gramacy (2013).

Several forgetting factors compete, which the paper leaves as future work at the end of section 5.
Each factor has its own particles. The best factor is a hidden state that may change at every
sample, and the filter computes its posterior distribution by Bayesian model averaging, as in
dynamic model averaging (Raftery, Karny and Ettler 2010) with the switches of fixed share (Herbster
and Warmuth 1998). Fixed share keeps the probability of every factor above zero, so that the filter
returns to a short memory a few samples after a change. In a regression, one such rule forgets old
evidence and another does not; Bayes' rule decides between them in the same way.
"""

import numpy as np

from libc.math cimport INFINITY, exp, isfinite, isnan, log, pow
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..linalg cimport (
    Fit, add_sample, fit, leverage, merge, scale, solved_of, substitute_back,
)
from ..moments cimport follow_mean
from ..rng cimport DISCARD, REJUVENATE, RESAMPLE, Rng, below, rng_for, uniform
from ..shares cimport share_weights
from ..window cimport Window
from .leaf_models cimport class_share, log_marginal
from .moves cimport move_all
from .nominal cimport send_values, sum_again
from .particles cimport (
    ALC, ALM, ENTROPY, MAX_DECAYS, MAX_RULES, OLDEST, RANDOM, Regressor, add_roots, decay_ahead,
    decayed, decays_by_leaf, divide_particles, features_of, fill_v, finish_leaf, fit_scratch,
    gather, is_active, is_due, limited, n_rules, prior_window, refresh, set_shares, sum_beliefs,
    update_time, v_of, weight_at,
)
from .shared_trees cimport Leaf, Node, SharedTrees, side

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
# Smallest value of the degrees of freedom minus two in a variance.
cdef double LEAST_DF = 0.1


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
    send_values(filter, slot)
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
    if decays_by_leaf(filter):
        sum_again(filter, leaf)


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


# --- Scores of samples by what they tell: section 4 of the paper ---------------------------------


cdef class Acquisition:
    """The distinct nodes of a filter, with the weight of their trees and their boxes.

    It is valid until the next sample.
    """

    cdef Particles filter
    cdef const int[::1] nodes   # distinct nodes, parents before children
    cdef double[::1] share      # per node id: sum of the weights of its trees
    cdef double[::1] boxes      # boxes[2 (node id * n_regressors + i)]: bounds of regressor i
    cdef double mass            # mean weight of all samples in a tree

    def __cinit__(self, Particles filter not None):
        cdef SharedTrees trees = filter.trees
        cdef size_t n = trees.n_nodes
        cdef const Node* here
        cdef int particle, node
        self.filter = filter
        self.nodes = trees.nodes_below(filter.roots, filter.n_alive)
        self.share = np.zeros(n)
        self.boxes = np.zeros(2 * n * filter.model.n_regressors + 1)
        for particle in range(filter.n_alive):
            node = filter.roots[particle]
            if self.share[node] == 0.0:
                self.range_of_all(node)
            self.share[node] += filter.share[particle]
        for node in self.nodes:
            here = &trees.nodes[node]
            if here.leaf == NULL:
                self.pass_down(node, here.left, True)
                self.pass_down(node, here.right, False)
            else:
                self.mass += self.weight_of(here.leaf) * self.share[node]

    cdef void range_of_all(self, int node) noexcept:
        """The box of a root: the range of the active samples."""
        cdef Window pool = self.filter.pool
        cdef int i, column
        cdef const int* order
        cdef double* box = self.box_of(node)
        for i in range(self.filter.model.n_regressors):
            column = self.filter.regressors[i].feature
            if column >= pool.n_columns or pool.lines[column] < 0:
                box[2 * i] = box[2 * i + 1] = self.filter.regressors[i].fill
                continue
            order = pool.order_of(column)
            box[2 * i] = pool.values_of(column)[order[0]]
            box[2 * i + 1] = pool.values_of(column)[order[pool.present(column) - 1]]

    cdef void pass_down(self, int node, int child, bint left) noexcept nogil:
        """Pass share and box of a node to one of its children."""
        cdef int i, q = self.filter.model.n_regressors
        cdef const double* box = self.box_of(node)
        cdef double* cut = self.box_of(child)
        cdef const Node* here = &self.filter.trees.nodes[node]
        if self.share[child] == 0.0:
            memcpy(cut, box, 2 * q * sizeof(double))
            for i in range(q):
                if self.filter.regressors[i].feature == here.split.feature:
                    cut[2 * i + left] = max(cut[2 * i], min(cut[2 * i + 1], here.split.threshold))
        self.share[child] += self.share[node]

    cdef double weight_of(self, const Leaf* leaf) noexcept nogil:
        """Weight of the samples of a leaf, decayed to the time of the next sample."""
        return leaf.total[0] * decay_ahead(self.filter, leaf, 1)

    cdef double* box_of(self, int node) noexcept nogil:
        return &self.boxes[2 * <Py_ssize_t>node * self.filter.model.n_regressors]

    cdef double alc(self, int node, const Fit* posterior, const double* v) noexcept nogil:
        """Decrease of the predictive variance by another sample at v in the leaf fitted last.

        Averaged over the whole space, in which a leaf has the weight of its samples, by the closed
        form of section 4.2: with u = S^-1 (v - mean) the covariance of the predictions at z and v
        is 1/n + (z - mean)'u, and over a box its square averages to the square of its value in the
        middle plus sum u_i^2 width_i^2 / 12.
        """
        cdef const LeafModel* model = &self.filter.model
        cdef int size = model.n_regressors + 1, i
        cdef const double* box = self.box_of(node)
        cdef const double* means = model.scratch + size * (size + 1) // 2
        cdef double* solved = solved_of(model)
        cdef double centre = 1.0 / posterior.weight, spread = 0.0, share, mean, width, lever
        if not posterior.proper:
            return INFINITY
        share = self.weight_of(self.filter.trees.nodes[node].leaf) / max(1e-300, self.mass)
        lever = leverage(model, posterior, v, &mean)
        for i in range(posterior.n_regressors):
            solved[i] /= model.scratch[i * (i + 1) // 2 + i]
        substitute_back(model.scratch, posterior.n_regressors, solved)
        for i in range(posterior.n_regressors - 1, -1, -1):
            centre += solved[i] * (0.5 * (box[2 * i] + box[2 * i + 1]) - means[i])
            width = box[2 * i + 1] - box[2 * i]
            spread += solved[i] * solved[i] * width * width / 12.0
        # (s^2 - R) / (|eta| - m - 3) of the paper, df being |eta| - m - 1
        return share * (
            posterior.sse / max(LEAST_DF, posterior.df - 2.0) / (1.0 + lever)
            * (centre * centre + spread)
        )

    cdef void score_leaf(self, int node, Policy criterion, double[:, ::1] sums) noexcept nogil:
        """Add the scores of the samples of a leaf to `sums`, see `scores`."""
        cdef const Leaf* leaf = self.filter.trees.nodes[node].leaf
        cdef int i, slot
        cdef const double* v
        cdef double* cells
        cdef double n = self.share[node], worth = 0.0, mean, lever
        cdef Fit posterior
        cdef const double* row = decayed(self.filter, leaf, 1)
        if criterion == ENTROPY:
            worth = leaf_entropy(&self.filter.model, row)
        else:
            posterior = fit(&self.filter.model, row, True)
        for i in range(leaf.n_active):
            slot = leaf.slots[i]
            v = v_of(self.filter, slot)
            cells = &sums[slot, 0]
            if criterion == ALC:
                worth = self.alc(node, &posterior, v)
            elif criterion == ALM and not posterior.proper:
                worth = INFINITY
            elif criterion == ALM:
                lever = leverage(&self.filter.model, &posterior, v, &mean)
                worth = posterior.sse / max(LEAST_DF, posterior.df - 2.0) * (1.0 + lever)
                cells[1] += n * mean
                cells[2] += n * mean * mean
            cells[0] += n * worth
            cells[3] += n


cdef double[:, ::1] scores(Particles filter, Policy criterion):
    """The score of each slot's sample, averaged over the trees in which it is active.

    It is in the first of four columns.

    ALC: decrease of the predictive variance over the space. ALM: predictive variance at the sample,
    including the variance among the trees. ENTROPY: entropy of the predictive class probabilities.
    The others are scratch: the sums of the means, of their squares, and of the weights of the
    trees.
    """
    cdef Acquisition acquisition = Acquisition(filter)
    cdef double[:, ::1] sums = np.zeros((filter.pool.capacity, 4))
    cdef int i, node
    cdef double held
    for node in acquisition.nodes:
        if filter.trees.nodes[node].leaf != NULL:
            acquisition.score_leaf(node, criterion, sums)
    for i in range(filter.pool.capacity):
        held = sums[i, 3] if filter.n_decays > 1 and sums[i, 3] > 0.0 else 1.0
        sums[i, 1] /= held
        sums[i, 0] = (sums[i, 0] + sums[i, 2]) / held - sums[i, 1] * sums[i, 1]
    return sums


cdef int to_retire(Particles filter, Policy policy) except? -1 nogil:
    """Slot of the active sample to retire next."""
    cdef Rng rng
    if policy == OLDEST:
        return filter.pool.by_arrival[0]
    if policy == RANDOM:
        rng = rng_for(filter.seed, 0, filter.pool.n_seen, DISCARD)
        return filter.drawn[below(&rng, filter.pool.size)]
    return least_useful(filter, policy)


cdef int least_useful(Particles filter, Policy criterion) except? -1 with gil:
    """Slot of the sample with the smallest score, the oldest of equal ones."""
    cdef double[:, ::1] sums = scores(filter, criterion)
    cdef const int* slots = filter.pool.by_arrival
    cdef int i, best = slots[0]
    for i in range(1, filter.pool.size):
        if sums[slots[i], 0] < sums[best, 0]:
            best = slots[i]
    return best


cdef double alc_at(Particles filter, object x) except? -1.0:
    """ALC of features without a target, averaged over the trees."""
    cdef Acquisition acquisition = Acquisition(filter)
    cdef double total = 0.0
    cdef int hit
    cdef Fit posterior
    filter.schema.encode(x)
    filter.find_row()
    for hit in range(filter.n_hits):
        posterior = fit(&filter.model, filter.statistics_of(hit), True)
        total += filter.hits[hit].share * acquisition.alc(
            filter.hits[hit].node, &posterior, filter.v)
    return total


cdef double leaf_entropy(const LeafModel* model, const double* row) noexcept nogil:
    """Entropy of the predictive class probabilities of a leaf, section 4.3."""
    cdef double share, entropy = 0.0
    cdef int k
    for k in range(model.n_classes):
        share = class_share(model, row, k)
        entropy -= share * log(share)
    return entropy
