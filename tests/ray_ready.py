"""Whether a test can start Ray on this machine now."""

from __future__ import annotations

import importlib.util
import os

import pytest


def skip_unless_ray_can_start() -> None:
    """Skip where Ray is not installed, or the machine too busy: Ray gives up after 15 seconds."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("the extra `ray` is not installed")
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    if load > 3 * processors:
        pytest.skip(f"too busy for Ray to start: a load of {load:.0f} on {processors} processors")
