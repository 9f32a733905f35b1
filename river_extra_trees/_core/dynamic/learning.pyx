"""One step of particle learning: add a point, weigh the particles, resample, move."""

from libc.math cimport INFINITY, exp, isfinite, isnan, log, pow
from libc.string cimport memcpy

from .grove cimport MIN_BLOCK, Leaf
from .posterior cimport add_sample, log_marginal, scale
from ..rng cimport RESAMPLE, Rng, rng_for, uniform
from .forgetting cimport believe, divide, set_shares
from .gathering cimport fill_v, limited
from .leaves cimport finish_leaf, refresh, update_time, weight_at
from .logistic cimport fit_window, weigh_by_chances
from .moves cimport move_all
from .particles cimport MAX_DECAYS, Particles

# Copies that a particle is due are whole numbers up to this.
cdef double ROUNDING = 1e-9


cdef int plant_roots(Particles cloud, int first) except -1:
    """An empty leaf per forgetting factor, for the particles of its stratum from `first` on."""
    cdef int node, particle, k
    if not cloud.grove.reserve(cloud.n_decays, cloud.n_decays, cloud.n_decays * MIN_BLOCK):
        raise MemoryError
    divide(cloud, cloud.stratum)
    set_shares(cloud, first)
    for k in range(cloud.n_decays):
        node = cloud.grove.new_leaf(0, cloud.grove.new_region(), MIN_BLOCK)
        cloud.grove.leaves[cloud.grove.nodes[node].left].decay = cloud.decays[k]
        cloud.grove.leaves[cloud.grove.nodes[node].left].time = cloud.n_seen
        finish_leaf(cloud, node)
        for particle in range(cloud.stratum[k], cloud.stratum[k + 1]):
            cloud.roots[first + particle] = node
        cloud.grove.count(node, cloud.stratum[k + 1] - cloud.stratum[k] - 1)
    return 0


cdef int learn_row(Particles cloud, double target, double weight) except -1:
    """Learn the row that the schema encoded last, for which `prepare` has found the leaves."""
    cdef int slot, i
    cdef const double* x = cloud.schema.row
    cdef bint ok
    if cloud.slopes is not None:
        fit_window(cloud)
        fill_v(cloud, x, target)
        weigh_by_chances(cloud, cloud.slopes, <int>target)
    cloud.n_seen += 1
    for i in range(cloud.model.n_regressors):
        if not isnan(x[cloud.regressors[i]]):
            cloud.fill_weight[i] += weight
            cloud.fill[i] += weight / cloud.fill_weight[i] * (
                limited(x[cloud.regressors[i]]) - cloud.fill[i])
    fill_v(cloud, x, target)
    if not cloud.model.multinomial:
        scale(&cloud.model, cloud.overall, 1.0 - 0.1 / cloud.window)
        add_sample(&cloud.model, cloud.overall, cloud.v, weight)
        cloud.lowest = min(cloud.lowest, target)
        cloud.highest = max(cloud.highest, target)
    slot = cloud.pool.push(x, cloud.v, weight, cloud.n_seen)
    with nogil:
        ok = step(cloud, slot, 0, cloud.n_alive, cloud.slopes is not None)
        if isfinite(cloud.log_predictive):
            cloud.log_evidence += cloud.log_predictive
        cloud.n_alive = cloud.n_particles
    if cloud.n_seen % cloud.window == 0 or cloud.n_seen & (cloud.n_seen - 1) == 0:
        refresh(cloud)
        save_memory(cloud)
    if not ok:
        raise MemoryError("some trees could not move; the sample is learned")
    return 0


cdef int save_memory(Particles cloud) except -1:
    """Leave no more room in the grove than its trees need: they were more when it was young."""
    try:
        cloud.grove = cloud.grove.compacted(cloud.roots, cloud.n_alive)
    except MemoryError:
        pass        # it stays as it is
    return 0


cdef bint step(Particles cloud, int slot, int first, int stop, bint weighed) noexcept nogil:
    """Weigh, resample, add, move. False when there was no memory for some moves.

    The point is added first, to every distinct leaf: the increase of the leaf's log marginal
    likelihood is its log predictive density there, unless the visits are `weighed` already, and
    the resampling does not mind.
    """
    cdef const double* x = cloud.pool.x + slot * cloud.pool.n_columns
    cloud.n_steps += 1
    add_to_leaves(cloud, slot, weighed)
    cloud.log_predictive = weigh(cloud, first, stop)
    if first == 0:      # a sample of the stream, not one of a rejuvenation
        believe(cloud)
    resample(cloud, first)
    return move_all(cloud, x, first, first + cloud.n_particles)


cdef void add_to_leaves(Particles cloud, int slot, bint weighed) noexcept nogil:
    """Add the point to each distinct leaf and note its log predictive density there."""
    cdef const double* v = cloud.pool.v + slot * cloud.pool.size_v
    cdef double weight
    cdef double before, after
    cdef int visit, leaf
    cdef bint was_linear, dummy
    cdef Leaf* here
    for visit in range(cloud.n_visits):
        leaf = cloud.grove.nodes[cloud.visits[visit].node].left
        update_time(cloud, leaf)
        here = &cloud.grove.leaves[leaf]
        before, was_linear = here.log_marginal, here.is_linear
        weight = weight_at(cloud, slot, here)
        add_sample(&cloud.model, cloud.grove.total(leaf), v, weight)
        cloud.grove.add_slot(here, slot)
        here.log_marginal = log_marginal(
            &cloud.model, cloud.grove.total(leaf), True, &here.is_linear)
        after = here.log_marginal
        if here.is_linear != was_linear:    # a density compares like with like
            after = log_marginal(&cloud.model, cloud.grove.total(leaf), was_linear, &dummy)
        if weighed:
            continue
        if isnan(before) or isnan(after) or before == after:
            cloud.visits[visit].log_weight = 0.0     # no proper predictive yet
        else:
            cloud.visits[visit].log_weight = after - before


