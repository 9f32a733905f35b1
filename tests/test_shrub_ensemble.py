"""Shrub ensembles: Algorithm 1 exactly, and what holds for every one of them."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from river_extra_trees import ShrubEnsembleClassifier, ShrubEnsembleRegressor
from river_extra_trees._core.schema import Labels
from river_extra_trees._core.shrubs import Shrubs
from river_extra_trees._core.trees import Trees
from tests.naive.shrubs import NaiveShrubs, RecordedCart

FOLDER = Path(__file__).parent / "golden" / "shrubs"
RUNS = json.loads((FOLDER / "summary.json").read_text())
REGRESSION = "r_reg"
RHO = {"c_cont3_rho_burnin": 0.5, "c2_cont3_rho04_burnin": 0.4}  # it sets the step and l2


def core(n_classes: int | None, **parameters: Any) -> Shrubs:
    """An empty ensemble that knows its classes, 0, 1, 2, ..., beforehand."""
    shrubs = Shrubs(regression=n_classes is None, **{"seed": 1, **parameters})
    if n_classes is None:
        return shrubs
    labels = Labels.restored(
        {"labels": list(range(n_classes)), "latest": np.zeros(n_classes, np.int64)}
    )
    return Shrubs.restored({**shrubs.state(), "labels": labels, "trees": Trees(n_classes)})


def predict(shrubs: Shrubs, x: list[float]) -> list[float]:
    row = dict(enumerate(x))
    if shrubs.regression:
        return [shrubs.predict_number(row)]
    if not len(shrubs.trees):
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


def lines(name: str) -> list[list[str]]:
    with (FOLDER / name).open(newline="") as file:
        return list(csv.reader(file))[1:]


def recorded(name: str) -> tuple[dict[str, Any], list[tuple[list[float], Any]], list[list[float]]]:
    """The parameters and the stream of a run, and the prediction before every sample."""
    run = RUNS[name]
    parameters = {
        **{"n_models": run["M"], "window_size": run["B"], "max_depth": run["depth"]},
        **{"rounds": run.get("rounds", 1), "project_each_round": run.get("prox_each", False)},
        "loss": "cross_entropy" if run.get("loss") == "ce" else "mse",
        **({"rho": RHO[name]} if name in RHO else {"step_size": run["step"]}),
    }
    of_numbers = name == REGRESSION
    rows = [
        (list(map(float, x)), float(y) if of_numbers else int(y))
        for *x, y in lines(f"{run['data']}.csv")
    ]
    predictions = [row[2 if of_numbers else 3 :] for row in lines(f"{name}.pred.csv")]
    return parameters, rows, [list(map(float, each)) for each in predictions]


def assert_same_weights(shrubs: Shrubs, births: list[int], weights: list[float]) -> None:
    found = shrubs.tree_weights()
    assert [birth for birth, _ in found] == births
    assert [weight for _, weight in found] == pytest.approx(weights, abs=1e-9)


@pytest.mark.parametrize("name", [name for name in RUNS if name != REGRESSION])
def test_recorded_run(name: str) -> None:
    """Weights and predictions are the recorded ones at every step.

    With one round, most trees have no chance to enter, and are not trained; the program trains all.
    Trees that agree on the window have equal weights up to rounding in some runs: which of them
    leaves is decided by noise, and only the predictions are comparable.
    """
    parameters, rows, predictions = recorded(name)
    shrubs = core(RUNS[name]["C"], **parameters)
    for (x, y), prediction, (_, *pairs) in zip(
        rows, predictions, lines(f"{name}.weights.csv"), strict=True
    ):
        assert predict(shrubs, x) == pytest.approx(prediction, abs=1e-9)
        learn(shrubs, x, y)
        if RUNS[name]["smallest_cut_margin"] > 0.0:
            births, weights = zip(*(pair.split(":") for pair in pairs), strict=True)
            assert_same_weights(shrubs, list(map(int, births)), list(map(float, weights)))
    shrubs.check()
    assert shrubs.n_trained < 0.5 * len(rows) or parameters["rounds"] > 1


def test_the_naive_regression_repeats_a_recorded_run() -> None:
    """With ties between splits left to rounding."""
    parameters, rows, predictions = recorded(REGRESSION)
    naive = NaiveShrubs(None, **parameters, cart=RecordedCart)
    for (x, y), prediction in zip(rows[:60], predictions, strict=False):
        assert naive.predict(x) == pytest.approx(prediction, abs=1e-9)
        naive.learn(x, y)


@pytest.mark.parametrize("seed", range(100))
def test_agrees_with_the_naive_ensemble(seed: int) -> None:
    """Whatever the parameters, weights and predictions are those of the slow version."""
    rng = random.Random(seed)
    n_classes, penalty = rng.choice([None, 3]), rng.choice([0.0, 0.0213])
    rules: dict[str, Any] = {
        "n_models": rng.randint(1, 6),
        "window_size": rng.randint(2, 12),
        "loss": rng.choice(["mse", "cross_entropy"]) if n_classes else "mse",
        "max_depth": rng.randint(0, 4),
        "rounds": rng.randint(1, 3),
        "project_each_round": rng.random() < 0.5,
        "node_penalty": penalty / 10,
        "step_size": rng.choice([0.0137, 0.311, 1.73, "adaptive"]),
        "l2": penalty,
        "l1": rng.choice([0.0, 0.0, 0.05]),
        "l0": rng.choice([0.0, 0.0, 0.01]),
        "update_interval": rng.choice([1, 1, 3]),
        "retrain": rng.choice(["always", "error"]) if n_classes else "always",
    }
    shrubs = core(n_classes, **rules)
    naive = NaiveShrubs(n_classes, **rules, standardise=n_classes is None)
    for x, y in noisy_stream(40, 2, 3, seed):
        row = list(x.values())
        assert predict(shrubs, row) == pytest.approx(naive.predict(row), abs=1e-9)
        learn(shrubs, row, y)
        naive.learn(row, y)
        if naive.closest < 1e-9:
            return  # equal weights: from here on rounding may decide which tree leaves
        assert_same_weights(shrubs, naive.births, naive.weights)


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
    for _ in range(rng.randrange(window_size, 3 * window_size)):
        learn(shrubs, [rng.random(), rng.random()], rng.randrange(2))
    x = [rng.random(), rng.random()]
    agree = max(predict(shrubs, x)) > 1 - 1e-9
    if len(shrubs.tree_weights()) == n_models:
        step_size = 1.001 * window_size * 3 / (n_models * (4 if agree else 2))
    shrubs = Shrubs.restored({**shrubs.state(), "step_size": step_size})
    learn(shrubs, x, 2)
    births = [birth for birth, _ in shrubs.tree_weights()]
    assert shrubs.n_seen - 1 in births


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
