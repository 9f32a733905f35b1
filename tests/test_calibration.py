"""The posterior of a cloud is calibrated under the sequential prior, and wrong formulas are not.

`examples/benchmarks/calibration.py` does the same with as many replications as one has time for.
"""

from __future__ import annotations

import pytest

from tests.naive.dynamic_calibration import PROBLEMS, p_values, ranks
from tests.naive.dynamic_problems import mutants

SMALLEST_P = 1e-6
# A wrong formula, and the problem that brings it out.
CONTROLS = [
    ("constant", "depth exponent"),
    ("constant", "prior exponent"),
    ("linear", "degrees of freedom"),
    ("linear", "determinant"),
    ("multinomial", "Dirichlet"),
]


@pytest.mark.parametrize("name", PROBLEMS)
def test_ranks_of_drawn_trees_are_uniform(name: str) -> None:
    """Leaf mean and variance, number of leaves, log likelihood: chi-square over the ranks."""
    problem = PROBLEMS[name]
    found = list(ranks(problem, problem.model(), 250))
    for quantity, p in p_values(found, problem.n_asked).items():
        assert p > SMALLEST_P, quantity


@pytest.mark.parametrize(("name", "wrong"), CONTROLS)
def test_a_wrong_formula_is_noticed(name: str, wrong: str) -> None:
    """Streams from the wrong model, inference with the right one: some ranks are not uniform."""
    problem = PROBLEMS[name]
    found = list(ranks(problem, mutants(problem.model())[wrong], 200))
    assert min(p_values(found, problem.n_asked).values()) < SMALLEST_P
