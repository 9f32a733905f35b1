"""Whether a test can start Ray on this machine now."""

from __future__ import annotations

import importlib.util
import os

import pytest


def skip_unless_ray_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip where Ray is not installed, or the machine far too busy; see that it starts elsewhere.

    However long it is told to wait, Ray gives up when its first process takes more than 30 seconds.
    """
    if importlib.util.find_spec("ray") is None:
        pytest.skip("the extra `ray` is not installed")
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    if load > 5 * processors:
        pytest.skip(f"too busy for Ray to start: a load of {load:.0f} on {processors} processors")
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "120")  # in place of 15
    monkeypatch.setenv("RAY_worker_niceness", "0")  # else whatever runs beside it comes first
