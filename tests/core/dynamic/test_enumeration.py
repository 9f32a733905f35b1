"""The particle filter against exact laws: every tree that tiny streams can lead to is listed."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

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

Models = DynamicTree | list[DynamicTree]

WINDOW = {"constant": 7, "linear": 7, "multinomial": 6}  # where samples retire and fade


def assert_law(
    model: DynamicTree,
    right: Models,
    wrong: Iterable[Models] = (),
    window: int = 1000,
    **settings: float,
) -> None:
    """The structures of 60,000 particles have the law of the right models, and of no wrong ones.

    They are those of many filters: those of one filter share their proposals.
    """
    n_runs = 20
    found: dict[enumeration.Key, float] = {}
    for seed in range(n_runs):
        particles = filter_of(model, 3_000, seed, window=window, **settings)
        learn_stream(model, particles)
        for key, share in structures(model, particles).items():
            found[key] = found.get(key, 0.0) + share / n_runs

    def distance(models: Models) -> float:
        _, law = enumeration.law_of(models, window)
        return enumeration.total_variation(found, enumeration.shapes(law))

    assert distance(right) < 0.01
    assert all(distance(models) > 0.03 for models in wrong)


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_particles_have_the_enumerated_law(problem: str) -> None:
    """Under the sequential prior; degrees of freedom, determinant and exponents matter."""
    model = PROBLEMS[problem]
    assert_law(model, open_constant(model), map(open_constant, mutants(model).values()))


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_published_scores_have_their_enumerated_law(problem: str) -> None:
    """The switch replaces the scores of the moves and nothing else."""
    model = replace(PROBLEMS[problem], published_scores=True)
    assert_law(model, model)


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
    assert_law(model, model, [HalvedRetirement(**vars(model))], window)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_forgetting_has_its_enumerated_law(problem: str) -> None:
    """Active or retired, a sample weighs decay^age when a tree is weighed and when it moves."""
    model = open_constant(PROBLEMS[problem])
    assert_law(model, replace(model, decay=0.95), [model], WINDOW[problem], decay=0.95)


@pytest.mark.parametrize("problem", ["constant", "linear"])
def test_trees_under_the_default_prior_have_their_enumerated_law(problem: str) -> None:
    """The prior of the leaves follows the stream; each row is learned by the one of its time."""
    model, window = PROBLEMS[problem], WINDOW[problem]
    one, steps = filter_of(model, 1, 0, prior_weight=0.3, window=window), [model]
    for row in range(len(model.y) - 1):
        learn(one, model, row)
        steps.append(replace(model, leaf_model=leaf_with_prior(one, model.X.shape[1])))
    assert_law(model, steps, [open_constant(model)], window, prior_weight=0.3)
