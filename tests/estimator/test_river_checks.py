"""Every check of river, for every estimator with three of its parameter sets, none skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from river import checks

from tests.tools.estimators import CASES, CLASSES, PARAMETERS, THREE, make


def _all_checks() -> Iterator[Any]:
    for case in THREE:
        name, i = case
        for k, check in enumerate(checks.yield_checks(make(case))):
            yield pytest.param(case, check, id=f"{name}-{i}-{k}-{check.__name__}")


@pytest.mark.parametrize(("case", "check"), list(_all_checks()))
def test_river_check(case: tuple[str, int], check: Callable[[Any], None]) -> None:
    """The estimator passes a check of river's."""
    check(make(case).clone())


@pytest.mark.parametrize("name", CLASSES)
def test_three_parameter_sets(name: str) -> None:
    """Every public estimator is tested with at least three different sets of parameters."""
    assert len({repr(parameters) for parameters in PARAMETERS.get(name, ())}) >= 3


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_check_is_skipped(case: tuple[str, int]) -> None:
    """No estimator asks to be spared a check."""
    assert make(case)._unit_test_skips() == set()
