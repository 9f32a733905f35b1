"""The compiled particle filter set up as a naive model, and its trees read back as naive ones."""

from dataclasses import replace

import numpy as np

from river_extra_trees._core.dynamic import ParticleFilter
from tests.naive import dynamic_enumeration as enumeration
from tests.naive.dynamic import DynamicTree, Leaf, Split, Tree
from tests.naive.dynamic_leaves import GaussianLeaf, InformedLeaf, LeafModel, MultinomialLeaf, Sums
from tests.tools.particle_trees import Node, trees_of


def row_of(x: np.ndarray) -> dict[str, float]:
    return {f"x{j}": float(value) for j, value in enumerate(x)}


def filter_of(
    model: DynamicTree,
    n_particles: int,
    seed: int,
    decay: float = 1.0,
    prior_weight: float = 0.0,
    window: int = 10_000,
) -> ParticleFilter:
    """Flat priors, as the naive model has them, or one of some weight."""
    leaf_model = model.leaf_model
    return ParticleFilter(
        n_particles=n_particles,
        window=window,
        classifier=isinstance(leaf_model, MultinomialLeaf),
        linear=isinstance(leaf_model, GaussianLeaf) and leaf_model.linear,
        min_samples_leaf=model.min_samples_leaf,
        alpha=model.alpha,
        beta=model.beta,
        leaf_bonus=0.0,
        decays=[decay],
        prior_weight=prior_weight,
        published=model.published_scores,
        seed=seed,
    )


def open_constant(model: DynamicTree) -> DynamicTree:
    """The core leaves (2 pi)^(size / 2) per leaf out of its improper evidence."""
    return replace(model, leaf_bonus=-model.leaf_model.size / 2 * float(np.log(2 * np.pi)))


def learn(particles: ParticleFilter, model: DynamicTree, row: int) -> None:
    particles.learn(row_of(model.X[row]), float(model.y[row]))


def learn_stream(model: DynamicTree, particles: ParticleFilter) -> float:
    """Estimated evidence of the rows after the first `min_samples_leaf`."""
    log_evidence = 0.0
    for row in range(len(model.y)):
        learn(particles, model, row)
        if row >= model.min_samples_leaf:
            log_evidence += particles.log_predictive
    return float(np.exp(log_evidence))


def sums_of(leaf_model: LeafModel, row: list[float]) -> Sums:
    """A row of the core: weight, means and centred products, or counts, as plain sums."""
    if isinstance(leaf_model, MultinomialLeaf):
        return Sums(row[0], np.zeros((0, 0)), np.zeros(0), 0.0, np.array(row[1:]))
    size = leaf_model.size  # regressors and target
    means = np.concatenate(([1.0], row[1 : 1 + size]))
    products = np.zeros((size + 1, size + 1))
    cells = iter(row[1 + size :])
    for i in range(size):
        for j in range(i + 1):
            products[i + 1, j + 1] = products[j + 1, i + 1] = next(cells)
    raw = products + row[0] * np.outer(means, means)
    return Sums(row[0], raw[:size, :size], raw[:size, size], raw[size, size], np.zeros(0))


def naive_tree(model: DynamicTree, particles: ParticleFilter, node: Node) -> Tree:
    """The tree below a node of `trees_of`, as of the model's row; rows are numbered from 0."""
    if node["feature"] < 0:
        slots = particles.pool.slots()
        rows = sorted(particles.pool.sample(slots[number])[3] for number in node["active"])
        faded = model.decay ** (model.now + 1 - node["time"])
        return Leaf(tuple(rows), sums_of(model.leaf_model, node["retired"]) * faded)
    left, right = (naive_tree(model, particles, node[side]) for side in ("left", "right"))
    return Split(node["feature"], node["threshold"], left, right)


def leaf_with_prior(particles: ParticleFilter, n_features: int) -> InformedLeaf:
    """A regression leaf with the prior that the particles has at present."""
    state, flat = particles.state(), GaussianLeaf(n_features, particles.linear)
    df_offset = 1.0 if state["prior"][0] > 0.0 else -len(state["fill"]) - 1.0
    prior = sums_of(flat, list(state["prior"]))
    return InformedLeaf(n_features, particles.linear, prior, df_offset)


def structures(model: DynamicTree, particles: ParticleFilter) -> dict[enumeration.Key, float]:
    """Share of the particles with each structure, cuts in the middle of their intervals."""
    values = [np.unique(column) for column in model.X.T]

    def key_of(node: Node) -> enumeration.Key:
        if node["feature"] < 0:
            return ()
        cut = enumeration.middle(values[node["feature"]], node["threshold"])
        return (node["feature"], cut, key_of(node["left"]), key_of(node["right"]))

    found: dict[enumeration.Key, float] = {}
    for (top, *_), n_particles in trees_of(particles):
        key = key_of(top)
        found[key] = found.get(key, 0.0) + n_particles / particles.n_particles
    return found
