"""Run a check of river's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def run_check(check: Callable[[Any], None], model: Any) -> None:
    """Run one check; a failure tells its name, as one test runs many of them."""
    try:
        check(model)
    except BaseException as error:
        error.add_note(f"in {check.__name__} for {model}")
        raise
