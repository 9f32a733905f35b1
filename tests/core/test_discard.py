"""What active points are worth: the compiled survey against naive trees."""

from __future__ import annotations

import numpy as np
import pytest

from river_extra_trees._core.cloud import Cloud
from river_extra_trees._core.discard import Survey
from river_extra_trees._mixture import StudentMixture
from tests.golden.dynatree import data
from tests.naive.dynamic import DynamicTree, Split, Tree
from tests.naive.dynamic_clouds import cloud_of, row_of, sums_of, tree_at
from tests.naive.dynamic_leaves import GaussianLeaf, MultinomialLeaf, Sums

N_LEARNED, N_ACTIVE = 150, 80


def model_of(leaf: str) -> DynamicTree:
    X, y = data("class_train" if leaf == "class" else "fried_train")
    leaf_model = MultinomialLeaf(3) if leaf == "class" else GaussianLeaf(5, leaf == "linear")
    return DynamicTree(X, y, leaf_model, 14 if leaf == "linear" else 6)


def learned(model: DynamicTree) -> tuple[Cloud, list[tuple[Tree, float]]]:
    """A cloud that has retired some rows, and its distinct trees with their shares."""
    cloud = cloud_of(model, 12, 0)
    for row in range(N_LEARNED):
        if cloud.pool.size == N_ACTIVE:
            cloud.retire(cloud.oldest())
        cloud.learn(row_of(model.X[row]), float(model.y[row]))
    trees = [(tree_at(model, cloud, root), n / 12) for root, n in cloud.distinct_roots()]
    assert any(isinstance(tree, Split) for tree, _ in trees)
    return cloud, trees


