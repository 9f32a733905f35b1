"""Logistic leaves of a particle filter against the naive ones, and what they are good for."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest

from river_extra_trees import DynamicTreeClassifier
from tests.naive.dynamic_filters import row_of
from tests.naive.dynamic_logistic import Window
from tests.tools.estimators import frozen

Row = dict[str, float]
WINDOW = 60


def stream(n: int, n_classes: int, seed: int = 0) -> list[tuple[np.ndarray, int]]:
    """Classes in bands across three features, of which the third says nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.1] + [0.0, 100.0, 0.0]
    score = X[:, 0] + (X[:, 1] - 100) / 5 + 0.3 * rng.normal(size=n)
    cuts = [0.0] if n_classes == 2 else [-0.7, 0.7]
    labels = np.concatenate([np.arange(n_classes), np.digitize(score, cuts)[n_classes:]])
    return [(x, int(y)) for x, y in zip(X, labels, strict=True)]


def model_of(factor: float | str = 0.98, **parameters: object) -> DynamicTreeClassifier:
    settings = {"n_particles": 15, "window": WINDOW, "beta": 2.0, "warm_up": 0, "seed": 3}
    settings |= {"leaf": "logistic", **parameters}
    return DynamicTreeClassifier(forgetting_factor=factor, **settings)


def naive_answer(model: DynamicTreeClassifier, n_classes: int, x: np.ndarray) -> np.ndarray:
    """The average over the trees of a particle filter."""
    particles = model._core
    slots = particles.pool.slots()
    points = [particles.pool.point(slot) for slot in slots]
    X = np.array([point[0] for point in points])
    y = np.array([int(point[1][-1]) for point in points])
    weights = np.array([point[2] for point in points])
    ages = np.array([particles.n_seen + 1 - point[3] for point in points])
    window = Window(X, y, weights, n_classes)
    answer = np.zeros(n_classes)
    for share, root, nodes in shares_of_trees(model):
        node = nodes[root]
        while node["feature"] >= 0:
            left = x[node["feature"]] <= node["threshold"]
            node = nodes[node["left" if left else "right"]]
        rows = [slots.index(slot) for slot in node["slots"]]
        fading = weights[rows] * node["decay"] ** ages[rows]
        answer += share * window.leaf_chances(rows, fading, x)
    return answer


def shares_of_trees(
    model: DynamicTreeClassifier,
) -> list[tuple[float, int, dict[int, dict[str, Any]]]]:
    """Share, root and nodes of each tree: those of one forgetting factor share its probability."""
    trees = []
    n_particles: Counter[float] = Counter()
    for root, count in model._core.distinct_roots():
        nodes = {node["node"]: node for node in model._core.nodes_at(root)}
        decay = next(node["decay"] for node in nodes.values() if node["feature"] < 0)
        n_particles[decay] += count
        trees.append((count, decay, root, nodes))
    probabilities = model.forgetting_factors
    return [
        (count / n_particles[decay] * probabilities[decay], root, nodes)
        for count, decay, root, nodes in trees
    ]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("factor", [1.0, 0.98, "auto"])
def test_answers_are_the_naive_ones(n_classes: int, factor: float | str) -> None:
    """With retired points, weights and forgetting; at points old and new."""
    model = model_of(factor)
    rng = np.random.default_rng(1)
    heights = []
    for i, (x, y) in enumerate(stream(200, n_classes)):
        if i > WINDOW and i % 20 == 0:
            heights.append(model.height)
            answer = model.predict_proba_one(row_of(x))
            found = [answer[label] for label in range(n_classes)]
            assert found == pytest.approx(naive_answer(model, n_classes, x), abs=1e-9)
        model.learn_one(row_of(x), y, w=float(rng.choice([1.0, 1.0, 0.5, 3.0])))
    assert max(heights) > 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_log_evidence_adds_up_log_probabilities(n_classes: int) -> None:
    """Trees are weighed by what they had answered, once all labels are known."""
    model = model_of(window=500)
    for i, (x, y) in enumerate(stream(200, n_classes)):
        before = model.log_evidence
        announced = model.predict_proba_one(row_of(x)).get(y, 1.0)
        model.learn_one(row_of(x), y)
        if i > 10:
            assert model.log_evidence - before == pytest.approx(math.log(announced), abs=1e-9)


def score(leaf: str, n_classes: int) -> float:
    model = model_of(leaf=leaf, window=300, n_particles=30)
    logs = []
    for x, y in stream(600, n_classes):
        logs.append(math.log(max(model.predict_proba_one(row_of(x)).get(y, 0.0), 1e-3)))
        model.learn_one(row_of(x), y)
    return float(np.mean(logs[100:]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_slopes_tell_classes_apart_that_boxes_do_not(n_classes: int) -> None:
    """Where boundaries are linear and not along the axes."""
    assert score("logistic", n_classes) > score("multinomial", n_classes) + 0.1


@pytest.mark.parametrize(
    "x", [{}, {"x0": 1e300}, {"x1": None, "x2": -1e308}, {"new": 3.0}, {"new": "word"}]
)
def test_any_sample_has_an_answer(x: dict[str, object]) -> None:
    """However far off, and with whatever missing."""
    model = model_of()
    for row, y in stream(100, 3):
        model.learn_one({**row_of(row), "constant": 7.0}, y)
    answer = model.predict_proba_one(x)
    assert sum(answer.values()) == pytest.approx(1.0)
    assert all(0.0 <= p <= 1.0 for p in answer.values())


@pytest.mark.parametrize("weight", [1e-300, 1e100])
def test_any_weight_leaves_finite_answers(weight: float) -> None:
    """Newton's method gives up where they drown the prior and a feature repeats another."""
    model = model_of(1.0)
    for x, y in stream(80, 2):
        row = {**row_of(x), "twin": float(x[0]), "shifted": float(x[0]) + 1}
        model.learn_one(row, y, w=weight)
        assert all(math.isfinite(p) for p in model.predict_proba_one(row).values())


def test_new_labels_and_features_may_come_late() -> None:
    """The regressions grow with them; a single label is certain."""
    model = model_of()
    rows = stream(150, 3)
    for x, _ in rows[:20]:
        model.learn_one({"x0": float(x[0])}, "first")
    assert model.predict_proba_one({"x0": 0.0}) == {"first": 1.0}
    for x, y in rows[20:]:
        model.learn_one(row_of(x), y)
    assert set(model.predict_proba_one({"x0": 0.0})) == {"first", 0, 1, 2}
    model._core.check()


def test_asking_changes_nothing_and_copies_go_on_alike() -> None:
    """No bit of the regressions outlives a step."""
    model = model_of("auto", rejuvenate_every=40)
    rows = stream(160, 3)
    for x, y in rows[:100]:
        model.learn_one(row_of(x), y)
    before = frozen(model)
    for x, _ in rows[:10]:
        model.predict_proba_one(row_of(x))
    assert frozen(model) == before
    copy = pickle.loads(before)
    for x, y in rows[100:]:
        model.learn_one(row_of(x), y)
        copy.learn_one(row_of(x), y)
        assert model.predict_proba_one(row_of(x)) == copy.predict_proba_one(row_of(x))


def test_leaf_models_are_named() -> None:
    """And the scores of the reference know no slopes."""
    with pytest.raises(ValueError, match="leaf"):
        DynamicTreeClassifier(leaf="linear")
    with pytest.raises(ValueError, match="reference"):
        DynamicTreeClassifier(leaf="logistic", reference=True)
