"""Shrub ensembles: Algorithm 1 exactly, and what holds for every one of them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from river_extra_trees import ShrubEnsembleClassifier, ShrubEnsembleRegressor
from river_extra_trees._core.schema import Labels
from river_extra_trees._core.shrubs import Shrubs
from river_extra_trees._core.trees import Trees
from tests.naive.cart import Sample
from tests.naive.shrubs import NaiveShrubs, RecordedCart
from tests.tools.shrub_runs import CASES, Run

EXACT_CASES = [name for name in CASES if name != "r_reg"]


def core(n_classes: int | None, **parameters: Any) -> Shrubs:
    """An empty ensemble that knows its classes, 0, 1, 2, ..., beforehand."""
    shrubs = Shrubs(regression=n_classes is None, **{"seed": 1, **parameters})
    if n_classes is None:
        return shrubs
    labels = Labels.restored({"labels": list(range(n_classes))})
    return Shrubs.restored({**shrubs.state(), "labels": labels, "trees": Trees(n_classes)})


def predict(shrubs: Shrubs, x: list[float]) -> list[float]:
    row = dict(enumerate(x))
    if shrubs.trees.regression:
        return [shrubs.predict_number(row)]
    if not shrubs.trees.n_roots:
        return [1 / len(shrubs.labels)] * len(shrubs.labels)
    return list(shrubs.predict_proba(row).values())


def learn(shrubs: Shrubs, x: list[float], y: Any) -> None:
    shrubs.learn(dict(enumerate(x)), y)


def noisy_stream(n: int, n_features: int, n_classes: int, seed: int) -> list[tuple[dict, int]]:
    """Classes by intervals of a sum, one tenth of them drawn at random, with a drift half way."""
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        x = {j: rng.random() for j in range(n_features)}
        score = x[0] + x[1] if i < n // 2 else x[0] + 1 - x[1]
        noisy = rng.random() < 0.1
        rows.append((x, rng.randrange(n_classes) if noisy else int(score / 2 * n_classes)))
    return rows


# -------------------------------------------------------------------- against the recorded runs


@pytest.mark.parametrize("name", EXACT_CASES)
def test_recorded_run(name: str) -> None:
    """Weights and predictions are the recorded ones at every step."""
    run = Run(name)
    shrubs = core(run.n_classes, **run.parameters, step_size=run.step_size, l2=run.l2)
    for t, (x, y) in enumerate(run.rows):
        assert predict(shrubs, x) == pytest.approx(run.predictions[t], abs=1e-9)
        learn(shrubs, x, y)
        if run.has_ties:
            continue
        weights = shrubs.tree_weights()
        assert [birth for birth, _ in weights] == [birth for birth, _ in run.weights[t]]
        assert [weight for _, weight in weights] == pytest.approx(
            [weight for _, weight in run.weights[t]], abs=1e-9
        )
    shrubs.check()


def test_regression_run() -> None:
    """On the recorded regression stream the naive ensemble gives the same, at every step.

    The record is the naive one's with ties between splits left to rounding.
    """
    run = Run("r_reg")
    settings = {**run.parameters, "step_size": run.step_size}
    recorded = NaiveShrubs(None, **settings, cart=RecordedCart)
    for t, (x, y) in enumerate(run.rows[:60]):
        assert recorded.predict(x) == pytest.approx(run.predictions[t], abs=1e-9)
        recorded.learn(x, y)
    shrubs, naive = core(None, **settings), NaiveShrubs(None, **settings, standardise=True)
    for x, y in run.rows[:150]:
        assert predict(shrubs, x) == pytest.approx(naive.predict(x), abs=1e-9)
        learn(shrubs, x, y)
        naive.learn(x, y)
        weights = shrubs.tree_weights()
        assert [birth for birth, _ in weights] == naive.births
        assert [weight for _, weight in weights] == pytest.approx(naive.weights, abs=1e-9)


# -------------------------------------------------------------------- against the naive ensemble


@settings(max_examples=25)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["mse", "cross_entropy"]),
    st.integers(1, 6),
    st.integers(2, 12),
    st.integers(0, 4),
    st.sampled_from([0.0137, 0.311, 1.73, "adaptive"]),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([0.0, 0.0213]),
)
def test_agrees_with_the_naive_ensemble(
    seed: int,
    loss: str,
    n_models: int,
    window_size: int,
    max_depth: int,
    step_size: float | str,
    rounds: int,
    project_each_round: bool,
    penalty: float,
) -> None:
    """Whatever the parameters, weights and predictions are those of the slow version."""
    rules: dict[str, Any] = {
        "n_models": n_models,
        "window_size": window_size,
        "loss": loss,
        "max_depth": max_depth,
        "rounds": rounds,
        "project_each_round": project_each_round,
        "node_penalty": penalty / 10,
        "step_size": step_size,
        "l2": penalty,
    }
    shrubs = core(3, **rules)
    naive = NaiveShrubs(3, **rules)
    for x, y in noisy_stream(40, 2, 3, seed):
        learn(shrubs, list(x.values()), y)
        naive.learn(list(x.values()), y)
        if sum(abs(a - b) < 1e-9 for a in naive.weights for b in naive.weights) > len(
            naive.weights
        ):
            return  # equal weights: from here on rounding may decide which tree leaves
        weights = shrubs.tree_weights()
        assert [birth for birth, _ in weights] == naive.births
        assert [weight for _, weight in weights] == pytest.approx(naive.weights, abs=1e-9)


# -------------------------------------------------------------------- trees that are not trained


@pytest.mark.parametrize("loss", ["mse", "cross_entropy"])
def test_trees_without_a_chance_are_not_trained(loss: str) -> None:
    """Leaving them out changes no weight: the naive ensemble trains a tree with every sample."""
    rules: dict[str, Any] = {"n_models": 8, "window_size": 50, "step_size": 0.0713, "loss": loss}
    shrubs = core(4, **rules, max_depth=6)
    naive = NaiveShrubs(4, **rules, max_depth=6)
    n = 100
    for x, y in noisy_stream(n, 3, 4, 7):
        learn(shrubs, list(x.values()), y)
        naive.learn(list(x.values()), y)
        assert [birth for birth, _ in shrubs.tree_weights()] == naive.births
        assert [weight for _, weight in shrubs.tree_weights()] == pytest.approx(
            naive.weights, abs=1e-9
        )
    assert shrubs.n_trained < 0.7 * n


# -------------------------------------------------------------------- Theorem 1


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(2, 16), st.floats(0.01, 3.0))
def test_a_new_concept_enters(seed: int, n_models: int, window_size: int, step_size: float) -> None:
    """Theorem 1: fully grown, the shrub of a new class enters; if need be the smallest leaves.

    The bound on the step is BC / 4m where the trees agree on the new sample, and BC / 2m else:
    the proof in the paper takes the trees' vote for one class to be unanimous. While there is
    room, any step will do.
    """
    rng = random.Random(seed)
    rules: dict[str, Any] = {"n_models": n_models, "window_size": window_size}
    shrubs = core(3, **rules, step_size=step_size, max_depth=None)
    naive = NaiveShrubs(3, n_models, window_size, step_size, max_depth=99)
    for _ in range(rng.randrange(window_size, 3 * window_size)):
        x, y = [rng.random(), rng.random()], rng.randrange(2)
        learn(shrubs, x, y)
        naive.learn(x, y)
    x = [rng.random(), rng.random()]
    m = len(naive.trees)
    share = predict(shrubs, x)
    agree = max(share) > 1 - 1e-9
    if m == n_models:
        step_size = 1.001 * window_size * 3 / (4 * m if agree else 2 * m)
    shrubs = Shrubs.restored({**shrubs.state(), "step_size": step_size})
    learn(shrubs, x, 2)
    births = [birth for birth, _ in shrubs.tree_weights()]
    assert shrubs.n_seen - 1 in births


# -------------------------------------------------------------------- what always holds


def test_weights_stay_on_the_simplex_at_absurd_steps() -> None:
    """Steps and rounds far beyond reason give weights all the same."""
    model = ShrubEnsembleClassifier(n_models=4, window_size=20, step_size=1e300, rounds=5, seed=1)
    for x, y in noisy_stream(100, 2, 3, 1):
        model.learn_one(x, y)
        assert sum(model.weights) == pytest.approx(1.0)


def test_a_heavy_sample_leaves_no_rounding_behind() -> None:
    """The running sums are exact again once a sample of enormous weight has left the window."""
    model = ShrubEnsembleClassifier(n_models=4, window_size=20, seed=1)
    for i, (x, y) in enumerate(noisy_stream(60, 2, 3, 2)):
        model.learn_one(x, y, w=1e90 if i == 25 else 1.0)
        if not 25 <= i < 45:
            model._core.check()


# -------------------------------------------------------------------- parameters


def test_update_interval_trains_every_so_often() -> None:
    """With `update_interval=5` a fifth of the samples train a shrub, from the first one on."""
    model = ShrubEnsembleClassifier(n_models=100, window_size=30, update_interval=5, seed=1)
    for x, y in noisy_stream(50, 2, 3, 3):
        model.learn_one(x, y)
    assert model._core.n_trained == 10


def test_single_tree_retrained_on_error() -> None:
    """`n_models=1, retrain="error"` with a long step is one tree, renewed after a wrong answer."""
    model = ShrubEnsembleClassifier(
        n_models=1,
        window_size=16,
        step_size=1e9,
        retrain="error",
        max_features=None,
        seed=1,
    )
    naive = NaiveShrubs(3, 1, 16, max_depth=15)
    for x, y in noisy_stream(400, 2, 3, 4):
        row = list(x.values())
        answer = model.predict_one(x)
        if naive.trees:
            assert answer == model._core.labels.labels[int(np.argmax(naive.predict(row)))]
        label = model._core.labels.labels
        wrong = answer != y
        model.learn_one(x, y)
        code = label.index(y)
        naive.window = [*naive.window, Sample(tuple(row), code)][-16:]
        if wrong:
            retrain(naive)


def retrain(naive: NaiveShrubs) -> None:
    """Put a tree of the present window in the place of the only one."""
    fresh = NaiveShrubs(3, 1, 16, max_depth=15)
    *fresh.window, newest = naive.window
    fresh.learn(list(newest.x), int(newest.y))
    naive.trees, naive.weights, naive.births = fresh.trees, [1.0], [0]


def test_rho_sets_step_and_regulariser() -> None:
    """The published rule: l2 = M (2 - rho) / (rho C) and step = 1 / (M + l2)."""
    by_rho = core(3, n_models=8, window_size=30, rho=0.5)
    by_both = core(3, n_models=8, window_size=30, step_size=1 / 16, l2=8.0)
    for x, y in noisy_stream(100, 2, 3, 8):
        by_rho.learn(x, y)
        by_both.learn(x, y)
        assert by_rho.tree_weights() == by_both.tree_weights()


@pytest.mark.parametrize("shuffle_features", [False, True])
def test_feature_order_is_seeded(shuffle_features: bool) -> None:
    """The order of features decides ties only if asked to, and then by the seed alone."""
    rows = [({j: (i * (j + 3)) % 7 for j in range(6)}, i % 3) for i in range(200)]
    answers = []
    for seed in (1, 1, 2):
        model = ShrubEnsembleClassifier(
            window_size=30, shuffle_features=shuffle_features, max_features=None, seed=seed
        )
        for x, y in rows:
            model.learn_one(x, y)
        answers.append([model.to_text(tree) for tree in range(len(model.weights))])
    assert answers[0] == answers[1]
    assert (answers[0] == answers[2]) == (not shuffle_features)


@pytest.mark.parametrize(
    ("penalty", "strength"), [("l0", 0.01), ("l1", 0.1), ("node_penalty", 0.01)]
)
def test_penalties_make_the_ensemble_smaller(penalty: str, strength: float) -> None:
    """Regularisers on the number or the weights or the nodes of trees leave fewer nodes."""
    sizes = []
    for value in (0.0, strength):
        model = ShrubEnsembleClassifier(
            window_size=60, step_size=0.2, max_features=None, seed=1, **{penalty: value}
        )
        for x, y in noisy_stream(400, 3, 3, 5):
            model.learn_one(x, y)
        sizes.append(model.n_nodes)
    assert sizes[1] < sizes[0]


# -------------------------------------------------------------------- answers


@pytest.mark.parametrize(("factor", "offset"), [(1000.0, 0.0), (1.0, 1e5), (-0.001, 7.0)])
def test_regression_does_not_depend_on_units(factor: float, offset: float) -> None:
    """Targets are standardised: other units give the same answers in those units."""
    rng = random.Random(2)
    models = [ShrubEnsembleRegressor(n_models=5, window_size=30, seed=1) for _ in range(2)]
    for _ in range(200):
        x = {j: rng.random() for j in range(3)}
        y = x[0] + 2 * x[1] * x[2] + 0.1 * rng.random()
        answers = [model.predict_one(x) for model in models]
        assert answers[1] == pytest.approx(
            factor * answers[0] + offset * bool(models[0].weights), rel=1e-6
        )
        models[0].learn_one(x, y)
        models[1].learn_one(x, factor * y + offset)