def leaf_box(
    tree: Tree, x: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = lower.copy(), upper.copy()
    while isinstance(tree, Split):
        j = tree.column
        if x[j] <= tree.cut:
            upper[j], tree = min(upper[j], tree.cut), tree.left
        else:
            lower[j], tree = max(lower[j], tree.cut), tree.right
    return lower, upper


def naive_alc(model: DynamicTree, trees: list[tuple[Tree, float]], x: np.ndarray) -> float:
    """Average over the leaf's box, times the leaf's share of all samples."""
    assert isinstance(model.leaf_model, GaussianLeaf)
    active = model.X[N_LEARNED - N_ACTIVE : N_LEARNED]
    total = 0.0
    for tree, share in trees:
        lower, upper = leaf_box(tree, x, active.min(axis=0), active.max(axis=0))
        sums = model.total(model.leaf_at(tree, x))
        integral = model.leaf_model.alc(sums, x, lower, upper)
        total += share * sums.weight / N_LEARNED * integral / np.prod(upper - lower)
    return total


def naive_alm(model: DynamicTree, trees: list[tuple[Tree, float]], x: np.ndarray) -> float:
    assert isinstance(model.leaf_model, GaussianLeaf)
    shares = np.array([share for _, share in trees])
    moments = [
        model.leaf_model.mean_and_variance(model.total(model.leaf_at(tree, x)), x)
        for tree, _ in trees
    ]
    means, variances = np.array(moments).T
    return float(shares @ (variances + means**2) - (shares @ means) ** 2)


def naive_entropy(model: DynamicTree, trees: list[tuple[Tree, float]], x: np.ndarray) -> float:
    return sum(share * model.entropy(tree, x) for tree, share in trees)


NAIVE = {"alc": naive_alc, "alm": naive_alm, "entropy": naive_entropy}
CASES = [
    ("constant", "alc"),
    ("linear", "alc"),
    ("constant", "alm"),
    ("linear", "alm"),
    ("class", "entropy"),
]


@pytest.mark.parametrize(("leaf", "criterion"), CASES)
def test_scores_of_active_points_are_the_naive_ones(leaf: str, criterion: str) -> None:
    """Averaged over the trees of the cloud, retired sums included."""
    model = model_of(leaf)
    cloud, trees = learned(model)
    scores = Survey(cloud).scores(criterion)
    assert len(scores) == N_ACTIVE
    for row, slot in zip(range(N_LEARNED - N_ACTIVE, N_LEARNED), cloud.pool.slots(), strict=True):
        expected = NAIVE[criterion](model, trees, model.X[row])
        assert scores[slot] == pytest.approx(expected, rel=1e-8), row


@pytest.mark.parametrize(("leaf", "criterion"), CASES)
def test_the_least_useful_point_has_the_smallest_score(leaf: str, criterion: str) -> None:
    """And is the oldest of those with that score."""
    cloud, _ = learned(model_of(leaf))
    scores = Survey(cloud).scores(criterion)
    smallest = [slot for slot in cloud.pool.slots() if scores[slot] == min(scores.values())]
    assert Survey(cloud).least_useful(criterion) == smallest[0]


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_alc_of_a_candidate_is_the_naive_one(leaf: str) -> None:
    """At points the cloud has not seen."""
    model = model_of(leaf)
    cloud, trees = learned(model)
    for x in model.X[200:210]:
        found = Survey(cloud).alc_at(row_of(x))
        assert found == pytest.approx(naive_alc(model, trees, x), rel=1e-8)


def test_alc_weighs_samples_by_their_age() -> None:
    """Leaves that no sample has visited for long have faded all the same; each step is checked."""
    model = model_of("linear")
    assert isinstance(model.leaf_model, GaussianLeaf)
    cloud = cloud_of(model, 8, 0, decay=0.99)
    for row in range(120):
        if cloud.pool.size == 60:
            cloud.retire(Survey(cloud).least_useful("alc"))
        cloud.learn(row_of(model.X[row]), float(model.y[row]))
        if row < 100:
            continue
        active = np.array([cloud.pool.point(slot)[0] for slot in cloud.pool.slots()])
        expected, x = 0.0, active[0]
        for root, n_trees in cloud.distinct_roots():
            sums, whole = faded_leaf(model.leaf_model, cloud, root, x)
            tree = tree_at(model, cloud, root)
            lower, upper = leaf_box(tree, x, active.min(axis=0), active.max(axis=0))
            share = sums.weight / whole / np.prod(upper - lower)
            expected += n_trees / 8 * share * model.leaf_model.alc(sums, x, lower, upper)
        assert Survey(cloud).alc_at(row_of(x)) == pytest.approx(expected, rel=1e-9)


def faded_leaf(
    leaf_model: GaussianLeaf, cloud: Cloud, root: int, x: np.ndarray
) -> tuple[Sums, float]:
    """What the leaf of x in one tree will know when the next sample comes; weight of the tree."""
    nodes = {node["node"]: node for node in cloud.nodes(root)}
    for node in nodes.values():
        if node["feature"] < 0:
            node["factor"] = node["decay"] ** (cloud.n_seen + 1 - node["time"])
    whole = sum(node["factor"] * node["total"][0] for node in nodes.values() if "factor" in node)
    node = nodes[root]
    while node["feature"] >= 0:
        node = nodes[node["left" if x[node["feature"]] <= node["threshold"] else "right"]]
    return sums_of(leaf_model, node["total"]) * node["factor"], whole


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_alm_of_a_candidate_is_the_naive_one(leaf: str) -> None:
    """The variance of the predictive mixture."""
    model = model_of(leaf)
    cloud, trees = learned(model)
    for x in model.X[200:210]:
        mixture = StudentMixture(cloud.mixture(row_of(x)))
        means = [mean for mean, *_ in mixture.components]
        assert cloud.lowest < min(means), "nothing is cut off"
        assert max(means) < cloud.highest
        assert mixture.variance == pytest.approx(naive_alm(model, trees, x), rel=1e-8)


def test_entropy_of_a_candidate_is_the_naive_one() -> None:
    """Of the mean of the trees' probabilities."""
    model = model_of("class")
    cloud, trees = learned(model)
    assert isinstance(model.leaf_model, MultinomialLeaf)
    for x in model.X[200:210]:
        totals = [(model.total(model.leaf_at(tree, x)), share) for tree, share in trees]
        p = sum(share * model.leaf_model.probabilities(total) for total, share in totals)
        answer = cloud.predict_proba(row_of(x))
        assert [answer[k] for k in sorted(answer)] == pytest.approx(p, abs=1e-9)


def test_an_empty_cloud_can_be_surveyed() -> None:
    """There is no point to score, and nothing to divide by."""
    cloud = cloud_of(model_of("constant"), 5, 0)
    assert Survey(cloud).scores("alc") == {}
