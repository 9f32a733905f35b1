"""The posterior of a cloud is calibrated under the sequential prior, and wrong formulas are not.

Streams are shortened here; `examples/benchmarks/studies/calibration.py` takes the whole ones, with
any number of replications.

What is no posterior of a model that streams can be drawn from is not calibrated. Rejuvenation grows
new trees from the window by no move of the model: `test_rejuvenation.py` has what they inherit, and
that the next sample decides between them and the old ones. Factors of forgetting that compete are
each a cloud of its own: one factor is calibrated here, and `test_enumeration.py` has its exact law.
"""

import pytest

from tests.naive.dynamic_calibration import (
    PROBLEMS,
    SMALLEST_P,
    p_values,
    ranks,
    replications_to_notice,
    wrong_models,
)

pytestmark = pytest.mark.slow  # the exact laws of core/dynamic/test_enumeration.py are quick

N_REPLICATIONS = 120

# A wrong formula, the problem that brings it out soon, and replications in which it is noticed.
CONTROLS = [
    ("constant", "depth exponent", 600),
    ("linear", "degrees of freedom", 200),
    ("linear", "determinant", 200),
    ("multinomial", "Dirichlet", 200),
    ("forgetting", "no forgetting", 200),
]


@pytest.mark.parametrize("name", PROBLEMS)
def test_ranks_of_drawn_trees_are_uniform(name: str) -> None:
    """Leaf mean and variance, number of leaves, log likelihood: chi-square over the ranks."""
    problem = PROBLEMS[name].shortened()
    found = list(ranks(problem, problem.model(), N_REPLICATIONS))
    for quantity, p in p_values(found, problem.n_asked).items():
        assert p > SMALLEST_P, quantity


@pytest.mark.parametrize(("name", "wrong", "most"), CONTROLS)
def test_a_wrong_formula_is_noticed(name: str, wrong: str, most: int) -> None:
    """Streams from the wrong model, inference with the right one: some ranks are not uniform."""
    problem = PROBLEMS[name].shortened()
    assert replications_to_notice(problem, wrong_models(problem)[wrong], most)
