"""Every check of river, for every estimator with three of its parameter sets, none skipped."""

import pytest
from river import checks

from tests.tools.estimators import CASES, CLASSES, PARAMETERS, THREE, make

Case = tuple[str, int]


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[pytest.mark.slow] if case[1] else []) for case in THREE],
    ids=str,
)
def test_river_checks(case: Case) -> None:
    """The estimator passes all checks of river's."""
    for check in checks.yield_checks(make(case)):
        try:
            check(make(case).clone())
        except BaseException as error:
            error.add_note(f"in {check.__name__}")  # as one test runs many of them
            raise


@pytest.mark.parametrize("name", CLASSES)
def test_three_parameter_sets(name: str) -> None:
    """Every public estimator is tested with at least three different sets of parameters."""
    assert len({repr(parameters) for parameters in PARAMETERS.get(name, ())}) >= 3


def test_no_check_is_skipped() -> None:
    """No estimator asks to be spared a check."""
    for case in CASES:
        assert make(case)._unit_test_skips() == set(), case
