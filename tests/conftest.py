"""Settings of the whole test suite."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A loaded machine must not fail a test, and a red test must stay red when it is run again.
settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")