cdef double weigh(Particles cloud, int first, int stop) noexcept nogil:
    """Weights of the particles; returns the log of their mean."""
    cdef double largest = -INFINITY, total = 0.0
    cdef int visit, particle
    for visit in range(cloud.n_visits):
        if cloud.visits[visit].log_weight > largest:
            largest = cloud.visits[visit].log_weight
    if not isfinite(largest):
        for particle in range(first, stop):
            cloud.weights[particle] = 1.0
        return largest
    for visit in range(cloud.n_visits):
        cloud.visits[visit].log_weight = exp(cloud.visits[visit].log_weight - largest)
        total += cloud.visits[visit].log_weight * cloud.visits[visit].share
    for particle in range(first, stop):
        cloud.weights[particle] = (
            cloud.visits[cloud.groups[cloud.group_of[particle]].visit].log_weight)
    return largest + log(total)


cdef void resample(Particles cloud, int first) noexcept nogil:
    """Draw every stratum anew, with as many particles as it is due."""
    cdef Rng rng = rng_for(cloud.seed, 0, cloud.n_steps, RESAMPLE)
    cdef int stratum[MAX_DECAYS + 1]
    cdef int k
    divide(cloud, stratum)
    if cloud.reference:
        draw_residual(cloud, &rng, first, first + cloud.stratum[1], cloud.n_particles)
    else:
        for k in range(cloud.n_decays):
            draw(cloud, uniform(&rng), first + cloud.stratum[k], first + cloud.stratum[k + 1],
                 stratum[k], stratum[k + 1])
    memcpy(cloud.roots + first, cloud.resampled, cloud.n_particles * sizeof(int))
    memcpy(cloud.group_of + first, cloud.regrouped, cloud.n_particles * sizeof(int))
    memcpy(cloud.stratum, stratum, sizeof(stratum))
    set_shares(cloud, first)


cdef void draw(
    Particles cloud, double u, int first, int stop, int n, int n_end
) noexcept nogil:
    """Systematic resampling of particles `first` to `stop` into places `n` to `n_end`.

    A particle of weight w has floor or ceil of w times the places copies, as in residual
    resampling; they end up side by side. Particles of equal weights in as many places stay.
    """
    cdef double total = 0.0, cumulative = n
    cdef int particle, copies, places = n_end - n
    cdef bint equal = True
    for particle in range(first, stop):
        total += cloud.weights[particle]
        equal = equal and cloud.weights[particle] == cloud.weights[first]
    for particle in range(first, stop):
        if equal and stop - first == places:
            cumulative += 1.0
        elif total > 0.0:
            cumulative += cloud.weights[particle] * places / total
        else:                   # too small to tell apart
            cumulative += <double>places / (stop - first)
        copies = n
        while n < n_end and (n + u < cumulative or particle == stop - 1):
            cloud.resampled[n] = cloud.roots[particle]
            cloud.regrouped[n] = cloud.group_of[particle]
            n += 1
        cloud.grove.count(cloud.roots[particle], n - copies - 1)


cdef void draw_residual(
    Particles cloud, Rng* rng, int first, int stop, int n_end
) noexcept nogil:
    """Residual resampling of particles `first` to `stop` into `n_end` places: the reference.

    A particle that is due `w` copies has floor(w); the places left are drawn independently, by
    what was rounded off. The draws come in ascending order.
    """
    cdef double total = 0.0, rest = 0.0, passed = 0.0, due, place
    cdef int particle, copies, n = 0, n_left = n_end
    for particle in range(first, stop):
        total += cloud.weights[particle]
    for particle in range(first, stop):
        due = cloud.weights[particle] * n_end / total if total > 0.0 else (
            <double>n_end / (stop - first))
        cloud.weights[particle] = due
        n_left -= <int>(due + ROUNDING)
        rest += max(0.0, due - <int>(due + ROUNDING))
    place = first_of(rng, n_left)
    for particle in range(first, stop):
        copies = <int>(cloud.weights[particle] + ROUNDING)
        passed += max(0.0, cloud.weights[particle] - copies) / rest if rest > 0.0 else 0.0
        while n_left > 0 and (place < passed or particle == stop - 1):
            copies += 1
            n_left -= 1
            place += (1.0 - place) * first_of(rng, n_left)
        for _ in range(copies):
            cloud.resampled[n] = cloud.roots[particle]
            cloud.regrouped[n] = cloud.group_of[particle]
            n += 1
        cloud.grove.count(cloud.roots[particle], copies - 1)


cdef double first_of(Rng* rng, int n) noexcept nogil:
    """The smallest of n uniform numbers."""
    return 1.0 - pow(1.0 - uniform(rng), 1.0 / n) if n > 0 else 1.0
