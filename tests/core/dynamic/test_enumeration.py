"""The particle filter against exact laws: every tree that tiny streams can lead to is listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from river_extra_trees._core.dynamic import ParticleFilter
from tests.naive import dynamic_enumeration as enumeration
from tests.naive.dynamic import DynamicTree
from tests.naive.dynamic_filters import (
    filter_of,
    leaf_with_prior,
    learn,
    learn_stream,
    open_constant,
    structures,
)
from tests.naive.dynamic_problems import (
    PROBLEMS,
    RETIRING,
    HalvedRetirement,
    mutants,
)

Shapes = dict[enumeration.Key, float]

WINDOW = {"constant": 7, "linear": 7, "multinomial": 6}  # where samples retire and fade


def shares_of(
    model: DynamicTree, make: Callable[[int], ParticleFilter], n_runs: int, window: int = 1000
) -> Shapes:
    """Structures of the particles of many filters: those of one filter share their proposals."""
    found: Shapes = {}
    for seed in range(n_runs):
        particles = make(seed)
        learn_stream(model, particles, window)
        for key, share in structures(model, particles).items():
            found[key] = found.get(key, 0.0) + share / n_runs
    return found


def distance(found: Shapes, model: DynamicTree | list[DynamicTree], window: int = 1000) -> float:
    """Total variation from the exact law under the sequential prior."""
    _, law = enumeration.law_of(model, window)
    return enumeration.total_variation(found, enumeration.shapes(law))


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_particles_have_the_enumerated_law(problem: str) -> None:
    """60,000 particles in twenty runs; with any wrong formula they have not.

    Degrees of freedom, determinant, prior exponents: each mutation is told apart.
    """
    model = PROBLEMS[problem]
    found = shares_of(model, lambda seed: filter_of(model, 3_000, seed), 20)
    assert distance(found, open_constant(model)) < 0.01
    for wrong, other in mutants(model).items():
        assert distance(found, open_constant(other)) > 0.03, wrong


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_published_scores_have_their_enumerated_law(problem: str) -> None:
    """The switch replaces the scores of the moves and nothing else."""
    model = replace(PROBLEMS[problem], published_scores=True)
    found = shares_of(model, lambda seed: filter_of(model, 20_000, seed), 1)
    assert distance(found, model) < 0.015


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_evidence_is_estimated_without_bias(problem: str) -> None:
    """The mean over small filters, not of its logarithm, to a third of a per cent."""
    model = PROBLEMS[problem]
    exact, _ = enumeration.law_of(open_constant(model))
    estimates = [learn_stream(model, filter_of(model, 50, seed)) for seed in range(5_000)]
    error = np.std(estimates, ddof=1) / np.sqrt(len(estimates))
    assert error < 0.003 * exact
    assert abs(np.mean(estimates) - exact) < 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("problem", RETIRING)
def test_retirement_has_its_enumerated_law(problem: str) -> None:
    """Retired samples may end up anywhere, but each side of a split gets its share of them."""
    model, window = RETIRING[problem]
    model = open_constant(model)
    found = shares_of(model, lambda seed: filter_of(model, 3_000, seed), 20, window)
    assert distance(found, model, window) < 0.01
    assert distance(found, HalvedRetirement(**vars(model)), window) > 0.03


@pytest.mark.parametrize("problem", PROBLEMS)
def test_forgetting_has_its_enumerated_law(problem: str) -> None:
    """Active or retired, a sample weighs decay^age when a tree is weighed and when it moves."""
    model, window = open_constant(PROBLEMS[problem]), WINDOW[problem]
    found = shares_of(model, lambda seed: filter_of(model, 3_000, seed, decay=0.95), 20, window)
    assert distance(found, replace(model, decay=0.95), window) < 0.01
    assert distance(found, model, window) > 0.03


@pytest.mark.parametrize("problem", ["constant", "linear"])
def test_trees_under_the_default_prior_have_their_enumerated_law(problem: str) -> None:
    """The prior of the leaves follows the stream; each row is learned by the one of its time."""
    model, window = PROBLEMS[problem], WINDOW[problem]
    one, steps = filter_of(model, 1, 0, prior_weight=0.3), [model]
    for row in range(len(model.y) - 1):
        learn(one, model, row)
        steps.append(replace(model, leaf_model=leaf_with_prior(one, model.X.shape[1])))
    found = shares_of(
        model, lambda seed: filter_of(model, 3_000, seed, prior_weight=0.3), 20, window
    )
    assert distance(found, steps, window) < 0.01
    assert distance(found, open_constant(model), window) > 0.03
