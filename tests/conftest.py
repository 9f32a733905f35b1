"""Settings of the whole test suite."""

from __future__ import annotations

import gc
import os

from hypothesis import HealthCheck, settings

# Fuzzing needs atheris, which only `make fuzz` installs; there is no test in that folder.
collect_ignore = ["fuzz"]

# Pictures are drawn in memory, without a window, here and in every process the tests start.
os.environ["MPLBACKEND"] = "agg"

# A loaded machine must not fail a test, and a red test must stay red when it is run again.
settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")


def pytest_collection_finish() -> None:
    """Leave the thousands of tests out of each garbage collection, which takes 0.2 s with them."""
    gc.collect()
    gc.freeze()
